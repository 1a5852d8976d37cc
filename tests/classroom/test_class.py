"""A class of bad hand-ins and hijacks, graded by nbgrader's own commands from end to end."""

import csv
import html
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import chdir, contextmanager

import nbformat
import pytest
from hand_ins import ALL, CASES, NO_SCORE, NONE, PART
from nbgrader.api import Gradebook
from school import ABSENT, LOST, NAMES, nbgrader

# The school is graded once for all of these, in about half a minute.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning"),  # nbgrader's own
]


@contextmanager
def gradebook(school):
    with Gradebook(f"sqlite:///{school.root}/gradebook.db") as book:
        yield book


def case_of(school, name: str):
    """Student and assignment of the case with that name."""
    return next(who for who, case in school.cases.items() if case.name == name)


def exported(school, exporter: str, target: str, *arguments: str):
    with chdir(school.root):
        nbgrader("Export", f"--exporter={exporter}", f"--to={target}", *arguments)
    return school.root / target


def table(path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- the marks --------------------------------------------------------------------------------


def test_the_school_holds_the_bad_hand_ins_and_the_hijacks():
    cases = [case for hand_ins in CASES.values() for case in hand_ins]
    assert len({case.name for case in cases}) == len(cases) >= 12 * 3
    assert sum(case.hijack for case in cases) == 10
    assert sum(not case.hijack and case.name != "honest" for case in cases) >= 33


def test_every_hand_in_gets_the_mark_that_it_has_earned(school, sandbox):
    wrong = []
    layers = sandbox.layers()
    with gradebook(school) as book:
        for (student, assignment), case in school.cases.items():
            if case.needs and not layers[case.needs].on:
                continue  # `autograder doctor` says that this machine cannot hold it off
            submission = book.find_submission(assignment, student)
            grades = [g for notebook in submission.notebooks for g in notebook.grades]
            assert len(grades) == 1, case.name
            grade = grades[0]
            assert grade.manual_score is None, case.name
            right = {
                ALL: grade.auto_score == grade.max_score,
                PART: grade.auto_score is not None and 0 < grade.auto_score < grade.max_score,
                NONE: grade.auto_score == 0,
                NO_SCORE: grade.auto_score is None and grade.needs_manual_grade,
            }
            if not right[case.worth]:
                wrong.append((case.name, case.worth, grade.auto_score))
    assert not wrong


def test_points_are_the_release_s(school):
    with gradebook(school) as book:
        points = {a.name: a.max_score for a in book.assignments}
    assert points == {"01_memory_hierarchy": 3, "04_first_kernels": 4, "05_softmax": 5}


def test_every_hand_in_has_feedback_that_tells_its_mark(school):
    for (student, assignment), case in school.cases.items():
        page = school.notebook("feedback", student, assignment, "html").read_text(encoding="utf-8")
        assert case.note in re.sub("</?code>", "`", html.unescape(page)), case.name
        assert "<script>alert(1)" not in page, case.name
        assert "<script><script>" not in page, case.name


def test_the_instructor_is_told_what_was_unusual(school):
    for (student, _), case in school.cases.items():
        told = [line for line in school.log.splitlines() if f"WARNING] {student}, " in line]
        assert not case.note or any(case.note in line for line in told), case.name
    assert "Traceback" not in school.log


def test_an_autograded_notebook_is_the_release_with_the_answer(school):
    """No metadata, output or cell of a hand-in is left but the code that was graded."""
    for (student, assignment), case in school.cases.items():
        path = school.notebook("autograded", student, assignment)
        graded = nbformat.read(path, as_version=4)
        given = nbformat.read(school.notebook("release", ".", assignment), as_version=4)
        marked = [c.metadata.nbgrader for c in graded.cells if "nbgrader" in c.metadata]
        assert marked == [c.metadata.nbgrader for c in given.cells if "nbgrader" in c.metadata]
        assert set(graded.metadata) == {*given.metadata, "autograder"}, case.name
        ids = [cell.id for cell in given.cells]
        assert [cell.id for cell in graded.cells if cell.id in ids] == ids, case.name
        for cell in graded.cells:
            if cell.cell_type == "code" and not cell.metadata.get("nbgrader", {}).get("grade"):
                assert cell.outputs == [], case.name


# --- exports ----------------------------------------------------------------------------------


def test_csv_tells_not_submitted_crashed_and_zero_apart(school):
    rows = table(exported(school, "autograder.classroom.exports.CsvExport", "grades.csv"))
    found = {(row["student_id"].removeprefix("'"), row["assignment"]): row for row in rows}
    assert len(rows) == len(found) == (len(NAMES) + 2) * len(CASES)
    for who, case in school.cases.items():
        row = found[who]
        assert row["status"] == case.status, case.name
        assert case.note in row["notes"], case.name
        assert (row["score"] == "") == (case.worth == NO_SCORE), case.name
    absent = found[ABSENT, "04_first_kernels"]
    zero = found[case_of(school, "deleted answer")]
    crashed = found[case_of(school, "os._exit")]
    broken = found[case_of(school, "broken JSON")]
    told = [(row["status"], row["score"]) for row in (absent, found[LOST], zero, crashed, broken)]
    assert told == [
        ("not submitted", ""),
        ("not graded", ""),
        ("graded", "0.0"),
        ("crashed", "0.0"),
        ("no score", ""),
    ]
    assert "no notebook at the top of the folder" in found[LOST]["notes"]


def test_no_cell_of_the_csv_is_a_formula(school):
    path = exported(school, "autograder.classroom.exports.CsvExport", "grades.csv")
    cells = [cell for row in table(path) for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert {"'=ben", "'-1", "'+cem", "'@dora", "李明", "'=1+1, Zoë", "'@SUM(1+1)"} <= set(cells)


def test_gradescope_gets_a_file_for_each_hand_in(school):
    folder = exported(school, "autograder.classroom.gradescope.GradescopeExport", "gradescope")
    for (student, assignment), case in school.cases.items():
        result = json.loads((folder / assignment / student / "results.json").read_text())
        assert f"Status: {case.status}." in result["output"], case.name
        if case.worth == NO_SCORE:  # Gradescope reports a failed autograder
            assert "score" not in result and "tests" not in result
        else:
            assert result["score"] == sum(test["score"] for test in result["tests"]), case.name
            assert all(test["output"] for test in result["tests"]), case.name
    assert not list(folder.glob(f"*/{ABSENT}"))


CANVAS = """\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Chapter 1 (11),04_first_kernels (12),Essay (13)
,,,,,Manual Posting,,
    Points Possible,,,,,3.00,8.00,10.00
"Ng, Anna",101,u1,anna,A,,,9
"=Cmd, Ben",102,=ben,x2,A,,1,8
"Exit, Six",103,u3,student06,A,,2.5,7
"Li, Ming",104,u4,李明,A,0,,6
"Late, Zoë",105,u5,zoe,A,,,5
"Test, Student",106,,,,,,
"""


def test_canvas_import_is_the_instructor_s_export_filled_in(school, caplog):
    (school.root / "canvas.csv").write_text(CANVAS, encoding="utf-8")
    path = exported(
        school,
        "autograder.classroom.canvas.CanvasExport",
        "import.csv",
        "--CanvasExport.gradebook=canvas.csv",
        "--CanvasExport.columns=01_memory_hierarchy=Chapter 1",
    )
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    assert rows == [
        [
            "Student",
            "ID",
            "SIS User ID",
            "SIS Login ID",
            "Section",
            "Chapter 1 (11)",
            "04_first_kernels (12)",
        ],
        ["", "", "", "", "", "Manual Posting", ""],
        ["    Points Possible", "", "", "", "", "3.00", "8.00"],
        ["Ng, Anna", "101", "u1", "anna", "A", "3", "4"],
        ["'=Cmd, Ben", "102", "'=ben", "x2", "A", "3", "4"],
        ["Exit, Six", "103", "u3", "student06", "A", "", "0.4"],  # broken JSON: no score
        ["Li, Ming", "104", "u4", "李明", "A", "3", "1.8"],
        ["Late, Zoë", "105", "u5", "zoe", "A", "", ""],  # not submitted: as it was
        ["Test, Student", "106", "", "", "", "", ""],
    ]
    notes = {(r["student_id"], r["assignment"]): r for r in table(school.root / "import.notes.csv")}
    assert notes["student06", "01_memory_hierarchy"]["status"] == "no score"
    assert notes["zoe", "04_first_kernels"]["status"] == "not submitted"
    assert "no such student" in notes["student09", "04_first_kernels"]["notes"]
    assert ("anna", "01_memory_hierarchy") not in notes
    assert notes["106", "01_memory_hierarchy"]["status"] == "not submitted"  # only Canvas knows it


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read"),
        ("name,score\nanna,1\n", "not a Canvas export"),
        ("Student,ID,Essay (13)\nanna,1,2\n", "no column is named like an assignment"),
    ],
)
def test_an_unusable_canvas_export_is_one_line(school, capfd, content, sentence):
    path = school.root / "unusable.csv"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit) as ended:
        exported(
            school,
            "autograder.classroom.canvas.CanvasExport",
            "never.csv",
            "--CanvasExport.gradebook=unusable.csv",
        )
    assert ended.value.code == 2
    assert sentence in capfd.readouterr().err
    assert not (school.root / "never.csv").exists()


def test_the_instructor_s_own_export_is_not_overwritten(school, capfd):
    path = school.root / "own.csv"
    path.write_text(CANVAS, encoding="utf-8")
    exporter = "autograder.classroom.canvas.CanvasExport"
    with pytest.raises(SystemExit) as ended:
        exported(school, exporter, "own.csv", "--CanvasExport.gradebook=own.csv")
    assert ended.value.code == 2
    assert "give the import another name" in capfd.readouterr().err
    assert path.read_text(encoding="utf-8") == CANVAS


# --- what an instructor does next -------------------------------------------------------------


def test_a_manual_score_survives_grading_again_and_counts(school):
    student, assignment = case_of(school, "broken JSON")
    with gradebook(school) as book:
        grade = book.find_submission(assignment, student).notebooks[0].grades[0]
        grade.manual_score = 2.0
        book.db.commit()
    with chdir(school.root):
        nbgrader("Autograde", assignment, f"--student={student}", "--force")
    rows = table(exported(school, "autograder.classroom.exports.CsvExport", "grades.csv"))
    row = next(r for r in rows if (r["student_id"], r["assignment"]) == (student, assignment))
    assert (row["status"], row["score"]) == ("graded", "2.0")
    with gradebook(school) as book:  # as it was, for the other tests
        book.find_submission(assignment, student).notebooks[0].grades[0].manual_score = None
        book.db.commit()


# --- in a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def formgrader(school, tmp_path_factory):
    """The address of a Jupyter server in the course's folder, with nbgrader's extension on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    home = tmp_path_factory.mktemp("home")
    extensions = {"nbgrader.server_extensions.formgrader": True}
    command = [sys.executable, "-m", "jupyter_server", f"--port={port}", "--ServerApp.token="]
    command += ["--allow-root", "--no-browser", f"--ServerApp.jpserver_extensions={extensions}"]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    with (
        (home / "log").open("w") as log,
        subprocess.Popen(
            command, cwd=school.root, env=environment, stdout=log, stderr=log
        ) as server,
    ):
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{address}/api", timeout=5).close()
                    break
                except OSError:
                    assert server.poll() is None, (home / "log").read_text()
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()


def test_the_formgrader_shows_the_class(formgrader, school, chromium):
    page = chromium.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{formgrader}/formgrader/manage_submissions/04_first_kernels")
    page.wait_for_selector("text=李明")
    text = page.inner_text("body")
    assert all(name in text for name in NAMES)
    page.goto(f"{formgrader}/formgrader/gradebook/05_softmax/softmax")
    page.wait_for_selector("text=Submission #1")
    assert len(set(re.findall(r"Submission #\d+", page.inner_text("body")))) == len(NAMES)
    assert not problems
    page.close()


def test_the_formgrader_shows_the_report_of_a_hand_in(formgrader, school, chromium):
    student, assignment = case_of(school, "maximum from zero")
    with gradebook(school) as book:
        notebook = book.find_submission(assignment, student).notebooks[0].id
    page = chromium.new_page()
    page.goto(f"{formgrader}/formgrader/submissions/{notebook}/")
    page.wait_for_selector("text=Hint.")
    page.close()


def test_the_feedback_of_a_wrong_kernel_has_hint_and_picture(school, chromium):
    who = case_of(school, "store not masked")
    page = chromium.new_page()
    page.route("**", lambda r: r.continue_() if r.request.url.startswith("file:") else r.abort())
    page.goto(school.notebook("feedback", *who, "html").as_uri())
    hint = page.locator("summary", has_text="Hint. What was seen")
    assert hint.is_visible()
    assert hint.evaluate("e => getComputedStyle(e).display") == "list-item"  # has its triangle
    who = case_of(school, "maximum from zero")
    page.goto(school.notebook("feedback", *who, "html").as_uri())
    picture = page.locator("figure svg[role=img]")
    assert picture.is_visible()
    assert picture.bounding_box()["width"] > 20
    assert "squares hold wrong elements" in picture.get_attribute("aria-label")
    page.close()
