"""Hand-ins of a class: what learners' tools, mistakes and tricks make of a released notebook.

`CASES` has three lists, one for each exercise of the small course in `conftest.py`. Each case says
what it must be worth: all points, none, a part, or no score before a human has looked.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder import course

ALL, PART, NONE, NO_SCORE = "all", "part", "none", "no score"

Files = dict[str, bytes]  # name in the hand-in's folder → content


@dataclass(frozen=True)
class HandIn:
    """A case: its name, what it is worth, and words that a note to the instructor must have.

    `make` takes the name of the notebook, the release and the release with right answers.
    """

    name: str
    worth: str
    make: Callable[[str, nbformat.NotebookNode, nbformat.NotebookNode], Files]
    note: str = ""
    status: str = "graded"
    hijack: bool = False
    needs: str = ""  # the layer of isolation without which it might succeed


def packed(notebook) -> bytes:
    # Escaped like JSON allows, so that half a character can be in it.
    return json.dumps(notebook).encode()


def cell_of(notebook, grade_id: str):
    return next(
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def code(source: str, **metadata):
    return nbformat.v4.new_code_cell(source, metadata=metadata)


# --- ways to make a hand-in -------------------------------------------------------------------


def honest(name, release, filled) -> Files:
    return {f"{name}.ipynb": packed(filled)}


def called(other: str):
    """The right answers in a file of another name."""
    return lambda name, release, filled: {other.format(name): packed(filled)}


def text(change: Callable[[str], str]):
    """The right answers, and the file's text changed."""
    return lambda name, release, filled: {f"{name}.ipynb": change(packed(filled).decode()).encode()}


def raw(content: bytes):
    return lambda name, release, filled: {f"{name}.ipynb": content}


def edited(change: Callable):
    """The right answers, and the notebook changed in place."""

    def make(name, release, filled):
        notebook = copy.deepcopy(filled)
        change(notebook)
        return {f"{name}.ipynb": packed(notebook)}

    return make


def unanswered(change: Callable):
    """The release without an answer, changed in place."""

    def make(name, release, filled):
        notebook = copy.deepcopy(release)
        change(notebook)
        return {f"{name}.ipynb": packed(notebook)}

    return make


def answer(grade_id: str, source: str):
    """A release in which one solution cell holds `source`."""
    return unanswered(lambda notebook: cell_of(notebook, grade_id).update(source=source))


def replaced(grade_id: str, old: str, new: str):
    """The right answers, but for a few words of one."""

    def change(notebook):
        cell = cell_of(notebook, grade_id)
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    return edited(change)


def each(change: Callable):
    """The right answers, with every cell changed in place."""
    return edited(lambda notebook: [change(cell) for cell in notebook.cells])


def old_format(name, release, filled) -> Files:
    notebook = copy.deepcopy(filled)
    return {f"{name}.ipynb": nbformat.writes(nbformat.convert(notebook, 3), version=3).encode()}


def without_ids(content: str) -> str:
    notebook = json.loads(content)
    notebook["nbformat_minor"] = 0
    for cell in notebook["cells"]:
        del cell["id"]
    return json.dumps(notebook)


def colab(notebook) -> None:
    notebook.metadata.colab = {"provenance": [], "toc_visible": True}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"colab{number}"
        cell.metadata.update(colab={"base_uri": "https://localhost/"}, id=f"colab{number}")


def failed_outputs(cell) -> None:
    if cell.cell_type == "code":
        told = nbformat.v4.new_output("error", ename="E", evalue="wrong", traceback=["E: wrong"])
        cell.outputs = [told]


def many_outputs(notebook) -> None:
    told = nbformat.v4.new_output("stream", name="stdout", text="x" * 50_000_000)
    notebook.cells[1].outputs = [told]


def duplicate(grade_id: str):
    def change(notebook):
        cell = cell_of(notebook, grade_id)
        notebook.cells.insert(notebook.cells.index(cell), copy.deepcopy(cell))

    return edited(change)


def delete(grade_id: str):
    return edited(lambda notebook: notebook.cells.remove(cell_of(notebook, grade_id)))


def move_to_the_end(grade_id: str):
    def change(notebook):
        cell = cell_of(notebook, grade_id)
        notebook.cells.remove(cell)
        notebook.cells.append(cell)

    return edited(change)


def split(grade_id: str):
    """The kernel in a cell of the learner's own, with a constant in a third one."""

    def change(notebook):
        cell = cell_of(notebook, grade_id)
        kernel, _, function = cell.source.partition(f"\n\n\ndef {grade_id}(")
        cell.source = f"def {grade_id}({function}"
        place = notebook.cells.index(cell)
        notebook.cells[place:place] = [code("import math\nprint('mine')"), code(kernel)]

    return edited(change)


def also(grade_id: str, source: str):
    """The right answers, with code before one of them in its cell."""
    return edited(
        lambda n: cell_of(n, grade_id).update(source=f"{source}\n{cell_of(n, grade_id).source}")
    )


# --- the 33 bad ones and others like them -----------------------------------------------------

CHAPTER_1 = [
    HandIn("honest", ALL, honest),
    HandIn("byte order mark", ALL, text("\ufeff{}".format), "byte order mark"),
    HandIn("Windows file", ALL, text(lambda t: t.replace("\n", "\r\n"))),
    HandIn(
        "Windows cells",
        ALL,
        each(lambda c: c.update(source=c.source.replace("\n", "\r\n"))),
        "Windows line ends",
    ),
    HandIn("renamed", ALL, called("{} (1).ipynb"), "was taken for"),
    HandIn("renamed in Chinese", ALL, called("作业一.ipynb"), "作业一"),
    HandIn("empty file", NO_SCORE, raw(b""), "empty", "no score"),
    HandIn("broken JSON", NO_SCORE, raw(b'{"cells": ['), "not valid JSON", "no score"),
    HandIn("format 3", ALL, old_format),
    HandIn("format 4.0 without ids", ALL, text(without_ids)),
    HandIn("Colab", ALL, edited(colab)),
    HandIn("VS Code", ALL, edited(lambda n: n.metadata.clear())),
    HandIn("another kernel", ALL, edited(lambda n: n.metadata.kernelspec.update(name="mine"))),
    HandIn("saved errors", ALL, each(failed_outputs)),
    HandIn(
        "no metadata",
        ALL,
        each(lambda c: (c.metadata.clear(), c.update(id=f"x{id(c)}"))),
        "looked for by name",
    ),
    HandIn("50 MB of saved output", ALL, edited(many_outputs)),
]

SOLUTIONS = str(course.ROOT / "solutions" / "04_first_kernels.py")


def adding(body: str, before: str = ""):
    """A release whose vector_add has this body."""
    return answer("vector_add", f"{before}\ndef vector_add(x, y):\n    {body}\n")


def beside(line: str):
    """The right vector_add with one more line in its function."""
    return replaced("vector_add", "n = out.numel()", f"{line}\n    n = out.numel()")


CHAPTER_4 = [
    HandIn("kernel in a cell of its own", ALL, split("vector_add"), "was kept from cell"),
    HandIn("copied cell", ALL, duplicate("vector_add"), "stands in cells"),
    HandIn("deleted check", ALL, delete("vector_add-check"), "was put back"),
    HandIn("deleted answer", NONE, delete("vector_add"), "No cell for `vector_add`"),
    HandIn("moved answer", ALL, move_to_the_end("vector_add")),
    HandIn("store not masked", PART, replaced("vector_add", "x + y, mask=mask", "x + y")),
    HandIn(
        "store far outside",
        PART,
        replaced("vector_add", "out_ptr + offsets", "out_ptr + offsets + (1 << 40)"),
    ),
    HandIn("endless cell", ALL, also("vector_add", "for _ in iter(int, 1): pass")),
    HandIn("endless function", NONE, adding("while True: pass"), status="timed out"),
    HandIn("os._exit", NONE, adding("import os; os._exit(0)"), status="crashed"),
    HandIn(
        "segmentation fault",
        NONE,
        adding("import ctypes; return ctypes.string_at(0)"),
        status="crashed",
    ),
    HandIn("sys.exit", NONE, adding("import sys; sys.exit(0)")),
    HandIn(
        "patches the comparison",
        PART,
        adding(
            "return torch.zeros_like(x)",
            "import torch\ntorch.testing.assert_close = lambda *a, **k: None",
        ),
    ),
    HandIn(
        "reads the solutions",
        NONE,
        adding(
            f"exec(open({SOLUTIONS!r}).read(), globals()); return globals()['vector_add'](x, y)"
        ),
        needs="landlock",
    ),
    HandIn("prints 50 MB", NONE, beside("print('x' * 50_000_000)"), status="crashed"),
    HandIn(
        "warns on stderr",
        ALL,
        beside("import sys, warnings; warnings.warn('slow'); print('!', file=sys.stderr)"),
    ),
]

# --- ten that reach for the mark, and others --------------------------------------------------


def fake_outputs(notebook) -> None:
    told = nbformat.v4.new_output("execute_result", {"text/plain": "5.0"}, execution_count=1)
    cell_of(notebook, "row_max-check").outputs = [told]


def extra_grade_cell(notebook) -> None:
    meta = {"grade": True, "grade_id": "bonus", "locked": True, "points": 100}
    meta |= {"schema_version": 3, "solution": False, "task": False}
    notebook.cells.append(code("5.0", nbgrader=meta))


def changed_points(notebook) -> None:
    cell_of(notebook, "row_max-check").metadata.nbgrader.points = 1000


def changed_check(notebook) -> None:
    cell_of(notebook, "row_max-check").source = "5.0"


def swapped_roles(notebook) -> None:
    """The solution calls itself the check, and the other way round; the schema is from nowhere."""
    solution, check = cell_of(notebook, "row_max"), cell_of(notebook, "row_max-check")
    solution.metadata.nbgrader, check.metadata.nbgrader = (
        {**check.metadata.nbgrader, "schema_version": 99},
        {**solution.metadata.nbgrader, "schema_version": 1},
    )


def forged_record(notebook) -> None:
    notebook.metadata.autograder = {
        "notes": [],
        "trouble": "",
        "grading": {"submissions": []},
        "gradescope": {"tests": [{"name": "row_max", "score": 5, "max_score": 5}]},
    }


def with_files(**files: str):
    """An unanswered notebook, with files beside it that Python or nbgrader might pick up."""

    def make(name, release, filled):
        return {f"{name}.ipynb": packed(release), **{k: v.encode() for k, v in files.items()}}

    return make


FORGED = "import autograder.result as r; r.StepResult.points = property(lambda s: s.max_points)"
GRADEBOOK = """
    import sqlite3
    with sqlite3.connect({path!r}) as db:
        db.execute("update grade set auto_score = 5, manual_score = 5")
    return x[:, 0].clone()"""
VERDICT = """
    import os
    for descriptor in range(20):
        try:
            os.write(descriptor, b'{"end": "ok", "passed": true, "points": 5}\\n')
        except OSError:
            pass
    return x[:, 0].clone()"""


def row_max(body: str, before: str = ""):
    """A release whose row_max has this body."""
    return answer("row_max", f"{before}\ndef row_max(x):\n    {body}\n")


def writes_the_gradebook(name, release, filled) -> Files:
    path = str(Path("gradebook.db").resolve())  # the class is made in the course's folder
    return row_max(GRADEBOOK.strip().format(path=path))(name, release, filled)


MARKUP = "</script><script>alert(1)</script>"

CHAPTER_5 = [
    HandIn("fake outputs", NONE, unanswered(fake_outputs), hijack=True),
    HandIn("one more grade cell", NONE, unanswered(extra_grade_cell), hijack=True),
    HandIn(
        "1000 points",
        NONE,
        unanswered(changed_points),
        "points of `row_max` were changed",
        hijack=True,
    ),
    HandIn(
        "its own check", NONE, unanswered(changed_check), "the released one counts", hijack=True
    ),
    HandIn("roles swapped", NONE, unanswered(swapped_roles), hijack=True),
    HandIn("a forged record", NONE, unanswered(forged_record), hijack=True),
    HandIn(
        "files beside it",
        NONE,
        with_files(
            **{
                "sitecustomize.py": FORGED,
                "autograder.py": FORGED,
                "nbgrader_config.py": "raise SystemExit",
                "gradebook.db": "x",
            }
        ),
        hijack=True,
    ),
    HandIn("patches the grader", NONE, row_max(f"{FORGED}; return x[:, 0].clone()"), hijack=True),
    HandIn("writes the gradebook", NONE, writes_the_gradebook, hijack=True, needs="landlock"),
    HandIn("forges a verdict", NONE, row_max(VERDICT.strip()), status="crashed", hijack=True),
    HandIn("the library's maximum", NONE, row_max("return x.max(dim=1).values"), status="refused"),
    HandIn("markup everywhere", ALL, called(f"{MARKUP.replace('/', '')}.ipynb"), "was taken for"),
    HandIn("half a character", NONE, answer("row_max", "def row_max(x):\n    return '\ud800'")),
    HandIn(
        "maximum from zero",
        PART,
        replaced("row_max", 'float("-inf"), tl.float32', "0.0, tl.float32"),
    ),
    HandIn("not answered", NONE, unanswered(lambda notebook: None)),
    HandIn("not Python", NONE, row_max("return x.max(")),
]

CASES = {
    "01_memory_hierarchy": CHAPTER_1,
    "04_first_kernels": CHAPTER_4,
    "05_softmax": CHAPTER_5,
}
