"""Makes the grader usable in the Python that runs this file, beside the torch that is there.

    %run course/scripts/colab.py

For Google Colab and other hosted notebooks: their torch fits their driver, so it stays. Nothing of
the course is installed; its folder is put on the path. Of the few packages that the grader needs,
those that are missing are installed, and pip is told to keep the others. Must never change torch,
Triton or NumPy where they are there.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the grader imports beside torch. A test compares it with the imports in autograder/.
NEEDED = ("triton", "numpy", "nbformat", "click", "rich", "psutil")
KEPT = ("torch", "triton", "numpy")


def missing() -> list[str]:
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def versions() -> dict[str, str]:
    """What is installed of KEPT: name → version."""
    found = {}
    for name in KEPT:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def requirement(name: str) -> str:
    """The line of requirements.txt for a package."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith((f"{name}>", f"{name}=")))


def install(names: list[str], keep: dict[str, str]) -> None:
    """Exits with pip's words when it cannot."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        # Without a local suffix such as +cu128, which no index but PyTorch's own has.
        constraints.writelines(f"{k}=={v.partition('+')[0]}\n" for k, v in keep.items())
        constraints.flush()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--constraint"]
        command += [constraints.name, *map(requirement, names)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"colab: pip could not install {', '.join(names)}:\n{done.stdout}{done.stderr}")


def main() -> None:
    before = versions()
    if "torch" not in before:
        sys.exit("colab: there is no torch here. On a computer of your own, run `make course`.")
    wanted = missing()
    if wanted:
        install(wanted, before)
    after = versions()
    if any(after.get(name) != version for name, version in before.items()):
        sys.exit(f"colab: pip changed what was there: {before} became {after}. Restart from new.")
    sys.path.insert(0, str(ROOT))
    # For commands such as `!python -m autograder list`.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    )
    print(f"The grader is ready, with torch {after['torch']} and Triton {after['triton']}.")
    print("Next: from autograder import check")


if __name__ == "__main__":
    main()
