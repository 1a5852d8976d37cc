"""What is taken from a hand-in, and what is said about it. No nbgrader, no worker."""

import copy
import json

import nbformat
import pytest
from hand_ins import CASES, cell_of, code
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import authoring, course
from autograder.classroom import submitted
from autograder.classroom.rebuild import rebuild
from autograder.submission import BadInput

NAME = "first_kernels"
RELEASE = nbformat.read(course.ROOT / f"exercises/04_first_kernels/{NAME}.ipynb", as_version=4)
FILLED = authoring.filled(RELEASE, course.ROOT / "solutions/04_first_kernels.py")
LONG = nbformat.v4.new_notebook(cells=[code("a or " * 30_000 + "a")])
STEPS = ("vector_add", "scale_rows", "transpose")


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def rebuilt(folder, notebook):
    """What becomes of a hand-in: the notebook to grade and the notes."""
    (folder / f"{NAME}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return rebuild(copy.deepcopy(RELEASE), submitted.read(folder, NAME))


def sources(notebook) -> list[str]:
    return [cell.source for cell in notebook.cells]


def changed(change):
    notebook = copy.deepcopy(FILLED)
    change(notebook)
    return notebook


def put_before(notebook, grade_id: str, *cells) -> None:
    place = notebook.cells.index(cell_of(notebook, grade_id))
    notebook.cells[place:place] = cells


def test_right_answers_come_through_word_for_word(folder):
    assert rebuilt(folder, FILLED) == (FILLED, [])


def test_an_unanswered_notebook_is_the_release(folder):
    assert rebuilt(folder, RELEASE) == (RELEASE, [])


@pytest.mark.parametrize("case", CASES["04_first_kernels"], ids=lambda case: case.name)
def test_the_release_s_cells_are_all_there_and_as_they_were(folder, case):
    """Also with the ways of the end-to-end class, here on a notebook of three steps."""
    for name, content in case.make(NAME, RELEASE, FILLED).items():
        (folder / name).write_bytes(content)
    notebook, notes = rebuild(copy.deepcopy(RELEASE), submitted.read(folder, NAME))
    kept = [cell for cell in notebook.cells if cell.id in {c.id for c in RELEASE.cells}]
    for cell, given_cell in zip(kept, RELEASE.cells, strict=True):
        assert cell.metadata == given_cell.metadata
        assert cell.id in STEPS or cell == given_cell
    assert any(case.note in note for note in notes) if case.note else True


texts = st.sampled_from(
    [cell.source for cell in FILLED.cells]
    + ["", "def vector_add(x, y):\n    return 1", "x = (", "%%bash\nrm -r /", "a\0b", "\ud800"]
)
metas = st.dictionaries(
    st.sampled_from(["grade", "grade_id", "locked", "points", "solution", "schema_version"]),
    st.one_of(st.booleans(), st.integers(-9, 999), st.sampled_from([*STEPS, "transpose-check"])),
)
cells = st.builds(
    lambda kind, text, meta: {
        "cell_type": kind,
        "source": text,
        "metadata": {"nbgrader": meta},
        **({"outputs": [], "execution_count": None} if kind == "code" else {}),
    },
    st.sampled_from(["code", "markdown", "raw"]),
    texts,
    metas,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(cells, max_size=8))
def test_no_hand_in_changes_anything_that_carries_points(tmp_path_factory, handed_in):
    notebook = {"cells": handed_in, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    folder = tmp_path_factory.mktemp("any")
    got, _ = rebuilt(folder, notebook)
    marked = [cell for cell in got.cells if "nbgrader" in cell.metadata]
    given_cells = [cell for cell in RELEASE.cells if "nbgrader" in cell.metadata]
    for cell, given_cell in zip(marked, given_cells, strict=True):
        assert cell.metadata == given_cell.metadata
        assert cell.id in STEPS or cell == given_cell
    nbformat.validate(got)
    nbformat.writes(got).encode()


# --- which cell is the answer -----------------------------------------------------------------


def test_the_cell_with_the_id_counts_before_one_found_by_name(folder):
    mine = code("def vector_add(x, y):\n    return x + y  # to compare with")
    got, notes = rebuilt(folder, changed(lambda n: n.cells.append(mine)))
    assert sources(got) == sources(FILLED)
    last = len(FILLED.cells) + 1
    assert notes == [f"`vector_add` stands in cells 6, {last}; cell 6 counts."]


def test_of_copies_with_the_id_the_last_changed_one_counts(folder):
    def copies(notebook):
        first, last = (copy.deepcopy(cell_of(notebook, "vector_add")) for _ in range(2))
        first.source += "\n# first try"
        last.source = cell_of(RELEASE, "vector_add").source
        cell_of(notebook, "vector_add").source += "\n# second try"
        put_before(notebook, "vector_add", first)
        put_before(notebook, "vector_add-check", last)

    got, notes = rebuilt(folder, changed(copies))
    assert cell_of(got, "vector_add").source.endswith("# second try")
    assert notes == ["`vector_add` stands in cells 6, 7, 10; cell 7 counts."]


def test_an_answer_in_a_new_cell_counts_where_the_skeleton_was_left(folder):
    def move(notebook):
        answer = code(cell_of(notebook, "vector_add").source)
        cell_of(notebook, "vector_add").source = cell_of(RELEASE, "vector_add").source
        put_before(notebook, "vector_add-check", answer)

    got, notes = rebuilt(folder, changed(move))
    assert sources(got) == sources(FILLED)
    assert notes == ["`vector_add` stands in cells 6, 9; cell 9 counts."]


def test_answers_without_any_metadata_are_found_by_name(folder):
    def strip(notebook):
        for number, cell in enumerate(notebook.cells):
            cell.metadata.clear()
            cell.id = f"x{number}"

    got, notes = rebuilt(folder, changed(strip))
    assert sources(got) == sources(FILLED)
    assert notes == ["nbgrader's metadata are gone; the steps were looked for by name."]


def test_an_answer_that_is_not_python_is_found_by_name(folder):
    broken = code("def transpose(x):\n    return (")

    def strip(notebook):
        notebook.cells.remove(cell_of(notebook, "transpose"))
        notebook.cells.append(broken)

    got, _ = rebuilt(folder, changed(strip))
    assert cell_of(got, "transpose").source == broken.source


def test_a_text_that_mentions_the_function_is_no_answer(folder):
    def strip(notebook):
        notebook.cells.remove(cell_of(notebook, "transpose"))
        notebook.cells.append(
            nbformat.v4.new_markdown_cell(
                "def transpose(x):\n  mine (",
            )
        )

    got, notes = rebuilt(folder, changed(strip))
    assert cell_of(got, "transpose").source == cell_of(RELEASE, "transpose").source
    assert notes == ["No cell for `transpose` was found; it counts as not answered."]


def test_swapped_ids_do_not_swap_the_answers(folder):
    def swap(notebook):
        a, b = cell_of(notebook, "vector_add"), cell_of(notebook, "transpose")
        a.id, b.id = b.id, a.id
        a.metadata, b.metadata = b.metadata, a.metadata

    got, _ = rebuilt(folder, changed(swap))
    assert sources(got) == sources(FILLED)


def test_a_solution_cell_that_became_text_still_counts(folder):
    got, _ = rebuilt(
        folder, changed(lambda n: cell_of(n, "transpose").update(cell_type="markdown"))
    )
    assert sources(got) == sources(FILLED)
    assert [c.cell_type for c in got.cells] == [c.cell_type for c in RELEASE.cells]


def test_another_assignment_s_notebook_has_no_answers(folder):
    path = course.ROOT / "exercises/05_softmax/softmax.ipynb"
    got, notes = rebuilt(folder, nbformat.read(path, as_version=4))
    assert sources(got) == sources(RELEASE)
    assert "Does it belong to another assignment?" in notes[-1]


def test_a_moved_step_is_put_back_and_mentioned(folder):
    def move(notebook):
        cell = cell_of(notebook, "vector_add")
        notebook.cells.remove(cell)
        notebook.cells.append(cell)

    got, notes = rebuilt(folder, changed(move))
    assert sources(got) == sources(FILLED)
    assert notes == ["The steps stand in another order; they were graded in the released order."]


# --- what an answer needs from other cells ----------------------------------------------------


def test_code_that_an_answer_needs_is_kept_in_its_place_and_nothing_else(folder):
    def split(notebook):
        cell = cell_of(notebook, "vector_add")
        kernel, _, function = cell.source.partition("\n\n\ndef vector_add(")
        cell.source = f"def vector_add({function.replace('1024', 'SIZE')}"
        before = code("SIZE = 1024\nprint(open('/etc/passwd').read())\nother = 2")
        put_before(notebook, "vector_add", before)
        put_before(notebook, "vector_add-check", code(f"unused = 1\n{kernel}"))

    got, notes = rebuilt(folder, changed(split))
    place = got.cells.index(cell_of(got, "vector_add"))
    before, after = got.cells[place - 1].source, got.cells[place + 1].source
    assert before == "# From cell 6 of the hand-in: `vector_add` needs it.\nSIZE = 1024"
    kernel = cell_of(FILLED, "vector_add").source.partition("\n\n\ndef vector_add(")[0]
    assert after == f"# From cell 10 of the hand-in: `vector_add` needs it.\n{kernel}"
    assert len(got.cells) == len(RELEASE.cells) + 2
    assert notes == ["Code that an answer needs was kept from cells 6, 10 of the hand-in."]


def test_an_import_added_to_a_released_cell_is_kept(folder):
    def more_imports(notebook):
        notebook.cells[1].source += "\nimport math\nimport os"
        cell = cell_of(notebook, "vector_add")
        cell.source = cell.source.replace("triton.cdiv(n, 1024)", "math.ceil(n / 1024)")

    got, _ = rebuilt(folder, changed(more_imports))
    place = got.cells.index(cell_of(got, "vector_add"))
    assert "import math" in got.cells[place - 1].source
    assert not any("import os" in source for source in sources(got))
    assert got.cells[1] == RELEASE.cells[1]


def test_an_old_try_elsewhere_does_not_come_along(folder):
    old = code("def vector_add(x, y):\n    return tl.dot(x, y)")
    got, _ = rebuilt(folder, changed(lambda n: put_before(n, "transpose", old)))
    assert sources(got) == sources(FILLED)


# --- the file ---------------------------------------------------------------------------------


def test_text_that_cannot_be_written_is_mended(folder):
    def odd(notebook):
        cell_of(notebook, "vector_add").source += "\n# \ud800 \0 \r\n# end\r"

    got, notes = rebuilt(folder, changed(odd))
    assert cell_of(got, "vector_add").source.endswith("\n# ? \ufffd \n# end\n")
    assert notes == ["The cells have Windows line ends, which were changed."]


def test_the_notebook_with_the_right_name_counts_and_others_are_mentioned(folder):
    (folder / "other.ipynb").write_text("{}")
    assert rebuilt(folder, FILLED)[1] == [f"{NAME}.ipynb was graded; left alone: “other.ipynb”."]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda f: None, f"there is no notebook {NAME}.ipynb"),
        (lambda f: (f / f"{NAME}.ipynb").mkdir(), "is not an ordinary file"),
        (lambda f: (f / f"{NAME}.ipynb").symlink_to(__file__), "is not an ordinary file"),
        (lambda f: [(f / f"{n}.ipynb").touch() for n in "ab"], "“a.ipynb”, “b.ipynb”"),
        (lambda f: (f / f"{NAME}.ipynb").write_bytes(b"\xff\xfe{}"), "not a text file in UTF-8"),
        (lambda f: (f / f"{NAME}.ipynb").write_text("[" * 100_000), "not valid JSON"),
        (lambda f: (f / f"{NAME}.ipynb").write_text('{"cells": 3}'), "not a notebook"),
        (lambda f: (f / f"{NAME}.ipynb").write_text(" " * 2001), "larger than"),
        (lambda f: nbformat.write(LONG, f / f"{NAME}.ipynb"), "100,000 characters of code"),
    ],
    ids=["none", "folder", "link", "two", "UTF-16", "deep", "shape", "large", "long"],
)
def test_a_file_that_cannot_be_used_is_one_sentence_without_a_path(
    folder, monkeypatch, make, sentence
):
    monkeypatch.setattr(submitted, "LARGEST", 2000 if sentence == "larger than" else 10**6)
    make(folder)
    with pytest.raises(BadInput) as error:
        submitted.read(folder, NAME)
    assert sentence in str(error.value)
    assert str(folder) not in str(error.value) and "\n" not in str(error.value)
