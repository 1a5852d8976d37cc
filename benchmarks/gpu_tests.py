"""Runs the tests that need a GPU, and keeps a summary of the log: each test, its end, its seconds.

    python benchmarks/gpu_tests.py [--output FILE]

Needs an NVIDIA GPU and the packages of the tests. Ends as pytest does.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from recording import ROOT, write

from autograder.gpu import has_gpu


def files() -> list[Path]:
    """The test files with such tests: the others may want packages that a GPU's machine lacks."""
    found = sorted(ROOT.glob("tests/test_*.py"))
    return [path for path in found if "@pytest.mark.gpu" in path.read_text(encoding="utf-8")]


def rows(report: Path) -> list[dict]:
    """One row for each test of a JUnit report: name, outcome, seconds, and why if not passed."""
    found = []
    for case in ET.parse(report).iter("testcase"):
        ends = [e for e in case if e.tag in ("failure", "error", "skipped")]
        file = case.get("classname", "").replace(".", "/") + ".py"
        found.append(
            {
                "test": f"{file}::{case.get('name')}",
                "outcome": ends[0].tag if ends else "passed",
                "seconds": round(float(case.get("time", 0)), 1),
                **({"why": ends[0].get("message", "")} if ends else {}),
            }
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parent / "gpu_tests.json"
    parser.add_argument("--output", type=Path, default=here)
    given = parser.parse_args()
    if not has_gpu():
        sys.exit("gpu_tests: there is no GPU here")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "gpu", f"--junitxml={report}", *files()]
        lines = []
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
            for line in tests.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        if not report.exists():
            sys.exit("gpu_tests: pytest wrote no report, so nothing is recorded")
        closing = re.sub(r"^=+ | =+$", "", lines[-1].strip())
        write(given.output, rows(report), closing_line=closing)
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
