"""Compiles kernels of kernels.py for GPUs that are not here, and prints what came out as JSON.

    python compiling.py '[{"kernel": "loop_kernel", "target": 80, "constants": {…}, …}]'

A job may also name `dtype` (of every pointer), `aligned` (whether pointers and integers are known to
be divisible by 16) and compiler `options`. Must run without
TRITON_INTERPRET. Must never launch a kernel.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"


def facts(job: dict) -> dict:
    """What the compiler made of one kernel, or its complaint."""
    kernel = getattr(kernels, job["kernel"])
    constants = job.get("constants", {})
    pointer = "*" + job.get("dtype", "fp16")
    signature = {
        name: "constexpr" if name in constants
        else pointer if name.endswith("_ptr") else "i32"
        for name in kernel.arg_names
    }  # fmt: skip
    attributes = {
        (i,): [["tt.divisibility", 16]]
        for i, name in enumerate(kernel.arg_names)
        if job.get("aligned") and name not in constants
    }
    try:
        built = triton.compile(
            ASTSource(kernel, signature, constants, attributes),
            target=GPUTarget("cuda", job["target"], 32),
            options=job.get("options", {}),
        )
    except Exception as error:  # noqa: BLE001 (the compiler raises many kinds)
        # The complaint stands in the error that was raised first.
        while error.__cause__:
            error = error.__cause__
        return {"error": str(error)}
    ptx = built.asm["ptx"]
    code = "\n".join(
        line for line in ptx.splitlines() if not re.match(r"\s*(\.loc|\.file|//)", line)
    )
    code = code.split(".section")[0]
    return {
        "shared": built.metadata.shared,
        "tensor_core": len(re.findall(r"^\s*(?:mma|wgmma\.mma_async)\.", code, re.MULTILINE)),
        "fma": len(re.findall(r"\bfma\.rn\.f(?:32|16)", code)),
        "async_copies": len(re.findall(r"\bcp\.async\.c[ag]\.", code)),
        "tile_copies": len(re.findall(r"\bcp\.async\.bulk\.tensor", code)),
        "loads": re.findall(r"\b(ld\.global\S*)", code),
        "threads": int(re.search(r"\.(?:req|max)ntid (\d+)", ptx)[1]),
        "stack": _stack(built.asm["cubin"]),
        "code": code,
    }


def _stack(cubin: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        done = subprocess.run(
            [CUOBJDUMP, "--dump-resource-usage", path], check=True, capture_output=True, text=True
        )
    return int(re.search(r"STACK:(\d+)", done.stdout)[1])


if __name__ == "__main__":
    print(json.dumps([facts(job) for job in json.loads(sys.argv[1])]))
