"""Likeness of submissions: what counts, what does not, and who is named."""

from pathlib import Path

import pytest
from class_files import solved, untouched

from autograder import course
from autograder.batch import similar
from autograder.batch.record import Record
from autograder.submission import Cell, Submission, read

EXERCISE = "04_first_kernels"
CORPUS = course.ROOT / "tests" / "corpus"


def record(student: str, tokens: str, exercise: str = EXERCISE) -> Record:
    return Record(student, exercise, "x", "graded", {}, 20.0, points=20.0, tokens=tokens)


def tokens_of(source: str) -> str:
    cell = Cell("", "mine.py", source)
    return similar.tokens(Submission.from_cells(Path("mine.py"), [cell]), EXERCISE)


@pytest.fixture
def notebook(tmp_path):
    """Tokens of a notebook's text."""

    def tokens(data: bytes) -> str:
        path = tmp_path / "x.ipynb"
        path.write_bytes(data)
        return similar.tokens(read(path), EXERCISE)

    return tokens


def disguised(data: bytes) -> bytes:
    """A copy with other names, comments and layout, as somebody makes it who hides that it is one."""
    for old, new in (
        (b"vector_add_kernel", b"my_kernel"),
        (b"transpose_kernel", b"other_kernel"),
        (b"offsets", b"positions"),
        (b"tile_r", b"which_row"),
        (b"# ", b"# my own idea: "),
        (b" + ", b"  +  "),
    ):
        assert old in data
        data = data.replace(old, new)
    return data


def test_a_copy_with_other_names_is_found_among_independent_work(notebook):
    copied = solved(EXERCISE)
    others = sorted((CORPUS / "vector_add" / "honest").glob("*.py"))[:6]
    records = [record("anna", notebook(copied)), record("ben", notebook(disguised(copied)))]
    records += [record(path.stem, tokens_of(path.read_text())) for path in others]
    [found] = similar.compare(records)
    assert found.exercise == EXERCISE and found.compared == len(records)
    assert {found.pairs[0].one, found.pairs[0].other} == {"anna", "ben"}
    assert found.pairs[0].share > 0.99
    assert found.usual < similar.ALIKE


def test_what_the_exercise_gave_does_not_count(notebook):
    assert notebook(untouched(EXERCISE)) == ""
    assert 0 < len(notebook(solved(EXERCISE)))


def test_names_comments_layout_and_texts_do_not_count():
    one = (
        'def vector_add(x, y):\n    """Adds."""\n    out = 2 * x + y  # sum\n    return out.sum()\n'
    )
    other = 'def vector_add(a, b):\n  "Zwei."\n\n  c=2*a+b\n  # and now\n  return c.sum( )\n'
    assert tokens_of(one) == tokens_of(other) == "text name = 2 * name + name return name . sum ( )"
    assert tokens_of(one) != tokens_of(one.replace("+", "-"))
    assert tokens_of(one) != tokens_of(one.replace(".sum", ".max"))
    assert tokens_of(one) != tokens_of(one.replace("2", "3"))


def test_short_code_and_other_exercises_are_not_compared():
    long = " ".join(["name", "+"] * similar.SHORTEST)
    assert similar.compare([record("anna", "name + name"), record("ben", "name + name")]) == []
    assert similar.compare([record("anna", long), record("ben", long, "05_softmax")]) == []
    [found] = similar.compare([record("anna", long), record("ben", long)])
    assert [p.share for p in found.pairs] == [1.0]


def test_code_that_was_not_handed_in_for_a_step_does_not_count():
    assert tokens_of("def helper(x):\n    return x + 1\n") == ""
