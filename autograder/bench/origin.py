"""What every recorded run carries: the GPU, the versions, the date and the command.

Must stay cheap: no torch import.
"""

import datetime
import platform
import subprocess

from autograder.environment import version


def _query(field: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def origin(command: str) -> dict[str, str]:
    """Machine, versions and date of this run, and the command that made it."""
    return {
        "gpu": _query("name"),
        "driver": _query("driver_version"),
        "torch": version("torch"),
        "triton": version("triton"),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "command": command,
    }
