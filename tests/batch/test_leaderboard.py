"""The leaderboard: the best verified measurement of each learner, and nothing else."""

import json
import os

import pytest
import report_samples as samples
from bs4 import BeautifulSoup

from autograder.batch import leaderboard, record
from autograder.batch.leaderboard import best, read
from autograder.batch.record import Record
from autograder.submission import BadInput

PASSED = [("correctness", "passed"), ("memory", "passed"), ("speed", "passed")]


def grading(tflops, checks=PASSED, step="triton_matmul", gpu="NVIDIA H200", **measured):
    """What `grade --json` writes for one step of one submission, as far as it matters here."""
    told = {
        "step": step,
        "passed": True,
        "checks": [{"kind": kind, "status": status} for kind, status in checks],
        "performance": samples.performance(tflops=tflops, gpu=gpu, **measured),
    }
    return {
        "schema": 1,
        "environment": {"device": "cpu (interpreter)"},  # of other steps in the same file
        "submissions": [{"path": "mine.ipynb", "passed": True, "steps": [told]}],
    }


@pytest.fixture
def results(tmp_path):
    """Writes result files of batch; the folder they lie in."""

    def write(student: str, told: dict | None, exercise: str = "06_triton_matmul"):
        about = {"file": "x", "state": "graded", "basis": {}, "max_points": 24.0}
        path = record.path_of(tmp_path / "results", student, exercise)
        record.save(path, Record(student, exercise, **about, grading=told))
        return tmp_path / "results"

    return write


def board(*paths, step="triton_matmul", gpu="NVIDIA H200"):
    return [(e.who, e.speed) for e in best(read(paths)).get((step, gpu), [])]


def test_each_learner_has_the_best_of_theirs_and_the_fastest_is_first(results, tmp_path):
    results("anna", grading(300.0))
    results("ben", grading(500.0))
    folder = results("anna", grading(450.0), "14_persistent_matmul")
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(grading(400.0)))
    assert board(folder) == [("ben", 500.0), ("anna", 450.0)]
    assert board(folder, mine) == [("ben", 500.0), ("anna", 450.0), ("mine.ipynb", 400.0)]


@pytest.mark.parametrize(
    "checks",
    [
        [("correctness", "failed"), ("speed", "passed")],
        [("correctness", "passed"), ("memory", "crashed"), ("speed", "passed")],
        [("correctness", "passed"), ("integrity", "refused"), ("speed", "passed")],
        [("correctness", "passed"), ("speed", "refused")],
        [("correctness", "passed"), ("speed", "not_measured")],
        [("correctness", "passed"), ("speed", "passed"), ("speed", "refused")],
        [("correctness", "not_measured"), ("speed", "passed")],
        [("correctness", "passed")],
        [("speed", "passed")],
        [],
    ],
)
def test_what_is_not_verified_does_not_count(results, checks):
    results("anna", grading(900.0, checks))
    assert board(results("ben", grading(100.0))) == [("ben", 100.0)]


def test_a_right_kernel_below_the_threshold_counts(results):
    checks = [("correctness", "passed"), ("speed", "failed")]
    assert board(results("anna", grading(80.0, checks))) == [("anna", 80.0)]


@pytest.mark.parametrize("tflops", [float("nan"), float("inf"), -1.0, 0, "fast", None, True])
def test_a_number_that_is_none_does_not_count(results, tflops):
    assert board(results("anna", grading(tflops))) == []


def test_steps_and_gpu_models_have_boards_of_their_own_in_the_order_of_the_course(results):
    results("anna", grading(60.0, gpu="Tesla T4", step="softmax"), "05_softmax")
    results("ben", grading(50.0, gpu="NVIDIA H200"))
    folder = results("cleo", grading(30.0, gpu="NVIDIA A100"))
    assert list(best(read((folder,)))) == [
        ("softmax", "Tesla T4"),
        ("triton_matmul", "NVIDIA A100"),
        ("triton_matmul", "NVIDIA H200"),
    ]


def test_the_page_shows_places_and_shares(results):
    results("anna", grading(300.0, ratio=0.4561))
    folder = results("<b>ben", grading(512.34, ratio=0.857))
    soup = BeautifulSoup(leaderboard.page(best(read((folder,)))), "html.parser")
    assert soup.h2.get_text() == "triton_matmul on NVIDIA H200"
    cells = [[c.get_text() for c in row.find_all("td")] for row in soup.tbody.find_all("tr")]
    shape = "4096×8192×4096"
    assert cells[0] == ["1", "<b>ben", "512 TFLOPS", "0.86", shape, "float16"]
    assert cells[1] == ["2", "anna", "300 TFLOPS", "0.46", shape, "float16"]
    assert not soup.find_all(["script", "b"])


def test_a_step_that_moves_bytes_is_ranked_by_gb_s(results):
    moving = {k: v for k, v in samples.MOVING.items() if k not in ("tflops", "gb_s")}
    for who, gb_s in (("anna", 2900.0), ("ben", 3100.0)):
        folder = results(
            who, grading(0.0, step="transpose", gb_s=gb_s, **moving), "04_first_kernels"
        )
    assert board(folder, step="transpose") == [("ben", 3100.0), ("anna", 2900.0)]
    assert "3,100 GB/s" in leaderboard.page(best(read((folder,))))


def test_without_a_gpu_the_page_says_so(results):
    folder = results("anna", None)
    assert "Speed needs a GPU." in leaderboard.page(best(read((folder,))))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"submissions": 3}', '{"student": "x"}', "[[[["])
def test_a_file_that_is_no_result_is_refused_and_left_out_of_a_folder(results, text):
    folder = results("anna", grading(100.0))
    other = folder / "other.json"
    other.write_text(text)
    assert board(folder) == [("anna", 100.0)]
    with pytest.raises(BadInput, match="not a result file"):
        read((other,))


def test_the_command_writes_the_page_or_says_why_not(autograder, results, tmp_path):
    folder = results("anna", grading(100.0))
    written = tmp_path / "board.html"
    done = autograder("leaderboard", folder, "--html", written)
    assert (done.code, done.err) == (0, "")
    assert "triton_matmul" in written.read_text()
    (tmp_path / "empty").mkdir()
    for arguments, words in (
        ([tmp_path / "nowhere", "--html", written], "no such file"),
        ([tmp_path / "empty", "--html", written], "no result file in it"),
        ([folder, "--html", tmp_path / "no" / "x.html"], "does not exist"),
        ([folder], "Missing option '--html'"),
    ):
        done = autograder("leaderboard", *arguments)
        assert done.code == 2 and words in " ".join(done.err.split())
        assert "Traceback" not in done.err


@pytest.mark.parametrize("given", ["file", "folder"])
def test_a_result_is_never_replaced_by_the_page(autograder, results, given):
    folder = results("anna", grading(100.0))
    path = folder / "anna" / "06_triton_matmul.json"
    before = path.read_bytes()
    done = autograder("leaderboard", path if given == "file" else folder, "--html", path)
    assert done.code == 2
    assert done.err == f"autograder: --html {path}: this file is read; name another one\n"
    assert path.read_bytes() == before


def test_a_pipe_in_the_place_of_a_result_is_not_waited_for(results, tmp_path):
    folder = results("anna", grading(100.0))
    os.mkfifo(folder / "pipe.json")
    assert board(folder) == [("anna", 100.0)]
    with pytest.raises(BadInput) as error:
        read((folder / "pipe.json",))
    assert str(error.value) == f"{folder / 'pipe.json'}: not an ordinary file"
