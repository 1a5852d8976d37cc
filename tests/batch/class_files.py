"""Classes of students for tests: folders as a class hands them in, good files and bad ones, and the
results that come out."""

import json
import os
from pathlib import Path

import nbformat

from autograder import authoring, course

EXERCISE = "01_memory_hierarchy"  # plain Python, so that a whole class is graded in a second
NAME = "memory_hierarchy.ipynb"
CRASH = "".join(
    f"import os\ndef {s.name}(*a):\n    os._exit(3)\n" for s in course.STEPS if s.folder == EXERCISE
)


def solved(exercise: str = EXERCISE) -> bytes:
    """The exercise with the reference solution in it."""
    source = course.ROOT / "solutions" / f"{exercise}.py"
    return authoring.dumps(authoring.filled(authoring.exercise(source), source))


def untouched(exercise: str = EXERCISE) -> bytes:
    """The exercise as it was released."""
    return authoring.dumps(authoring.exercise(course.ROOT / "solutions" / f"{exercise}.py"))


def put(folder: Path, student: str, data: bytes, file: str = f"{EXERCISE}/{NAME}") -> Path:
    """Hands in a file."""
    path = folder / student / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def good_class(folder: Path) -> Path:
    """Seven students whose files can be graded, and one who handed in nothing."""
    right = solved()
    put(folder, "anna", right)
    put(folder, "ben", untouched())
    put(folder, "cleo", right.replace(b"2 * M * N * K", b"M * N * K"))
    put(folder, "dan", right, f"{EXERCISE}/memory_hierarchy (1).ipynb")
    put(folder, "eva", b"\xef\xbb\xbf" + right, NAME)
    put(folder, "finn", CRASH.encode(), f"{EXERCISE}/mine.py")
    put(folder, "gül", right.replace(b"\n", b"\r\n"), "Abgabe/Blatt 1.ipynb")
    (folder / "hal").mkdir()
    return folder


def bad_files(folder: Path) -> dict[str, str]:
    """One student for each file that cannot be graded → words of the sentence on it."""
    right = solved()
    words = {}

    def add(student: str, data: bytes | None, sentence: str, file: str = f"{EXERCISE}/{NAME}"):
        words[student] = sentence
        if data is not None:
            put(folder, student, data, file)
        path = folder / student / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    add("broken", right[:500], "not valid JSON")
    add("empty", b"", "the notebook is empty")
    add("binary", bytes(range(256)), "not a text file in UTF-8")
    add("null", b"{\0}", "contains a null byte")
    add("no_cells", nbformat.writes(nbformat.v4.new_notebook()).encode(), "has no code cells")
    add("deep", b"[" * 200_000, "not valid JSON")
    add("stranger", b"{}", "named like no exercise", "Untitled.ipynb")
    add("folder", None, "not an ordinary file").mkdir()
    os.mkfifo(add("pipe", None, "not an ordinary file"))
    add("link", None, "symbolic link").symlink_to(put(folder, "source", right))
    with add("huge", None, "200 MB, more than 64 MB").open("wb") as file:
        file.truncate(200 * 2**20)  # takes no room on the disk
    put(folder, "twice", right, f"{EXERCISE}/a.ipynb")
    add("twice", right, "2 files could be meant", f"{EXERCISE}/b.ipynb")
    return words


def results(folder: Path) -> dict[str, dict]:
    """File → what is in it, but for the time that the grading took."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        told = json.loads(path.read_text())
        told.pop("seconds")
        for submission in (told["grading"] or {"submissions": []})["submissions"]:
            for step in submission["steps"]:
                step.pop("seconds")
        found[str(path.relative_to(folder))] = told
    return found
