"""Versions and device, as they stand in every report. Must stay cheap: no torch import."""

import platform
from importlib import metadata


def version(package: str) -> str:
    """The installed version of a package, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, str]:
    """Device, torch, Triton, NumPy and Python of this grading."""
    return {
        "device": "cpu (interpreter)",
        "torch": version("torch"),
        "triton": version("triton"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
    }
