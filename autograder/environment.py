"""Versions and device, as they stand in every report. Must stay cheap: no torch import."""

import platform
from importlib import metadata

from autograder.gpu import gpu_name


def version(package: str) -> str:
    """The installed version of a package, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def describe(gpu: bool = False) -> dict[str, str]:
    """Device, torch, Triton, NumPy and Python of this grading; `gpu`: whether kernels ran on one."""
    return {
        "device": gpu_name() if gpu else "cpu (interpreter)",
        "torch": version("torch"),
        "triton": version("triton"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
    }
