"""What every recorded run carries, and where it is written.

A figure that the book or the README prints comes from such a file, never from a keyboard.
"""

import datetime
import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASUREMENTS = ROOT / "book" / "measurements"


def _query(field: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _arguments() -> list[str]:
    """The command line without where its result was to go, which is nobody else's path."""
    if "--output" not in sys.argv:
        return sys.argv
    at = sys.argv.index("--output")
    return sys.argv[:at] + sys.argv[at + 2 :]


def environment() -> dict[str, str]:
    """Machine, versions, date and command of this run."""
    return {
        "gpu": _query("name"),
        "driver": _query("driver_version"),
        "torch": _version("torch"),
        "triton": _version("triton"),
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python", *_arguments()]),
    }


def write(path: Path, rows: list[dict], **more) -> None:
    """Writes a recorded run: its environment, its rows, and whatever else describes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"environment": environment(), **more, "rows": rows}
    path.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
