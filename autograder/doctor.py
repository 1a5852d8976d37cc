"""Looks at this machine: what can be graded here, what cannot, and why.

Reports what it tried, not what it supposes. Must never change the machine.
"""

import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass

from autograder.environment import version
from autograder.gpu import gpu_name, has_gpu
from autograder.sandbox import Layer, Sandbox, WorkerError
from autograder.targets import DEFAULT

# Layer → its name for people, what it does where it is on, and what is open where it is off.
LAYERS = {
    "privileges": (
        "administrator's rights",
        "a run has none, even where you are root",
        "a run has all rights of the user who grades",
    ),
    "namespaces": (
        "namespaces",
        "a run can name no process but its own, and reaches no network",
        "a run sees the other processes here, and only the layers below keep it from them",
    ),
    "landlock": (
        "Landlock",
        "a run reads Python and the system only, writes in its own folder only, signals nobody",
        "a run can read the solutions and the files of other students, and write where you can",
    ),
    "seccomp": (
        "seccomp",
        "a run opens no sockets, traces nobody and mounts nothing",
        "a run can call services of this machine, and try everything that the kernel offers",
    ),
}
CONTAINER = (
    "a class that you do not trust belongs in a container or a virtual machine as well: a run shares "
    "the kernel and your user account with everything else here"
)


@dataclass(frozen=True)
class Finding:
    """One line: `needed` things must be `ok` before anything can be graded."""

    what: str
    ok: bool
    text: str
    needed: bool = True


def examine() -> list[Finding]:
    """Everything `doctor` prints, in order."""
    return [_system(), _python(), *_packages(), *_worker(), _compiler(), _disk(), _gpu()]


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


def _worker() -> list[Finding]:
    """Starts the worker once: torch and Triton import, the interpreter runs a kernel, and the
    layers of isolation are tried.
    """
    try:
        with Sandbox() as sandbox:
            layers = sandbox.layers()
    except (WorkerError, OSError) as error:
        return [Finding("correctness", False, str(error))]
    text = "graded on the CPU, in Triton's interpreter"
    if not sandbox.knows_bfloat16:
        text += "; bfloat16 needs a GPU, this Triton's interpreter computes it wrongly"
    works = Finding("correctness", True, text)
    return [works, *isolation(layers)]


def isolation(layers: dict[str, Layer]) -> list[Finding]:
    """What keeps submissions away from the machine here, layer by layer, and what does not."""
    findings = []
    for name, (title, closed, left_open) in LAYERS.items():
        layer = layers[name]
        text = (
            f"{title}: {closed}" if layer.on else f"{title}: off, since {layer.remark}; {left_open}"
        )
        if layer.on and layer.remark:
            text += f"; but {layer.remark}"
        findings.append(Finding("isolation", layer.on, text, needed=False))
    return [*findings, Finding("isolation", False, CONTAINER, needed=False)]


def _compiler() -> Finding:
    """Starts the compiling worker once: it compiles a kernel for a GPU that is not there."""
    names = " and ".join(DEFAULT)
    try:
        with Sandbox("compile") as sandbox:
            sandbox.wait_until_ready()
    except (WorkerError, OSError) as error:
        return Finding("compiler", False, f"kernels are not compiled here: {error}", needed=False)
    return Finding(
        "compiler", True, f"kernels are compiled for {names}, without a GPU", needed=False
    )


def _disk() -> Finding:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return Finding(
        "disk", free > 200e6, f"{free / 1e9:.1f} GB free for the working folders of runs"
    )


def _gpu() -> Finding:
    if has_gpu():
        return Finding("GPU", True, f"{gpu_name()}: kernels run on it", needed=False)
    return Finding("speed", False, "not measured here: no GPU found", needed=False)
