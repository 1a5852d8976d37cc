"""Compiles a page's kernel for a GPU that need not be there, and returns the assembly.

For cells of the book. A process that has imported Triton for the interpreter cannot compile, so this
starts another one. Must never run the kernel.
"""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = """
import json
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

{source}

capability, types, constants = json.loads(sys.argv[1])
signature = types | dict.fromkeys(constants, "constexpr")
aligned = {{(i,): [["tt.divisibility", 16]]
           for i, t in enumerate(signature.values()) if t.startswith("*")}}
built = triton.compile(ASTSource({name}, signature, constants, aligned),
                       target=GPUTarget("cuda", capability, 32))
print(built.asm["ptx"])
"""


def ptx_of(kernel, capability: int, constants: dict, **types: str) -> str:
    """The PTX of a kernel: `capability` is 80 for sm_80, a type "*fp32" or "i32".

    Raises RuntimeError with the compiler's last words where the kernel does not compile.
    """
    code = CODE.format(source=inspect.getsource(kernel.fn), name=kernel.fn.__name__)
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.py")
        path.write_text(code, encoding="utf-8")
        command = [sys.executable, path, json.dumps([capability, types, constants])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(_last_words(done.stderr.strip().splitlines()))
    return done.stdout


def _last_words(lines: list[str]) -> str:
    """The last line; or, where that only points at the source, the error behind it."""
    if lines[-1].strip("^ "):
        return lines[-1]
    return next((x for x in reversed(lines) if re.match(r"\w+Error: ", x)), lines[-1])
