"""The state of a submission: what a mark of zero would mix up."""

import pytest
import report_samples as samples

from autograder.batch import record
from autograder.result import Check, Grading, StepResult, SubmissionResult

ABOUT = {"student": "anna", "exercise": "x", "file": "f", "basis": {}, "max_points": 14}


def graded(*steps: StepResult) -> record.Record:
    return record.graded(Grading(1, {}, [SubmissionResult("f", list(steps))]), **ABOUT)


@pytest.mark.parametrize(
    ("steps", "state", "points"),
    [
        ([samples.passing()], "graded", 10.0),
        ([samples.wrong()], "graded", 3.3),
        ([samples.ended("error", "crashed", "it raised")], "graded", 0.0),
        ([samples.ended("crashed", "crashed", "x")], "crashed", 0.0),
        ([samples.passing(), samples.ended("crashed", "crashed", "x")], "crashed", 10.0),
        ([samples.passing(), samples.ended("timed_out", "timed_out", "x")], "timed_out", 10.0),
        (
            [
                samples.ended("refused", "library_call", "x"),
                samples.ended("crashed", "crashed", "x"),
            ],
            "refused",
            0.0,
        ),
    ],
)
def test_the_state_of_what_was_graded(steps, state, points):
    found = graded(*steps)
    assert (found.state, found.points) == (state, points)
    assert [s["step"] for s in found.steps()] == [s.step for s in steps]


def test_a_record_is_read_as_it_was_written(tmp_path):
    nasty = StepResult("vector_add", 4, 0.5, [Check("c", "memory", "failed", samples.HOSTILE)])
    found = graded(nasty)
    record.save(tmp_path / "new" / "x.json", found)
    assert record.load(tmp_path / "new" / "x.json") == found


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"schema": 1}', '{"schema": 2, "state": "graded"}', "[" * 100_000]
)
def test_what_is_no_record_is_none(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    assert record.load(tmp_path / "x.json") is None
    assert record.load(tmp_path / "missing.json") is None
