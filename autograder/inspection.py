"""What the facts of a compiled kernel mean: occupancy, tensor cores, width of loads, what to change.

From the counts that a compilation reports to a view that xray and the reports show. Nothing here is
a verdict: that is compile_check's. Must never compile or run anything.
"""

import re
from dataclasses import asdict, dataclass

from autograder import compile_check
from autograder.account import Kernel
from autograder.compile_check import Compilation
from autograder.targets import Occupancy, Target, occupancy

WIDE = 16  # bytes that one thread moves at best
NARROW = 4
LOW_OCCUPANCY = 25  # percent


@dataclass(frozen=True)
class View:
    """One kernel on one GPU.

    `tensor_core` counts instructions by name; `loads` and `stores` count accesses to global memory
    by the bytes that one thread moves; `async_copies` do the same for copies into shared memory
    that pass registers by, and `tma` counts bulk copies of whole tiles.
    """

    target: Target
    kernel: Kernel
    occupancy: Occupancy
    tensor_core: dict[str, int]
    loads: dict[int, int]
    stores: dict[int, int]
    async_copies: dict[int, int]
    tma: int
    advice: str


def views(compilation: Compilation) -> list[View]:
    """A view of each kernel of a compilation."""
    return [view(kernel, compilation.target) for kernel in compilation.kernels]


def view(kernel: Kernel, target: Target) -> View:
    """What the facts of a kernel mean on a GPU."""
    fits = occupancy(target, kernel.registers, kernel.shared, kernel.warps)
    loads, stores, copies, tensor_core, tma = {}, {}, {}, {}, 0
    for name, count in sorted(kernel.instructions.items()):
        if re.match(r"(mma|wgmma\.mma_async|tcgen05\.mma|v_mfma|v_smfmac|v_wmma)\b|v_mfma_", name):
            tensor_core[_short(name)] = tensor_core.get(_short(name), 0) + count
        elif re.match(r"cp\.async\.bulk\.tensor", name):
            tma += count
        elif re.match(r"cp\.async\.c[ag]\.", name):
            _count(copies, int(name.rpartition(" ")[2]), count)
        elif re.match(r"ld\.global|(global|buffer|flat)_load", name):
            _count(loads, _bytes(name), count)
        elif re.match(r"st\.global|(global|buffer|flat)_store", name):
            _count(stores, _bytes(name), count)
    facts = (target, kernel, fits, tensor_core, loads, stores, copies, tma)
    return View(*facts, _advice(*facts))


def _count(widths: dict[int, int], width: int, count: int) -> None:
    widths[width] = widths.get(width, 0) + count


def _short(name: str) -> str:
    """The instruction without the parts that are the same for all."""
    for part in (".aligned", ".row.col", ".row", ".col", ".sync"):
        name = name.replace(part, "")
    return name


def _bytes(name: str) -> int:
    """Bytes per thread of a load or store: ld.global.v4.b32, global_load_dwordx4, …_load_b128."""
    if "." in name:
        vector = re.search(r"\.v(\d)", name)
        bits = re.search(r"\.[bsuf](\d+)$", name)
        return (int(vector[1]) if vector else 1) * (int(bits[1]) if bits else 8) // 8
    dwords = re.search(r"dword(?:x(\d))?", name)
    if dwords:
        return 4 * int(dwords[1] or 1)
    bits = re.search(r"_b(\d+)", name)
    if bits:
        return int(bits[1]) // 8
    return 2 if "short" in name else 1


def _advice(target, kernel, fits, tensor_core, loads, stores, copies, tma) -> str:
    """One sentence on what to change first."""
    if kernel.shared > target.shared_block:
        return (
            f"It cannot be launched: {compile_check.too_much_shared(kernel, target)} "
            "Use smaller tiles or fewer stages."
        )
    if kernel.dots and not tensor_core:
        return _without_tensor_cores(kernel)
    spilled = kernel.spill_stores + kernel.spill_loads
    if spilled:
        return (
            f"Registers run out and {spilled} bytes a thread go through memory: use a smaller tile "
            f"or more warps than {kernel.warps}."
        )
    widest = max([*loads, *copies, WIDE if tma else 0], default=0)
    if 0 < widest < NARROW:
        return (
            f"Each thread loads {widest} bytes at a time: let neighbouring lanes read neighbouring "
            f"elements, and keep row strides divisible by {WIDE}, so that it can load {WIDE} bytes."
        )
    if fits.percent < LOW_OCCUPANCY and not tensor_core:
        return (
            f"Few warps are resident, limited by {fits.limit}: a smaller tile lets more programs "
            "hide each other's waiting."
        )
    return "Nothing stands out; time it on a GPU before changing anything."


def _without_tensor_cores(kernel: Kernel) -> str:
    if all(dot.operand == "f32" and dot.precision == "ieee" for dot in kernel.dots):
        return "The dots run on the ordinary arithmetic units, the price of float32 accuracy."
    return (
        "The dots run on the ordinary arithmetic units: no tensor core of this GPU takes them here."
    )


def as_json(view: View) -> dict:
    """A view as plain values; the code that was asked for is not part of it."""
    kernel = view.kernel
    return {
        "target": view.target.name,
        "kernel": kernel.name,
        "constants": kernel.constants,
        "warps": kernel.warps,
        "stages": kernel.stages,
        "registers": kernel.registers,
        "stack": kernel.stack,
        "spill_stores": kernel.spill_stores,
        "spill_loads": kernel.spill_loads,
        "shared": kernel.shared,
        "shared_limit": view.target.shared_block,
        "tensor_core": view.tensor_core,
        "load_bytes": view.loads,
        "store_bytes": view.stores,
        "async_copy_bytes": view.async_copies,
        "tma": view.tma,
        "occupancy": asdict(view.occupancy),
        "advice": view.advice,
    }
