"""The GPUs that kernels can be compiled for, their limits, and how many programs fit on them.

The one table of per-architecture limits. NVIDIA: CUDA Programming Guide, appendix "Compute
Capabilities", tables of technical specifications (a block may take 1 KB less shared memory than its
SM has, which the system keeps); the units in which registers and shared memory are handed out are
those of NVIDIA's occupancy calculator. AMD: LLVM's AMDGPU target, occupancy of gfx942.
Must never be edited to match a measurement: these are limits that the makers state.
"""

from dataclasses import asdict, dataclass

KB = 1024
MAX_REGISTERS_PER_THREAD = 255  # NVIDIA; what does not fit spills to memory
PARTITIONS = (
    4  # an SM and a compute unit have four schedulers, each with a quarter of the registers
)


@dataclass(frozen=True)
class Target:
    """One architecture. "SM" also stands for AMD's compute unit, "warp" for its wavefront.

    registers         32-bit registers of one SM
    register_unit     registers are given to a warp in multiples of this
    shared_sm         bytes of shared memory of one SM
    shared_block      bytes that one program may ask for
    shared_reserved   bytes that the system takes from each resident program
    shared_unit       shared memory is given to a program in multiples of this
    """

    name: str
    gpus: str
    backend: str
    arch: int | str
    warp_size: int
    warps: int
    blocks: int
    registers: int
    register_unit: int
    shared_sm: int
    shared_block: int
    shared_reserved: int
    shared_unit: int


def _nvidia(arch, gpus, warps, blocks, shared_kb, reserved=KB, unit=128) -> Target:
    return Target(
        name=f"sm_{arch}",
        gpus=gpus,
        backend="cuda",
        arch=arch,
        warp_size=32,
        warps=warps,
        blocks=blocks,
        registers=65536,
        register_unit=256,
        shared_sm=shared_kb * KB,
        shared_block=shared_kb * KB - reserved,
        shared_reserved=reserved,
        shared_unit=unit,
    )


TARGETS = {
    target.name: target
    for target in (
        _nvidia(75, "T4, RTX 20", warps=32, blocks=16, shared_kb=64, reserved=0, unit=256),
        _nvidia(80, "A100", warps=64, blocks=32, shared_kb=164),
        _nvidia(86, "RTX 30, A10", warps=48, blocks=16, shared_kb=100),
        _nvidia(89, "RTX 40, L4", warps=48, blocks=24, shared_kb=100),
        _nvidia(90, "H100, H200", warps=64, blocks=32, shared_kb=228),
        _nvidia(100, "B200", warps=64, blocks=32, shared_kb=228),
        _nvidia(120, "RTX 50", warps=48, blocks=24, shared_kb=100),
        Target(
            name="gfx942",
            gpus="MI300",
            backend="hip",
            arch="gfx942",
            warp_size=64,
            warps=32,
            blocks=16,  # programs of more than one wavefront
            registers=PARTITIONS * 512 * 64,
            register_unit=8 * 64,
            shared_sm=64 * KB,
            shared_block=64 * KB,
            shared_reserved=0,
            shared_unit=512,
        ),
    )
}
DEFAULT = ("sm_80", "sm_90")  # what a grading compiles for


def limits(target: Target) -> dict[str, int]:
    """The limits of one SM as plain numbers, as the steps of chapter 9 are given them.

    The fields of `Target` by name, and `partitions`.
    """
    numbers = {n: v for n, v in asdict(target).items() if isinstance(v, int) and n != "arch"}
    return numbers | {"partitions": PARTITIONS}


@dataclass(frozen=True)
class Occupancy:
    """Programs that fit one SM at a time, their share of its warps, and what allows no more."""

    programs: int
    percent: float
    limit: str


def occupancy(target: Target, registers: int, shared: int, warps: int) -> Occupancy:
    """Programs of `warps` warps, `registers` per thread and `shared` bytes that fit one SM."""
    per_warp = _round_up(max(registers, 1) * target.warp_size, target.register_unit)
    resident_warps = PARTITIONS * (target.registers // PARTITIONS // per_warp)
    limits = {
        "warps": target.warps // warps,
        "blocks": target.blocks,
        "registers": resident_warps // warps,
        "shared memory": _fitting_shared(target, shared),
    }
    limit = min(limits, key=limits.get)
    programs = limits[limit]
    return Occupancy(programs, 100 * programs * warps / target.warps, limit)


def _fitting_shared(target: Target, shared: int) -> int:
    if shared > target.shared_block:
        return 0
    taken = _round_up(shared + target.shared_reserved, target.shared_unit)
    return target.shared_sm // taken if taken else target.blocks


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
