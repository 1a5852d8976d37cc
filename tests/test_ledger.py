"""The claims ledger and the index of questions: complete, and every link leads somewhere."""

import ast
import re
import tomllib

import pytest

from autograder import course

BOOK = course.ROOT / "book"
TESTS = course.ROOT / "tests" / "claims"
VERDICTS = {"right", "imprecise", "wrong", "unsupported", "opinion"}


def _data(name: str) -> list[dict]:
    return next(iter(tomllib.loads((BOOK / "data" / f"{name}.toml").read_text()).values()))


CLAIMS, QUESTIONS = _data("claims"), _data("questions")


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """ "test_counts.py::test_…" for every test of the claims."""
    return {
        f"{path.name}::{node.name}"
        for path in TESTS.glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.fixture(scope="module")
def labels() -> dict[str, list[str]]:
    """Every label of the chapters, with the pages that define it."""
    found = {}
    for page in BOOK.glob("[0-9][0-9]_*.md"):
        for label in re.findall(r"^\(([\w-]+)\)=$", page.read_text(), re.MULTILINE):
            found.setdefault(label, []).append(page.stem)
    return found


def test_both_texts_are_complete():
    numbers = {kind: [c["id"] for c in CLAIMS if c["id"][0] == kind] for kind in "abc"}
    assert numbers["a"] == [f"a{n}" for n in range(1, 71)]
    assert numbers["b"] == [f"b{n}" for n in range(1, 28)]
    assert numbers["c"] == [f"c{n}" for n in range(1, len(numbers["c"]) + 1)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c["id"])
def test_every_claim_has_a_verdict_and_a_test_or_a_reason(claim, tests):
    assert claim["verdict"] in VERDICTS
    assert claim["says"].endswith((".", "?")) and claim["because"].endswith((".", "?"))
    assert ("test" in claim) != ("untested" in claim)
    assert claim.get("test") in tests or claim["untested"].endswith(".")


def test_a_claim_of_a_chapter_stands_there(labels):
    for label, pages in labels.items():
        if label.startswith("claim-") and label.removeprefix("claim-") in {c["id"] for c in CLAIMS}:
            claim = next(c for c in CLAIMS if f"claim-{c['id']}" == label)
            assert [int(page[:2]) for page in pages] == [claim["chapter"]], label


def test_no_question_is_missing():
    assert [q["number"] for q in QUESTIONS] == list(range(1, 68))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: str(q["number"]))
def test_a_written_chapter_answers_its_questions(question, labels):
    pages = labels.get(f"q-{question['number']}", [])
    assert len(pages) <= 1
    if list(BOOK.glob(f"{question['chapter']:02d}_*.md")):
        assert pages, question["asks"]
