"""The summary of a class: what it counts, what it shows, and that nothing breaks out of it."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from report_samples import HOSTILE

from autograder.batch import page, plan, record
from autograder.batch.plan import Job, Plan
from autograder.batch.record import Record
from autograder.grading import Settings

EXERCISE = "04_first_kernels"
TWIN = " ".join(["name", "+", "tl", "."] * 20)


def step(name: str, passed: bool, cause: str = "", status: str = "failed") -> dict:
    hint = {"cause": cause} if cause else None
    checks = [{"status": "passed" if passed else status, "message": "still running", "kind": "x"}]
    return {"step": name, "passed": passed, "hint": hint, "checks": checks}


def graded(student: str, points: float, *steps: dict, **more) -> Record:
    grading = {"submissions": [{"steps": list(steps)}]}
    about = {"state": "graded", "basis": {}, "max_points": 20.0, "points": points}
    return Record(student, EXERCISE, f"{student}/x.ipynb", **(about | {"grading": grading} | more))


RIGHT = step("vector_add", True), step("transpose", True)
RECORDS = [
    graded("anna", 20.0, *RIGHT, seconds=2.0, tokens=TWIN),
    graded("ben", 20.0, *RIGHT, seconds=1.0, tokens=TWIN),
    graded("cleo", 4.0, RIGHT[0], step("transpose", False, "strides_swapped"), seconds=9.0),
    graded("dan", 4.0, RIGHT[0], step("transpose", False, "strides_swapped"), seconds=3.0),
    graded("eva", 0.0, step("vector_add", False, "grid_floor"), step("transpose", False)),
    graded("finn", 0.0, step("vector_add", False, "timed_out", "timed_out"), state="timed_out"),
    Record("gus", EXERCISE, "", "not_submitted", {}, 20.0),
    Record("hal", EXERCISE, "hal/x.ipynb", "unreadable", {}, 20.0, "the notebook is empty"),
    Record("ida", EXERCISE, "ida/x.ipynb", "failed", {}, 20.0, "lost"),
]


def text_of(planned: Plan) -> str:
    return page.summary(planned, {job: planned.known(job) for job in planned.jobs})


def summary_of(
    tmp_path: Path, records: list[Record], others: tuple[str, ...] = ()
) -> BeautifulSoup:
    jobs = [Job(r.student, r.exercise, r.file) for r in records]
    jobs += [Job(student, EXERCISE, "x") for student in others]
    planned = Plan(tmp_path / "class", tmp_path / "results", Settings(7), jobs)
    for job, kept in zip(jobs, records):
        kept.basis = planned.basis(job)
        record.save(planned.path_of(job), kept)
    return BeautifulSoup(text_of(planned), "html.parser")


def rows(soup: BeautifulSoup, heading: str) -> list[list[str]]:
    found = soup.find("h2", string=heading).find_next("table").tbody.find_all("tr")
    return [[cell.get_text() for cell in row.find_all("td")] for row in found]


@pytest.fixture
def soup(tmp_path):
    return summary_of(tmp_path, RECORDS, ("jan",))


def test_states_are_counted_and_none_is_zero(soup):
    text = soup.get_text()
    assert (
        "5 graded, 1 did not end, 1 not submitted, 1 cannot be graded, 1 failed in the grader, 1 not graded yet."
        in text
    )
    marks = dict(rows(soup, "All submissions"))
    assert marks["anna"] == "20 of 20" and marks["eva"] == "0 of 20"
    assert marks["finn"] == "0 of 20 did not end"
    assert marks["gus"] == "not submitted" and marks["hal"] == "cannot be graded"
    assert marks["ida"] == "failed in the grader" and marks["jan"] == "not graded yet"


def test_the_step_that_fails_most_is_first_with_its_causes(soup):
    first, second = rows(soup, "Steps that fail most")
    assert first[:3] == ["transpose", EXERCISE, "3 of 5"]
    assert first[4] == "strides_swapped\xa02, no cause named\xa01"
    assert second[:3] == ["vector_add", EXERCISE, "2 of 6"]


def test_the_histogram_counts_every_mark_once(soup):
    [picture] = soup.find_all("svg", attrs={"aria-label": lambda t: t and "Submissions by" in t})
    assert picture["aria-label"].endswith("2 from 0 to 2; 2 from 4 to 6; 2 from 18 to 20")
    assert [t.get_text() for t in picture.find_all("text")][:3] == ["2", "2", "2"]


def test_the_slowest_come_first(soup):
    slow = rows(soup, "Slowest to grade")
    assert [r[0] for r in slow[:3]] == ["cleo", "dan", "anna"] and slow[0][2] == "9.0 s"


def test_what_a_person_should_look_at_is_told(soup):
    assert [(r[0], r[2], r[4]) for r in rows(soup, "To look at")] == [
        ("finn", "did not end", "vector_add: still running"),
        ("hal", "cannot be graded", "the notebook is empty"),
        ("ida", "failed in the grader", "lost"),
    ]


def test_likeness_is_shown_as_advice(soup):
    assert rows(soup, "Submissions that look alike") == [["ben", "anna", "100%"]]
    assert "Advice, not a verdict." in soup.get_text()


def test_a_class_without_a_mark_has_a_page(tmp_path):
    assert "1 not submitted." in summary_of(tmp_path, [RECORDS[6]]).get_text()


def test_nothing_breaks_out_of_the_page_and_nothing_is_loaded(tmp_path):
    nasty = (
        HOSTILE.replace("\0", "").replace("/", "").replace("\ud800", "\udc80")
    )  # as names of files
    records = [
        graded("kim", 1.0, step("vector_add", False, nasty), notes=[nasty]),
        Record("lee", nasty, nasty, "unreadable", {}, 0.0, nasty),
    ]
    soup = summary_of(tmp_path, records)
    assert not soup.find_all(["script", "img", "link", "iframe"])
    assert not [tag for tag in soup.find_all(True) if tag.get("src") or tag.get("href")]
    assert "default-src 'none'" in soup.find("meta", attrs={"http-equiv": True})["content"]
    assert "alert(1)" in soup.get_text()


def test_the_page_opens_in_a_browser_on_a_phone(chromium, tmp_path):
    planned_page = tmp_path / "summary.html"
    planned_page.write_text(str(summary_of(tmp_path, RECORDS, ("jan",))))
    tab = chromium.new_page(viewport={"width": 360, "height": 700})
    trouble = []
    tab.on("console", lambda message: trouble.append(message.text))
    tab.on("request", lambda r: None if r.url.startswith("file:") else trouble.append(r.url))
    tab.goto(planned_page.as_uri())
    assert tab.locator("h2").count() == 6
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert trouble == []
    tab.close()


def test_only_marks_that_hold_are_shown(tmp_path, monkeypatch):
    """A mark of another seed or another grader is not one of this class."""
    summary_of(tmp_path, RECORDS[:1])
    monkeypatch.setattr(plan, "engine", lambda: "a grader of another day")
    jobs = [Job("anna", EXERCISE, "anna/x.ipynb")]
    planned = Plan(tmp_path / "class", tmp_path / "results", Settings(7), jobs)
    assert "1 not graded yet." in text_of(planned)
