"""Prints the exercises that were changed since a commit, one path a line, for grade.yml.

    python scripts/changed.py BASE

Counted from the commit where BASE and HEAD parted. Where BASE is no commit of this clone (a new
branch, a forced push, a run by hand), every exercise is looked at. A notebook in which no step is
begun is left out: updates of the course bring such notebooks, and nobody waits for their marks.
Must never decide more than which files are graded.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNWRITTEN = "is not written yet"  # what a skeleton raises until its line is deleted


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def changed(base: str) -> list[Path]:
    """Paths below exercises/, from the root: changed since `base`, or all of them."""
    try:
        git("rev-parse", "--quiet", "--verify", f"{base}^{{commit}}")
        names = git(
            "diff", "-z", "--name-only", "--diff-filter=d", f"{base}...HEAD", "--", "exercises"
        )
    except subprocess.CalledProcessError:
        names = git("ls-files", "-z", "--", "exercises")
    return [Path(name) for name in names.split("\0") if name.endswith((".ipynb", ".py"))]


def begun(path: Path) -> bool:
    """Whether at least one step is no longer the skeleton. What cannot be read counts as begun:
    the grader then says what is wrong with it.
    """
    if path.suffix == ".py":
        return True
    try:
        cells = json.loads((ROOT / path).read_text(encoding="utf-8-sig"))["cells"]
        sources = [
            "".join(cell["source"])
            for cell in cells
            if cell["metadata"].get("nbgrader", {}).get("solution")
        ]
    except (ValueError, LookupError, TypeError, AttributeError):
        return True
    return not sources or any(UNWRITTEN not in source for source in sources)


if __name__ == "__main__":
    for path in changed(sys.argv[1] if len(sys.argv) > 1 else ""):
        if begun(path):
            print(path.as_posix())
