"""The programs that count verdicts on a GPU: what they make of verdicts, without a GPU."""

import json
import sys
from types import SimpleNamespace

import pytest
from corpus_files import entries

from autograder import course
from autograder.result import Check, StepResult
from autograder.verdict import GPU_FAULTS

sys.path.insert(0, str(course.ROOT / "benchmarks"))
import clock_cheats
import differences
import gpu_corpus
import gpu_solutions
import gpu_tests
import regrades

RECORD = course.ROOT / "book" / "measurements" / "clock_cheats.json"


# --- cheats at the clock ------------------------------------------------------------------------


def test_there_are_many_cheats_at_the_clock_and_none_may_pass():
    cheats = entries("clock")
    assert len(cheats) >= 25
    for entry in cheats:
        assert course.find_step(entry.step).speed, f"{entry.name}: the step has no speed"
        assert entry.timed and "passed" not in entry.timed, entry.name
        assert entry.expect == ("passed",), f"{entry.name}: the cases must find nothing"


@pytest.mark.skipif(not RECORD.exists(), reason="benchmarks/clock_cheats.py has no record yet")
def test_every_cheat_at_the_clock_was_turned_away_as_it_is_now():
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    there = {entry.name: clock_cheats.digest(entry) for entry in entries("clock")}
    assert {row["file"]: row["sha256"] for row in rows} == there
    assert clock_cheats.troubles(rows) == []


def cheat(status, expected=True):
    return {"file": "softmax/clock/x", "status": status, "expected": expected, "message": "so"}


def test_a_cheat_that_passes_is_told_and_one_that_ends_otherwise_than_its_header_says():
    rows = [cheat("refused"), cheat("passed", False), cheat("error", False), cheat("passed")]
    assert clock_cheats.troubles(rows) == [
        "softmax/clock/x got through: so",
        "softmax/clock/x: error, not as its header says: so",
        "softmax/clock/x got through: so",
    ]


# --- the corpora on a GPU -----------------------------------------------------------------------

OUTSIDE = (
    "Out-of-bounds read of `x` (shape (5,)) by program 0: 3 of 8 lanes lie outside the tensor."
)
RACE = "Programs 0 and 1 both write an element of `c`, in an order that a GPU does not promise."
HINT = "The hint `tl.multiple_of(…, 16)` is not true in program 1: the value 8 breaks it."
FAULT = GPU_FAULTS[0][1]
WRONG = "3 of 8 elements are wrong."


def judged(status, cause="", *failed, expected=False, named=True):
    checks = [{"kind": kind, "message": text, "dtype": dtype} for kind, text, dtype in failed]
    for check in checks:
        check |= {"check": "ragged M", "status": status}
    kinds = sorted({check["kind"] for check in checks})
    found = {"status": status, "cause": cause, "kinds": kinds, "failed": checks}
    return found | {"expected": expected, "named": named, "seconds": 1.0}


PASSED = judged("passed")
BY_VALUE = judged("failed", "grid_floor", ("correctness", WRONG, "float16"))


@pytest.mark.parametrize(
    ("gpu", "there", "ieee", "rule"),
    [
        (judged("crashed", "crashed", expected=True), BY_VALUE, False, "allowed"),
        (PASSED, judged("failed", "x", ("memory", OUTSIDE, "float16")), False, "address"),
        (PASSED, judged("failed", "race", ("correctness", WRONG, "float16")), False, "race"),
        (PASSED, judged("failed", "x", ("memory", RACE, "float16")), False, "race"),
        (PASSED, judged("failed", "hint_untrue", ("memory", HINT, "float16")), False, "hint"),
        (
            PASSED,
            judged("failed", "masked_other_wrong", ("correctness", WRONG, "float16")),
            False,
            "masked_lanes",
        ),
        (PASSED, judged("failed", "x", ("correctness", WRONG, "float32")), False, "tf32"),
        (judged("error", "crashed", ("correctness", FAULT, "")), BY_VALUE, False, "fault"),
        (BY_VALUE, judged("timed_out", "timed_out", ("correctness", "", "")), False, "slow"),
        (
            judged("failed", "wrong_values", ("correctness", WRONG, ""), named=False),
            judged("failed", "x", ("correctness", f"{WRONG} {OUTSIDE}", "")),
            False,
            "evidence",
        ),
    ],
)
def test_a_difference_that_a_rule_covers_is_explained_by_it(gpu, there, ieee, rule):
    assert differences.why("wrong", gpu, there, ieee) == rule
    assert differences.WHYS[rule]


@pytest.mark.parametrize(
    ("gpu", "there", "ieee"),
    [
        (PASSED, BY_VALUE, False),  # wrong by value in float16, and nobody saw it on the GPU
        (PASSED, judged("failed", "x", ("correctness", WRONG, "float32")), True),
        (
            PASSED,
            judged("failed", "x", ("memory", OUTSIDE, ""), ("correctness", WRONG, "float16")),
            False,
        ),
        (BY_VALUE, PASSED, False),  # a right kernel turned away on the GPU
        (judged("error", "crashed", ("correctness", FAULT, "")), PASSED, False),
        (judged("error", "crashed", ("correctness", "raised KeyError", "")), BY_VALUE, False),
        (judged("failed", "other_cause", ("correctness", WRONG, ""), named=False), BY_VALUE, False),
    ],
)
def test_what_no_rule_covers_stays_unexplained(gpu, there, ieee):
    assert differences.why("wrong", gpu, there, ieee) == differences.UNEXPLAINED


def test_a_trick_that_needs_the_cpus_memory_is_turned_away_on_a_gpu_in_another_way():
    raised = judged("error", "crashed", ("correctness", "raised TypeError", ""))
    refused = judged("refused", "library_call", ("integrity", "was made by NumPy", ""))
    assert differences.why("dishonest", raised, refused, False) == "host"
    assert differences.why("wrong", raised, refused, False) == differences.UNEXPLAINED
    assert differences.why("dishonest", PASSED, refused, False) == differences.UNEXPLAINED


def known(name, gpu, there=None):
    return {"file": name, "corpus": name.split("/")[1], "gpu": gpu, "there": there}


def test_the_record_counts_what_is_the_same_and_what_differs_why():
    outside = judged("failed", "load_mask_missing", ("memory", OUTSIDE, "float16"))
    rows = [
        gpu_corpus.row(known("softmax/honest/a", PASSED)),
        gpu_corpus.row(
            known("softmax/wrong/new", BY_VALUE, BY_VALUE)
        ),  # in no record, but the same
        gpu_corpus.row(known("softmax/wrong/b", PASSED, outside)),
        gpu_corpus.row(known("softmax/wrong/c", PASSED, BY_VALUE)),
    ]
    assert [row["why"] for row in rows] == ["", "", "address", "unexplained"]
    assert rows[2]["interpreter"] == "failed load_mask_missing" and rows[2]["status"] == "passed"
    assert rows[2]["failed"] == outside["failed"] and rows[0]["failed"] == []
    told = gpu_corpus.summary(rows)
    assert told["same"] == 2 and told["unexplained"] == ["softmax/wrong/c"]
    assert {name: reason["files"] for name, reason in told["explained"].items()} == {
        "address": 1,
        "unexplained": 1,
    }


def test_a_sample_is_a_part_of_the_files_whose_kernels_run_on_a_gpu():
    every, tenth = gpu_corpus.files(1), gpu_corpus.files(10)
    assert {e.name for e in tenth} < {e.name for e in every}
    assert len(every) / 20 < len(tenth) < len(every) / 5
    steps = {e.step for e in every}
    assert "triton_matmul" in steps and not steps & {"group_major", "naive_matmul", "merge"}


def test_verdicts_in_the_interpreter_are_recorded_for_files_that_are_there():
    assert {e.name for e in gpu_corpus.files(1)} & set(gpu_corpus.recorded())


# --- regrades -----------------------------------------------------------------------------------


def grading(status, ratio, message=""):
    return {"status": status, "ratio": ratio, "message": message}


def test_thresholds_lie_15_percent_below_and_above_the_usual_speed():
    found = regrades.thresholds([0.7, 0.1, 0.9])
    assert found == {"15% above": round(0.7 / 1.15, 4), "15% below": round(0.7 / 0.85, 4)}


def test_a_flip_is_a_verdict_that_is_not_due_but_no_noise():
    graded = [
        grading("passed", 0.7),
        grading("not_measured", 0.6, "too noisy"),
        grading("failed", 0.5),
    ]
    above = regrades.row("softmax/x", "15% above", 0.6, graded)
    assert (above["passed"], above["failed"], above["too_noisy"]) == (1, 1, 1)
    assert (above["lowest"], above["highest"]) == (0.5, 0.7)
    assert above["messages"] == ["", "too noisy"]
    assert regrades.flips(above) == 1
    below = regrades.row("softmax/x", "15% below", 0.9, graded)
    assert regrades.flips(below) == 1
    gone = regrades.row("softmax/x", "15% below", 0.9, [grading("timed_out", None)])
    assert (gone["other"], gone["lowest"], regrades.flips(gone)) == (1, None, 1)


def test_one_contest_is_judged_by_every_threshold(monkeypatch):
    contests = []

    def timed(submission, step, sandbox):
        contests.append(step.name)
        return 0.7

    def verdict(submission, step, timing, threshold):
        status = "passed" if timing >= threshold else "failed"
        return Check("speed", "speed", status, f"by {threshold}"), {"ratio": timing}

    monkeypatch.setattr(regrades, "grade", SimpleNamespace(timed=timed, verdict=verdict))
    entry = regrades.kernels()["softmax/one_program_per_row"]
    found = regrades.regrade(entry, {"low": 0.6, "high": 0.8}, None)
    assert contests == ["softmax"]
    assert found == {
        "low": grading("passed", 0.7, "by 0.6"),
        "high": grading("failed", 0.7, "by 0.8"),
    }


def test_a_contest_without_a_time_counts_in_every_series(monkeypatch):
    refused = Check("speed", "speed", "refused", "no kernel of yours")
    stand_in = SimpleNamespace(timed=lambda *_: None, verdict=lambda *_: (refused, None))
    monkeypatch.setattr(regrades, "grade", stand_in)
    entry = regrades.kernels()["transpose/tl_trans"]
    found = regrades.regrade(entry, {"low": 0.6, "high": 0.8}, None)
    told = grading("refused", None, "no kernel of yours")
    assert found == {"low": told, "high": told}


# --- solutions and tests ------------------------------------------------------------------------


def test_a_row_of_a_solution_names_what_did_not_pass():
    checks = [
        Check("whole tiles", "correctness", "passed"),
        Check("int64", "correctness", "not_measured", "no room"),
    ]
    result = StepResult("softmax", 10.0, 1.26, checks, performance={"ratio": 0.9})
    found = gpu_solutions.row(result)
    assert (found["status"], found["checks_passed"], found["points"]) == ("not_measured", 1, 10.0)
    assert found["others"] == [{"check": "int64", "status": "not_measured", "message": "no room"}]
    assert found["performance"] == {"ratio": 0.9}


def test_the_summary_of_the_tests_holds_each_with_its_end(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.test_gpu" name="test_a[x]" time="1.26"/>
        <testcase classname="tests.test_gpu" name="test_b" time="0.1">
        <failure message="assert 1 == 2">long text</failure></testcase>
        </testsuite></testsuites>"""
    )
    first, second = gpu_tests.rows(report)
    assert first == {"test": "tests/test_gpu.py::test_a[x]", "outcome": "passed", "seconds": 1.3}
    assert (second["outcome"], second["why"]) == ("failure", "assert 1 == 2")


def test_the_files_with_tests_for_a_gpu_are_found():
    assert {path.name for path in gpu_tests.files()} == {
        "test_bench.py",
        "test_gpu.py",
        "test_speed.py",
    }
