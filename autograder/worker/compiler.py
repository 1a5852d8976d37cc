"""Compiles a submission's kernels for a GPU that need not be present, and tells what came out.

A stub stands in for the GPU's driver, every launch becomes a compilation, and the learner's own
function is called with tensors that have shapes and strides but no memory, so that Triton itself
finds signatures, alignment, constants and configurations. The process must not have run the
interpreter: that leaves the language patched.
It belongs to the submission, as worker/runner.py does, and its report is no more than a claim.
Tried on Triton 3.6.0, 3.7.1, 3.8.0 and 3.9.0. Must never see an expected value, a tolerance or a seed.
"""

import contextlib
import inspect
import io
import os
import re
import subprocess
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver, jit

from autograder.worker import differentiation, loader
from autograder.worker.errors import describe_error

MAX_KERNELS = 16
MAX_LISTINGS = 1_200_000  # characters of all together: a report has an end


class _StubDriver:
    """What Triton asks of a GPU before it launches anything."""

    def __init__(self, target: dict, all_configs: bool):
        self._target = target
        self._all_configs = all_configs
        self.utils = self

    def get_current_target(self) -> GPUTarget:
        return GPUTarget(self._target["backend"], self._target["arch"], self._target["warp_size"])

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device) -> int:
        return 0

    def set_current_device(self, device) -> None:
        pass

    def get_active_torch_device(self) -> torch.device:
        return torch.device("meta")

    def get_device_properties(self, device) -> dict:
        return {
            "max_shared_mem": self._target["shared_block"],
            "max_num_regs": self._target["registers"],
            "warpSize": self._target["warp_size"],
            "multiprocessor_count": 108,
        }

    def get_benchmarker(self):
        """All configurations take the same time here, so that the first is chosen."""

        def benchmark(kernel_call, *args, quantiles=(), **kwargs):
            if self._all_configs:
                kernel_call()
            return [1.0] * max(1, len(quantiles))

        return benchmark


class Compiler:
    """Turns launches into compilations. `kernels` and `refusals` are what the report shows."""

    def __init__(self, folder: Path, listings: list[str]):
        self.folder = str(folder)
        self.listings = listings
        self.kernels: list[dict] = []
        self.refusals: list[dict] = []
        self._seen: set[int] = set()
        self._room = MAX_LISTINGS

    def install(self, target: dict, all_configs: bool) -> None:
        """Once, before the learner's code is loaded."""
        driver.set_active(_StubDriver(target, all_configs))
        launch, compiler = jit.JITFunction.run, self

        def run(function, *args, grid, warmup, **kwargs):
            log = io.StringIO()
            try:
                with contextlib.redirect_stdout(log):
                    made = launch(function, *args, grid=grid, warmup=True, **kwargs)
            except Exception as error:
                compiler.refusals.append(compiler.describe_refusal(error, function))
                raise
            compiler.note(function, made, log.getvalue(), args, kwargs)
            return made

        jit.JITFunction.run = run

    def note(self, function, made, log: str, args, kwargs) -> None:
        """Remembers a compiled kernel, once."""
        if made is None or id(made) in self._seen or len(self.kernels) == MAX_KERNELS:
            return
        self._seen.add(id(made))
        assembly, metadata = made.asm, made.metadata
        text = assembly.get("ptx") or assembly.get("amdgcn") or ""
        resources = _nvidia_resources(log) if "ptx" in assembly else _amd_resources(text)
        self.kernels.append(
            {
                "name": metadata.name,
                "file": function.fn.__code__.co_filename,
                "line": function.fn.__code__.co_firstlineno,
                "constants": _constants(function, args, kwargs),
                "warps": metadata.num_warps,
                "stages": metadata.num_stages,
                "shared": metadata.shared,
                **resources,
                "instructions": _instructions(text),
                "dots": _dots(assembly["ttir"], self.folder),
                "listings": {kind: self._listing(kind, assembly) for kind in self.listings},
            }
        )

    def _listing(self, kind: str, assembly: dict) -> str:
        text = _code(kind, assembly)[: self._room]
        self._room -= len(text)
        return text

    def describe_refusal(self, error: Exception, function) -> dict:
        """Triton's own words, and the line of the learner's cell that they are about."""
        told = describe_error(error, Path(self.folder))
        told |= _line_of(function.src, 1, Path(self.folder)) or {}
        chain = [error]
        while chain[-1].__cause__ is not None:
            chain.append(chain[-1].__cause__)
        for link in chain:
            node, source = getattr(link, "node", None), getattr(link, "src", None)
            if source and getattr(node, "lineno", None):
                told |= _line_of(source, node.lineno, Path(self.folder)) or {}
                told["message"] = str(getattr(link, "error_message", None) or told["message"])[
                    :2000
                ]
        return told


def report(job: dict, folder: Path) -> dict:
    """Calls the function for one target; what it compiled, or why it did not come to that."""
    compiler = Compiler(folder, job["listings"])
    compiler.install(job["target"], job["all_configs"])
    told: dict = {"error": None, "device": ""}
    try:
        function = loader.load(job["code"], folder)
        arena, backward = job["arena"], job["arena"]["backward"]
        operands = [_operand(place) for place in arena["operands"]]
        result = differentiation.forward(function, operands, backward, job["more"], job["named"])
        told["device"] = result.device.type if isinstance(result, torch.Tensor) else ""
        differentiation.gradients(result, operands, backward)
    except BaseException as error:  # noqa: BLE001 - whatever a submission raises, SystemExit too
        told["error"] = describe_error(error, folder)
    told["kernels"] = compiler.kernels
    told["refusals"] = compiler.refusals
    return told


def _operand(place: dict) -> torch.Tensor:
    """Shape, strides and type of an operand, without memory."""
    dtype = getattr(torch, place["dtype"])
    return torch.empty_strided(place["shape"], place["strides"], dtype=dtype, device="meta")


def _constants(function, args, kwargs) -> dict[str, str]:
    """The constexpr arguments of a launch, as text."""
    named = {n: v for n, v in kwargs.items() if n in function.arg_names}
    bound = inspect.signature(function.fn).bind(*args, **named)
    bound.apply_defaults()
    constexprs = {p.name for p in function.params if p.is_constexpr}
    return {n: str(v)[:60] for n, v in bound.arguments.items() if n in constexprs}


def _line_of(source: str, line: int, folder: Path) -> dict | None:
    """Where a kernel's source stands in the learner's cells, and so where its n-th line does."""
    wanted = [text.strip() for text in textwrap.dedent(source).splitlines()]
    for path in sorted(folder.glob("*.py")):
        have = [text.strip() for text in path.read_text(encoding="utf-8").splitlines()]
        for start in range(len(have) - len(wanted) + 1):
            if have[start : start + len(wanted)] == wanted:
                return {"file": str(path), "line": start + line}
    return None


# --- reading what the compiler made -----------------------------------------------------------


def _nvidia_resources(log: str) -> dict[str, int]:
    """From the assembler's log, which Triton prints."""
    return {
        "registers": _number(r"Used (\d+) registers", log),
        "stack": _number(r"(\d+) bytes stack frame", log),
        "spill_stores": _number(r"(\d+) bytes spill stores", log),
        "spill_loads": _number(r"(\d+) bytes spill loads", log),
    }


def _amd_resources(text: str) -> dict[str, int]:
    """From the notes at the end of the assembly. A spilled register is 4 bytes, out and in."""
    spilled = 4 * _number(r"\.vgpr_spill_count:\s*(\d+)", text)
    return {
        "registers": _number(r"\.amdhsa_next_free_vgpr (\d+)", text),
        "stack": _number(r"\.private_segment_fixed_size:\s*(\d+)", text),
        "spill_stores": spilled,
        "spill_loads": spilled,
    }


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def _instructions(text: str) -> dict[str, int]:
    """How often each instruction stands in the assembly, predicates and operands left out.

    An asynchronous copy keeps its number of bytes, which is an operand.
    """
    pattern = re.compile(r"^\s+(?:@!?%\w+\s+)?([a-z]\w*(?:[.:]+\w+)*)(.*)", re.MULTILINE)
    counts: Counter[str] = Counter()
    for name, operands in pattern.findall(text):
        size = re.match(r".*?\].*?\], (\w+)", operands) if name.startswith("cp.async.c") else None
        counts[f"{name} {int(size[1], 0)}" if size else name] += 1
    return dict(counts)


def _dots(ttir: str, folder: str) -> list[dict]:
    """Every dot of the optimised IR: operand type, accumulator type, precision, place."""
    places = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", ttir, re.MULTILINE))
    pattern = re.compile(
        r"= tt\.dot (?P<rest>.*) : tensor<[\dx]*x(?P<a>\w+)> \* tensor<[^>]*> "
        r"-> tensor<[\dx]*x(?P<acc>\w+)> loc\((?P<loc>#loc\d*)\)"
    )
    found = []
    for match in pattern.finditer(ttir):
        precision = re.search(r"inputPrecision = (\w+)", match["rest"])
        found.append(
            {
                "operand": match["a"],
                "accumulator": match["acc"],
                "precision": precision[1] if precision else "ieee",
                **_place(match["loc"], places, folder),
            }
        )
    return found


def _place(loc: str, places: dict[str, str], folder: str) -> dict:
    """The first line in the learner's files that a location of the IR leads to."""
    todo, seen = [loc], set()
    while todo:
        name = todo.pop(0)
        if name in seen:
            continue
        seen.add(name)
        text = places.get(name, "")
        for path, line in re.findall(r'"([^"]+)":(\d+)', text):
            if path.startswith(folder):
                return {"file": path, "line": int(line)}
        todo += re.findall(r"#loc\d*", text)
    return {"file": None, "line": None}


def _code(kind: str, assembly: dict) -> str:
    """The code itself; empty where this target has no such thing."""
    if kind == "ptx":
        return re.split(r"^\s*\.section\s+\.debug", assembly.get("ptx", ""), flags=re.MULTILINE)[0]
    if "cubin" in assembly:
        return _disassembled(assembly["cubin"])
    return assembly.get("amdgcn", "").partition("\t.section\t.rodata")[0]


def _disassembled(cubin: bytes) -> str:
    """Machine code with lines; empty where the tool is missing or does not know the GPU."""
    path = Path("kernel.cubin").resolve()
    path.write_bytes(cubin)
    try:
        tool = knobs.nvidia.nvdisasm.path
    except RuntimeError:  # not part of this Triton
        return ""
    done = subprocess.run(
        [tool, "--print-code", "--print-line-info", str(path)], capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout


# --- starting ---------------------------------------------------------------------------------


@triton.jit
def _warm_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(x_ptr + offsets, x, mask=offsets < n)


def warm_up() -> None:
    """One small kernel, so that every fork starts with the compiler loaded."""
    driver.set_active(_StubDriver({"backend": "cuda", "arch": 80, "warp_size": 32}, False))
    with tempfile.TemporaryDirectory() as empty, contextlib.redirect_stdout(io.StringIO()):
        os.environ["TRITON_CACHE_DIR"] = empty
        _warm_kernel.warmup(torch.float32, 8, BLOCK=8, grid=(1,))
