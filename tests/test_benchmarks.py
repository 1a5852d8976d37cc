"""The programs that count verdicts: what they count, and that an interrupted run goes on."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from corpus_files import CORPUS

from autograder import course, grading
from autograder.submission import Cell, Submission, read
from autograder.targets import TARGETS

sys.path.insert(0, str(course.ROOT / "benchmarks"))
import corpus_league
import corpus_run
import false_refusals
import naive_grader
import resumable
import triton_versions


def judged(corpus, name, status, expected=True, named=True, kinds=("correctness",), step="softmax"):
    return {
        "file": f"{step}/{corpus}/{name}",
        "step": step,
        "corpus": corpus,
        "status": status,
        "cause": "",
        "kinds": [] if status == "passed" else list(kinds),
        "expected": expected,
        "named": named,
    }


VERDICTS = [
    judged("wrong", "killed", "failed"),
    judged("wrong", "killed_unnamed", "failed", named=False),
    judged("wrong", "killed_otherwise", "crashed", expected=False),
    judged("wrong", "survivor", "passed", expected=False),
    judged("wrong", "only_the_guards", "failed", kinds=["memory"], step="transpose"),
    judged("honest", "accepted", "passed"),
    judged("honest", "turned_away", "failed", expected=False),
    judged("dishonest", "refused", "refused"),
    judged("dishonest", "got_through", "passed", expected=False),
    judged("hostile", "contained", "crashed"),
    judged("hostile", "left_a_process", "timed_out", expected=False),
]
NAIVE = {
    "softmax/wrong/killed": False,
    "softmax/wrong/survivor": True,
    "softmax/honest/accepted": True,
    "softmax/honest/turned_away": False,
    "softmax/dishonest/refused": True,
}


def test_the_league_counts_what_each_grader_judged_rightly():
    softmax, transpose = corpus_league.table(VERDICTS, NAIVE)
    assert softmax == {
        "step": "softmax",
        "wrong": {"files": 4, "right": 3, "named": 2, "naive_files": 2, "naive_right": 1},
        "honest": {"files": 2, "right": 1, "naive_files": 2, "naive_right": 1},
        "dishonest": {"files": 2, "right": 1, "naive_files": 1, "naive_right": 0},
        "hostile": {"files": 2, "right": 1},
    }
    assert transpose == {"step": "transpose", "wrong": {"files": 1, "right": 1, "named": 1}}
    sums = corpus_league.total([softmax, transpose])
    assert sums["wrong"]["files"] == 5
    assert sums["wrong"]["naive_files"] == 2


def test_the_league_says_which_kind_of_check_saw_a_wrong_kernel():
    assert corpus_league.seen_by(VERDICTS) == {"correctness": 3, "": 1, "memory": 1}


def test_what_was_not_as_asked_is_listed_and_so_is_a_wrong_name():
    names = [v["file"].rpartition("/")[2] for v in corpus_run.other_than_asked(VERDICTS)]
    assert names == [
        "killed_otherwise", "survivor", "turned_away", "got_through", "left_a_process",
    ]  # fmt: skip
    assert [v["file"] for v in corpus_run.misnamed(VERDICTS)] == ["softmax/wrong/killed_unnamed"]


def test_a_journal_survives_a_run_that_was_killed_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = resumable.Journal(path)
    journal.add("a-1", found=1)
    journal.add("a-2", found=2)
    whole = path.read_text()
    path.write_text(whole[:-5])
    again = resumable.Journal(path)
    assert again.get("a-1")["found"] == 1
    assert again.get("a-2") is None
    again.add("a-2", found=3)
    assert [entry["found"] for entry in resumable.Journal(path).of("a-")] == [1, 3]


def test_a_run_ends_quietly_when_it_is_told_to_and_goes_on_later(capsys):
    reached = []
    with resumable.bar("work", 2) as done:
        done("first")
        reached.append(1)
        signal.raise_signal(signal.SIGTERM)
        reached.append(2)
    assert reached == [1]
    assert "interrupted" in capsys.readouterr().err


def test_only_what_decides_about_a_step_makes_it_run_again(monkeypatch):
    softmax, transpose = course.find_step("softmax"), course.find_step("transpose")
    path_of = resumable._path

    def changed(module):
        """The hashes of the two steps as if a module had other text."""
        empty = course.ROOT / "autograder" / "worker" / "__init__.py"
        monkeypatch.setattr(resumable, "_path", lambda m: empty if m == module else path_of(m))
        without = resumable.AFTER_THE_VERDICT
        return [resumable.engine.__wrapped__(step, without) for step in (softmax, transpose)]

    now = changed("")
    assert changed("autograder.report.html") == now
    assert changed("autograder.diagnosis") == now
    both = changed("autograder.worker.address_check")
    assert both[0] != now[0] and both[1] != now[1]
    rows = changed("autograder.steps.rows")
    assert rows[0] != now[0] and rows[1] == now[1]


@pytest.fixture
def count(tmp_path, sandbox):
    """Counts false refusals of vector_add up to a seed, as a new run does each time it is called."""

    def run(seeds):
        step = course.find_step("vector_add")
        journal = resumable.Journal(tmp_path / "journal.jsonl")
        false_refusals.grade([step], range(1, seeds + 1), journal, sandbox)
        return false_refusals.rows((step,), journal)[0]

    return run


def test_a_seed_is_graded_once(count, monkeypatch):
    graded = []
    usual = grading.grade_step

    def grade_step(submission, step, sandbox, settings, progress):
        graded.append(settings.seed)
        return usual(submission, step, sandbox, settings, progress)

    monkeypatch.setattr(grading, "grade_step", grade_step)
    assert count(2)["seeds"] == 2
    row = count(3)
    assert graded == [1, 2, 3]
    assert (row["seeds"], row["refused"], row["refusals"]) == (3, 0, [])


def test_a_refused_solution_is_counted_with_its_seed_and_message(count, monkeypatch):
    wrong = read(CORPUS / "vector_add" / "wrong" / "store_mask_missing.py")
    monkeypatch.setattr(false_refusals, "solution", lambda step: wrong)
    row = count(1)
    assert row["refused"] == 1
    assert row["refusals"][0]["seed"] == 1
    assert "ragged N" in row["refusals"][0]["checks"][0]


def test_another_solution_is_graded_anew_but_not_for_a_comment(count, monkeypatch):
    assert count(1)["seeds"] == 1
    source = false_refusals.solution(course.find_step("vector_add")).cells[0].source

    def hand_in(text):
        changed = Submission.from_cells(Path("solution.py"), [Cell("", "solution.py", text)])
        monkeypatch.setattr(false_refusals, "solution", lambda step: changed)

    hand_in("# a comment\n" + source)
    assert count(0)["seeds"] == 1
    hand_in(source.replace("def vector_add(x, y):", "def vector_add(x, y, unused=0):"))
    assert count(0)["seeds"] == 0


def test_the_compiler_is_asked_once_for_each_description(monkeypatch):
    asked = []
    compiled = false_refusals.compile_once(lambda *arguments: asked.append(arguments) or len(asked))
    step = course.find_step("vector_add")
    submission = false_refusals.solution(step)
    one, other = (grading.battery(step, seed)[0] for seed in (1, 2))
    longer = grading.battery(step, 1)[1]
    sm_80, sm_90 = TARGETS["sm_80"], TARGETS["sm_90"]
    assert compiled(submission, step.name, one, sm_80, None) == 1
    assert compiled(submission, step.name, other, sm_80, None) == 1  # other values, same shapes
    assert compiled(submission, step.name, one, sm_90, None) == 2
    assert compiled(submission, step.name, longer, sm_80, None) == 3


def test_versions_are_compared_by_status_and_cause_where_both_judged_a_file():
    runs = [
        {"triton": "3.6.0", "verdicts": {"a": "passed", "b": "failed grid_floor", "c": "passed"}},
        {"triton": "3.9.0", "verdicts": {"a": "passed", "b": "failed wrong_values"}},
    ]
    assert triton_versions.differences(runs) == [
        {"file": "b", "verdicts": {"3.6.0": "failed grid_floor", "3.9.0": "failed wrong_values"}}
    ]


def test_the_naive_test_sees_only_values_and_only_its_one_shape():
    def accepted(names):
        asked = [
            {"step": n.partition("/")[0], "path": str(CORPUS / f"{n}.py"), "seed": 1} for n in names
        ]
        lines = "".join(json.dumps(line) + "\n" for line in asked)
        command = [sys.executable, naive_grader.__file__]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return dict(zip(names, map(json.loads, done.stdout.splitlines()), strict=True))

    assert accepted(
        [
            "vector_add/honest/plain",
            "vector_add/dishonest/plus_operator",
            "vector_add/wrong/store_mask_missing",
            "vector_add/wrong/output_not_written",
        ]
    ) == {
        "vector_add/honest/plain": True,
        "vector_add/dishonest/plus_operator": True,
        "vector_add/wrong/store_mask_missing": True,
        "vector_add/wrong/output_not_written": False,
    }


def test_every_step_with_a_naive_test_exists():
    for name in naive_grader.TESTS:
        assert course.find_step(name), name


def test_shards_take_every_piece_once():
    shards = [resumable.shard(f"{i}/3") for i in range(3)]
    pieces = [piece for shard in shards for piece in range(10)[shard]]
    assert sorted(pieces) == list(range(10))
    for text in ("3/3", "-1/3", "1", "a/b"):
        with pytest.raises(ValueError):
            resumable.shard(text)
