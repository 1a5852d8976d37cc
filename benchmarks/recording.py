"""What every recorded run carries, and where it is written.

A figure that the book or the README prints comes from such a file, never from a keyboard.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A script may run where the course is not installed. Whatever it imports of the course comes after this.
sys.path.insert(0, str(ROOT))
from autograder.bench.origin import origin

MEASUREMENTS = ROOT / "book" / "measurements"


def _arguments() -> list[str]:
    """The command line without where its result was to go, which is nobody else's path."""
    if "--output" not in sys.argv:
        return sys.argv
    at = sys.argv.index("--output")
    return sys.argv[:at] + sys.argv[at + 2 :]


def environment() -> dict[str, str]:
    """Machine, versions, date and command of this run."""
    return origin(" ".join(["python", *_arguments()]))


def write(path: Path, rows: list[dict], **more) -> None:
    """Writes a recorded run: its environment, its rows, and whatever else describes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"environment": environment(), **more, "rows": rows}
    path.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
