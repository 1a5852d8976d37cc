"""The grader against every submission of the corpora: right, wrong, dishonest, hostile and
cheating at the clock."""

import pytest
from corpus_files import entries, grade, left_behind, verdict, why_not_here
from seeds import SEED

NAMED_RIGHTLY = 0.9  # share of the wrong kernels whose cause must be told


@pytest.fixture
def judged(sandbox):
    """Grades a corpus file and holds it against its header: entry → result, verdict."""

    def judge(entry):
        reason = why_not_here(entry, sandbox)
        if reason:
            pytest.skip(reason)
        result = grade(entry, sandbox, SEED)
        return result, verdict(entry, result)

    return judge


@pytest.mark.parametrize("entry", entries("honest"), ids=lambda e: e.name)
def test_honest_variants_pass(entry, judged):
    result, found = judged(entry)
    assert found.expected, [(c.name, c.message) for c in result.failed]
    assert result.points == result.max_points
    assert result.hint is None


@pytest.mark.parametrize("entry", entries("wrong"), ids=lambda e: e.name)
def test_wrong_kernels_are_refused_and_told_why(entry, judged):
    result, found = judged(entry)
    assert found.expected, (found.status, entry.expect)
    assert result.points < result.max_points
    assert all(c.message for c in result.failed)
    if entry.told:
        assert found.cause == entry.told, "the header says what is told in place of the cause"
    else:
        assert found.named, (found.cause, entry.causes)


def test_few_wrong_kernels_are_told_another_cause():
    wrong = entries("wrong")
    misnamed = [entry.name for entry in wrong if entry.told]
    assert len(misnamed) <= (1 - NAMED_RIGHTLY) * len(wrong), misnamed


@pytest.mark.parametrize("entry", entries("dishonest"), ids=lambda e: e.name)
def test_dishonest_submissions_are_refused(entry, judged):
    result, found = judged(entry)
    assert not result.passed
    assert found.expected, [(c.status, c.message) for c in result.checks]
    if found.status == "refused":
        assert result.points == 0


@pytest.mark.parametrize("entry", entries("hostile"), ids=lambda e: e.name)
def test_hostile_submissions_are_contained(entry, judged, sandbox):
    result, found = judged(entry)
    # Some do the work rightly and then misbehave: that may pass, and costs nobody else anything.
    assert found.expected, [(c.status, c.message) for c in result.checks]
    assert not any("Traceback" in c.message for c in result.checks)
    assert left_behind(sandbox) == []


@pytest.mark.parametrize("entry", entries("clock"), ids=lambda e: e.name)
def test_cheats_at_the_clock_are_right_where_no_clock_runs(entry, judged, sandbox):
    """Else another check than that of speed might be what refuses them on a GPU."""
    result, found = judged(entry)
    assert found.expected, [(c.status, c.message) for c in result.failed]
    assert left_behind(sandbox) == []


def test_the_grader_works_after_all_that(judged):
    _, found = judged(entries("honest")[0])
    assert found.expected
