"""The grader against every submission of the corpora: right, wrong, dishonest and hostile."""

import time

import pytest
from corpus_files import entries

NAMED_RIGHTLY = 0.9  # share of the wrong kernels whose cause must be told


def _status(result) -> str:
    return "passed" if result.passed else result.status


@pytest.fixture(scope="module")
def named():
    """Which wrong kernels were told their cause, collected for the test at the end."""
    return {}


@pytest.mark.parametrize("entry", entries("honest"), ids=lambda e: e.name)
def test_honest_variants_pass(entry, grade_file):
    result = grade_file(entry.path, entry.step)
    assert result.passed, [(c.name, c.message) for c in result.checks if c.status != "passed"]
    assert result.points == result.max_points
    assert result.hint is None


@pytest.mark.parametrize("entry", entries("wrong"), ids=lambda e: e.name)
def test_wrong_kernels_are_refused(entry, grade_file, named):
    result = grade_file(entry.path, entry.step)
    assert _status(result) in entry.expect
    assert result.points < result.max_points
    failed = [c for c in result.checks if c.status not in ("passed", "not_measured")]
    assert all(c.message for c in failed)
    named[entry.name] = result.hint.cause in entry.causes


def test_wrong_kernels_are_told_why(named):
    if not named:
        pytest.skip("the wrong kernels were not run")
    missed = [name for name, right in named.items() if not right]
    assert len(missed) <= (1 - NAMED_RIGHTLY) * len(named), missed


@pytest.mark.parametrize("entry", entries("dishonest"), ids=lambda e: e.name)
def test_dishonest_submissions_are_refused(entry, grade_file, sandbox):
    _skip_without_its_layers(entry, sandbox)
    result = grade_file(entry.path, entry.step)
    assert not result.passed
    assert _status(result) in entry.expect, [(c.status, c.message) for c in result.checks]
    if _status(result) == "refused":
        assert result.points == 0


@pytest.mark.parametrize("entry", entries("hostile"), ids=lambda e: e.name)
def test_hostile_submissions_are_contained(entry, grade_file, sandbox):
    _skip_without_its_layers(entry, sandbox)
    result = grade_file(entry.path, entry.step)
    # Some do the work rightly and then misbehave: that may pass, and costs nobody else anything.
    assert _status(result) in entry.expect, [(c.status, c.message) for c in result.checks]
    assert not any("Traceback" in c.message for c in result.checks)
    _assert_nothing_left(sandbox)


def _skip_without_its_layers(entry, sandbox):
    layers = sandbox.layers()
    if entry.needs and not any(layers[name].on for name in entry.needs):
        reasons = [f"{name} is off: {layers[name].remark}" for name in entry.needs]
        pytest.skip("nothing here can hinder it: " + "; ".join(reasons))


def _assert_nothing_left(sandbox):
    deadline = time.monotonic() + 3
    while sandbox.leftovers() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sandbox.leftovers() == []


def test_the_grader_works_after_all_that(grade_file):
    entry = entries("honest")[0]
    assert grade_file(entry.path, entry.step).passed
