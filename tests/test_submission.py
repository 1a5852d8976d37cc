"""Reading submissions: which statements count, where they stand, and bad input."""

import json
from pathlib import Path

import nbformat
import pytest

from autograder.submission import BadInput, Cell, Submission, read

KERNEL = """\
import torch
import triton
import triton.language as tl

@triton.jit
def vector_add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    pass

def vector_add(x, y):
    return vector_add_kernel
"""


def notebook(*sources: str, **metadata) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


@pytest.fixture
def write(tmp_path):
    """Writes text, bytes or a notebook under a name; returns the path."""

    def write(name: str, content) -> Path:
        path = tmp_path / name
        if isinstance(content, nbformat.NotebookNode):
            content = nbformat.writes(content)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    return write


def kept(submission, function: str) -> list[tuple[str, int]]:
    """File name and line of the statements kept for a function."""
    return [(s.cell.filename, s.node.lineno) for s in submission.slice_for(function)]


def test_only_what_the_function_needs_is_kept(write):
    path = write(
        "n.ipynb",
        notebook(
            "import torch\nimport triton\nimport os",
            "BLOCK = 64\nbig = torch.randn(10**9)",
            "def helper(n):\n    return n * BLOCK",
            "def vector_add(x, y):\n    return helper(x)",
            "print(vector_add(1, 2))\nraise SystemExit",
        ),
    )
    assert kept(read(path), "vector_add") == [
        ("cell_02.py", 1),
        ("cell_03.py", 1),
        ("cell_04.py", 1),
    ]


def test_decorators_defaults_and_annotations_are_needed(write):
    path = write(
        "s.py",
        "import deco\nLIMIT = 3\nimport kinds\n\n@deco.mark\ndef f(x: kinds.T = LIMIT):\n    return x\n",
    )
    assert [line for _, line in kept(read(path), "f")] == [1, 2, 3, 6]


def test_parameters_do_not_pull_in_globals_of_the_same_name(write):
    path = write("s.py", "x = 1 / 0\ndef f(x):\n    return x\n")
    assert [line for _, line in kept(read(path), "f")] == [2]


def test_every_rebinding_is_kept_in_order(write):
    path = write("s.py", "def f(x):\n    return x\nf = tuned(f)\ntuned = len\n")
    assert [line for _, line in kept(read(path), "f")] == [1, 3, 4]


@pytest.mark.parametrize(
    "change",
    [
        "CONFIGS.append(2)",
        "for n in (2, 3):\n    CONFIGS.append(n)",
        "CONFIGS[0] = 2",
        "CONFIGS.limit = 2",
        "if len(CONFIGS) < 2:\n    CONFIGS.extend([2])",
        "@CONFIGS.register_fake\ndef _(x):\n    return x",
    ],
)
def test_what_changes_something_that_is_needed_is_kept(write, change):
    path = write(
        "s.py",
        f"CONFIGS = make()\nRESULTS = []\n{change}\nRESULTS.append(f(1))\n"
        "def f(x):\n    return CONFIGS, x\n",
    )
    first = 3 + change.startswith("@")  # a decorated function's line is that of its def
    lines = [line for _, line in kept(read(path), "f")]
    assert lines == [1, first, 3 + change.count("\n") + 2]


def test_what_is_said_of_an_operator_by_its_name_is_kept_with_it(write):
    path = write(
        "s.py",
        'import torch\n@torch.library.custom_op("own::op", mutates_args=())\ndef op(x):\n    return x\n'
        'torch.library.register_fake("own::op", lambda x: x)\n'
        'torch.library.register_fake("own::other", lambda x: x)\n'
        "torch.backends.cuda.matmul.allow_tf32 = True\n"
        "def f(x):\n    return op(x)\n",
    )
    assert [line for _, line in kept(read(path), "f")] == [1, 3, 5, 8]


def test_star_imports_and_allocator_calls_are_kept(write):
    path = write(
        "s.py", "from m import *\ntriton.set_allocator(g)\nprint(1)\ndef f():\n    return g\n"
    )
    assert [line for _, line in kept(read(path), "f")] == [1, 2, 4]


def test_places_name_cell_and_line(write):
    submission = read(write("n.ipynb", notebook("a = 1", "b = 2\n\ndef f():\n    return b")))
    assert submission.place("cell_02.py", 4) == "cell 2, line 4"
    assert submission.text("cell_02.py", 4) == "return b"


def test_places_in_a_file_name_the_line(write):
    assert read(write("s.py", "def f():\n    pass\n")).place("s.py", 2) == "line 2"


def test_cells_are_counted_with_the_text_cells(write):
    nb = notebook("def f():\n    return 1")
    nb.cells.insert(0, nbformat.v4.new_markdown_cell("# Title"))
    submission = read(write("n.ipynb", nb))
    assert kept(submission, "f") == [("cell_02.py", 1)]
    assert submission.place("cell_02.py", 1) == "cell 2, line 1"


def test_a_second_definition_is_said_and_counts(write):
    submission = read(write("n.ipynb", notebook("def f():\n    1", "\ndef f():\n    2")))
    assert submission.notes_for("f") == [
        "f is defined 2 times (cell 1, line 1, cell 2, line 2); the last counts."
    ]


@pytest.mark.parametrize(
    "source",
    [
        "%load_ext autoreload\n!ls -l\nx = !pwd\ndef f():\n    return 1\n",
        "\n\n%timeit f()\n\ndef f():\n    return 1",
        "%%time\n\n\n\ndef f():\n    return 1",
        "f?\n?f\n%matplotlib inline\n\ndef f():\n    return 1",
    ],
)
def test_magics_keep_their_lines(write, source):
    submission = read(write("n.ipynb", notebook(source)))
    expected = source.splitlines().index("def f():") + 1
    assert kept(submission, "f") == [("cell_01.py", expected)]


def test_cells_in_another_language_are_left_out(write):
    submission = read(
        write("n.ipynb", notebook("%%bash\ndef f() { ls; }", "def f():\n    return 1"))
    )
    assert kept(submission, "f") == [("cell_02.py", 1)]
    assert not submission.broken


def test_a_broken_cell_is_reported_only_for_its_function(write):
    submission = read(
        write("n.ipynb", notebook("def f():\n    return (", "def g():\n    return 1"))
    )
    assert submission.syntax_error_for("f").startswith("cell 1, line 2: this is not valid Python")
    assert submission.syntax_error_for("g") is None
    assert kept(submission, "g") == [("cell_02.py", 1)]


def test_byte_order_mark_and_crlf(write):
    text = nbformat.writes(notebook("a = 1\r\ndef f():\r\n    return a\r\n"))
    path = write("n.ipynb", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert [line for _, line in kept(read(path), "f")] == [1, 2]
    path = write("s.py", b"\xef\xbb\xbf" + KERNEL.replace("\n", "\r\n").encode())
    assert "vector_add" in read(path).functions()


def test_nbformat_3_is_read(write):
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "language": "python",
                        "input": ["def f():\n", "    return 1"],
                        "outputs": [],
                        "metadata": {},
                    }
                ]
            }
        ],
    }
    assert kept(read(write("n.ipynb", json.dumps(old))), "f") == [("cell_01.py", 1)]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("n.ipynb", "", "the notebook is empty"),
        ("n.ipynb", "not json", "not valid JSON"),
        ("n.ipynb", "[1, 2]", "not a notebook"),
        ("n.ipynb", "{}", "not a notebook"),
        ("n.ipynb", '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": 7}', "not a notebook"),
        ("n.ipynb", "[" * 100_000, "not valid JSON"),
        ("n.ipynb", b"\xff\xfe\x00", "not a text file"),
        ("s.py", b"\x00\x01", "null byte"),
        ("s.txt", "x", "expected a notebook"),
    ],
)  # fmt: skip
def test_unreadable_files_are_one_line(write, name, content, words):
    with pytest.raises(BadInput) as error:
        read(write(name, content))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_notebook_without_code(write):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("text")])
    with pytest.raises(BadInput, match="no code cells"):
        read(write("n.ipynb", nb))


def test_a_missing_file(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read(tmp_path / "none.py")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("-" * 9_000 + "1", "nested too deeply"),
        ("x" + ".y" * 20_000, "nested too deeply"),
        ("0 or " * 30_000 + "0", "more than 100,000 characters"),
        ("'\ud800'", "surrogates not allowed"),
    ],
)
def test_code_that_python_cannot_read_is_a_broken_cell(expression, reason):
    cell = Cell("cell 2", "cell_02.py", f"def f(x):\n    return {expression}\n")
    submission = Submission.from_cells(Path("s.ipynb"), [cell])
    assert submission.functions() == set()
    assert reason in submission.syntax_error_for("f")
