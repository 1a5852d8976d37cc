"""Looks at this machine: what can be graded here, what cannot, and why.

Reports what it tried, not what it supposes. Must never change the machine.
"""

import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass

from autograder.environment import version
from autograder.gpu import has_gpu
from autograder.sandbox import Sandbox, WorkerError


@dataclass(frozen=True)
class Finding:
    """One line: `needed` things must be `ok` before anything can be graded."""

    what: str
    ok: bool
    text: str
    needed: bool = True


def examine() -> list[Finding]:
    """Everything `doctor` prints, in order."""
    return [_system(), _python(), *_packages(), _worker(), _disk(), _gpu()]


def _system() -> Finding:
    linux = platform.system() == "Linux"
    text = f"{platform.system()} {platform.machine()}"
    if not linux:
        text += ": Triton has no wheel for it; use a Linux container, WSL2 or Colab (chapter 0)"
    return Finding("system", linux, text)


def _python() -> Finding:
    return Finding("Python", sys.version_info >= (3, 11), f"{platform.python_version()} (3.11+)")


def _packages() -> list[Finding]:
    return [
        Finding(name, version(name) != "not installed", version(name))
        for name in ("torch", "triton", "numpy", "nbformat")
    ]


def _worker() -> Finding:
    """Starts the worker once: torch and Triton import, and the interpreter runs a kernel."""
    try:
        with Sandbox() as sandbox:
            sandbox.wait_until_ready()
            text = "graded on the CPU, in Triton's interpreter"
            if not sandbox.knows_bfloat16:
                text += "; bfloat16 needs a GPU, this Triton's interpreter computes it wrongly"
    except (WorkerError, OSError) as error:
        return Finding("correctness", False, str(error))
    return Finding("correctness", True, text)


def _disk() -> Finding:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return Finding(
        "disk", free > 200e6, f"{free / 1e9:.1f} GB free for the working folders of runs"
    )


def _gpu() -> Finding:
    text = "found, but this version grades on the CPU only" if has_gpu() else "none found"
    return Finding("speed", False, f"not measured here: GPU {text}", needed=False)
