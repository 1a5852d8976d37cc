"""course.toml: what it may say, what it changes, and one line for what it may not say."""

import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from seeds import SEED

from autograder import authoring, causes, choices, course, course_check, grading
from autograder.submission import BadInput, Cell, Submission, read

WHOLE = """
chapters = [8, 1]

[points]
group_major = 9
least_ms = 2.5

[deadlines]
8 = 2027-02-01T22:59:00Z

[thresholds]
grouped_matmul = 0.6
"""


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """Puts a course.toml in force for this process."""
    monkeypatch.setattr(choices, "FILE", tmp_path / "course.toml")

    def write(text: str) -> choices.Choices:
        choices.FILE.write_text(text, encoding="utf-8")
        return choices.load()

    return write


def submission(*names: str) -> Submission:
    source = "\n".join(f"def {name}(*arguments):\n    return 0" for name in names)
    return Submission.from_cells(Path("mine.py"), [Cell("", "mine.py", source)])


def test_without_the_file_the_course_is_as_it_stands(chosen):
    assert not choices.FILE.exists()
    assert choices.load().steps() == list(course.STEPS)
    assert choices.load().deadlines == {}


def test_every_kind_of_entry(chosen):
    found = chosen(WHOLE)
    assert found.chapters == (1, 8)  # in the order of the course
    assert found.points == {"group_major": 9, "least_ms": 2.5}
    assert found.deadlines == {8: datetime(2027, 2, 1, 22, 59, tzinfo=UTC)}
    assert found.thresholds == {"grouped_matmul": 0.6}
    worth = {step.name: step.points for step in found.steps()}
    as_it_stands = {s.name: s.points for s in course.STEPS if s.chapter in (1, 8)}
    assert worth == as_it_stands | found.points
    assert [s.task for s in found.steps()] == [s.task for s in course.STEPS if s.chapter in (1, 8)]


def test_grading_counts_the_chosen_points_and_nothing_for_a_chapter_left_out(chosen):
    chosen(WHOLE)
    everything = submission("group_major", "softmax", "wave_strips")
    steps = {step.name: step.points for step in grading.steps_of(everything)}
    assert steps == {"softmax": 0, "group_major": 9, "wave_strips": 5}
    [named] = grading.steps_of(everything, ("group_major",))
    assert named.points == 9


def test_the_points_reach_the_report_and_the_released_notebook(chosen, sandbox):
    chosen(WHOLE)
    right = read(course.ROOT / "solutions" / "01_memory_hierarchy.py")
    steps = grading.steps_of(right, ("least_ms",))
    result = grading.grade_submission(right, steps, sandbox, grading.Settings(SEED))
    assert [(s.points, s.max_points) for s in result.steps] == [(2.5, 2.5)]
    notebook = authoring.exercise(course.ROOT / "solutions" / "01_memory_hierarchy.py")
    points = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    assert points["least_ms-check"] == 2.5 and points["matmul_intensity-check"] == 3
    assert "| a time that no kernel beats | 2.5 |\n" in notebook.cells[0].source + "\n"
    assert "| the roofline | 3 |\n" in notebook.cells[0].source


REFUSED = {
    "no TOML": ("chapters = [", "course.toml: not valid TOML: "),
    "unknown entry": ("chapter = [4]", "'chapter' is no entry; did you mean 'chapters'?"),
    "chapters as a number": ("chapters = 4", "chapters is a list of chapter numbers"),
    "no chapters": ("chapters = []", "chapters is a list of chapter numbers"),
    "chapter 0": ("chapters = [0]", "0 is no chapter with exercises (they are 1 to 14)"),
    "chapter as text": ('chapters = ["4"]', "'4' is no chapter with exercises"),
    "chapter as a truth value": ("chapters = [true]", "True is no chapter with exercises"),
    "points, no table": ("points = 4", "points is a table: write [points]"),
    "misspelt step": (
        "[points]\ntrition_matmul = 4",
        "points: 'trition_matmul' is not a step; did you mean 'triton_matmul'?",
    ),
    "step left out": (
        "chapters = [4]\n[points]\nsoftmax = 4",
        "points: softmax belongs to chapter 5, which is left out",
    ),
    "negative points": ("[points]\nsoftmax = -1", "points: softmax = -1 is not a number from 0"),
    "points as text": ('[points]\nsoftmax = "4"', "points: softmax = '4' is not a number from 0"),
    "points not a number": ("[points]\nsoftmax = nan", "points: softmax = nan is not a number"),
    "deadline of a chapter left out": (
        "chapters = [4]\n[deadlines]\n5 = 2027-02-01T23:59:00Z",
        "deadlines: '5' is none of the chosen chapters (4)",
    ),
    "deadline without an offset": (
        "[deadlines]\n5 = 2027-02-01T23:59:00",
        "deadlines: chapter 5 needs date, time and offset, such as 2027-",
    ),
    "deadline without a time": ("[deadlines]\n5 = 2027-02-01", "needs date, time and offset"),
    "deadline as text": ('[deadlines]\n5 = "soon"', "needs date, time and offset"),
    "threshold of a step without speed": (
        "[thresholds]\nmerge = 0.5",
        "thresholds: the speed of merge does not count",
    ),
    "threshold in TFLOPS": (
        "[thresholds]\nsoftmax = 300",
        "thresholds: softmax = 300 is not a share of the library's speed",
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_a_bad_entry_is_one_line(chosen, text, words):
    with pytest.raises(BadInput) as refused:
        chosen(text)
    assert words in str(refused.value)
    assert str(refused.value).startswith("course.toml: ")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_text_is_refused(chosen):
    choices.FILE.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="course.toml: not a text file in UTF-8"):
        choices.load()
    choices.FILE.write_text(f"chapters = {'[' * 5000}{']' * 5000}\n")
    with pytest.raises(BadInput) as error:
        choices.load()
    assert str(error.value) == "course.toml: its brackets are nested too deeply to read"
    choices.FILE.unlink()
    choices.FILE.mkdir()
    with pytest.raises(BadInput, match="course.toml: cannot be read"):
        choices.load()


@pytest.mark.parametrize("command", [["list"], ["grade", "mine.py"], ["doctor", "--course"]])
def test_the_commands_refuse_a_bad_file_with_code_2(chosen, monkeypatch, tmp_path, capsys, command):
    from autograder.cli import main

    chosen("")
    choices.FILE.write_text("[points]\nsoftmaxx = 4\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def softmax(x):\n    return x\n")
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("autograder: course.toml: points: 'softmaxx' is not a step")


def test_check_in_a_notebook_counts_the_chosen_points(chosen, monkeypatch, capsys):
    from autograder import notebook

    asked = []
    monkeypatch.setattr(notebook, "_submission", lambda function: function)
    monkeypatch.setattr(notebook, "_grade", lambda step, submission: asked.append(step))
    monkeypatch.setattr(notebook.report, "show", lambda result: None)
    chosen("[points]\nleast_ms = 2.5\n")
    notebook.check("least_ms")
    assert [(step.name, step.points) for step in asked] == [("least_ms", 2.5)]
    choices.FILE.write_text("points = 3\n")
    notebook.check("least_ms")
    assert "check: course.toml: points is a table" in capsys.readouterr().out
    assert len(asked) == 1


def test_list_shows_what_is_chosen(chosen, capsys):
    from autograder.cli import main

    chosen(WHOLE)
    with pytest.raises(SystemExit) as ended:
        main(["list", "--json"])
    assert ended.value.code == 0
    rows = {row["step"]: row for row in json.loads(capsys.readouterr().out)}
    assert {row["chapter"] for row in rows.values()} == {1, 8}
    assert rows["group_major"]["points"] == 9
    assert rows["group_major"]["deadline"] == "2027-02-01T22:59:00+00:00"
    assert rows["least_ms"]["deadline"] is None
    with pytest.raises(SystemExit):
        main(["list"])
    assert "chapter 8 is due 2027-02-01 22:59 UTC" in capsys.readouterr().out


# --- the page for instructors -----------------------------------------------------------------

PAGE = (course.ROOT / "book" / "instructors.md").read_text(encoding="utf-8")


def test_the_example_on_the_page_is_valid_and_explains_every_entry(chosen):
    example = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[1]
    found = chosen(example)
    assert set(tomllib.loads(example)) == {"chapters", *choices.TABLES}
    for name in choices.TABLES:
        assert getattr(found, name) and f"| `[{name}]` |" in PAGE


def test_the_refusal_on_the_page_is_the_real_one(chosen):
    shown = re.search(r"(?m)^autograder: (course\.toml: .*)$", PAGE)[1]
    with pytest.raises(BadInput) as refused:
        chosen("[points]\nvector_ad = 8\n")
    assert str(refused.value) == shown


def test_the_page_names_commands_and_files_that_exist():
    from autograder.cli import main

    named = set(re.findall(r"python -m autograder (\w+)", PAGE))
    assert {"list", "doctor"} <= named <= set(main.commands)
    for name in re.findall(r"`([A-Z_]+\.md|\.github/[\w/.]+)`", PAGE):
        assert (course.ROOT / name).is_file(), name


# --- doctor --course --------------------------------------------------------------------------


def troubles(findings) -> dict[str, str]:
    return {f.what: f.text for f in findings if not f.ok and f.needed}


def test_the_course_as_it_stands_is_whole():
    found = course_check.examine()
    assert troubles(found) == {}
    chapters = {f.what for f in found if re.fullmatch(r"chapter \d+", f.what)}
    assert chapters == {f"chapter {number}" for number in choices.ALL_CHAPTERS}
    assert found[-1].text == f"{sum(step.points for step in course.STEPS):g} in all"


def test_points_that_the_notebooks_do_not_know_are_found(chosen):
    chosen("chapters = [1, 8]\n[points]\ngroup_major = 9\n")
    found = course_check.examine()
    assert found[0].text == (
        "course.toml: 2 of 14 chapters; 1 under [points], 0 under [deadlines], 0 under [thresholds]"
    )
    assert list(troubles(found)) == ["chapter 8"]
    assert "is not what its solution file makes: run `make exercises`" in found[2].text


def test_a_course_that_is_worth_nothing_is_found(chosen):
    names = [step.name for step in course.STEPS if step.chapter == 8]
    chosen("chapters = [8]\n[points]\n" + "".join(f"{name} = 0\n" for name in names))
    assert troubles(course_check.examine())["points"] == "no step is worth any"


@pytest.fixture
def one_chapter(tmp_path, monkeypatch, chosen):
    """A copy of what chapter 1 is made of, to take away from."""
    for name in (
        "solutions/01_memory_hierarchy.py",
        "exercises/01_memory_hierarchy/memory_hierarchy.ipynb",
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes((course.ROOT / name).read_bytes())
    for step in course.STEPS:
        for family in course_check.CORPORA if step.chapter == 1 else ():
            (tmp_path / "tests/corpus" / step.name / family).mkdir(parents=True)
            (tmp_path / "tests/corpus" / step.name / family / "one.py").touch()
    (tmp_path / "book").mkdir()
    page = course.ROOT / "book" / "01_memory_hierarchy.md"
    (tmp_path / "book" / page.name).write_bytes(page.read_bytes())
    monkeypatch.setattr(course, "ROOT", tmp_path)
    chosen("chapters = [1]\n")
    assert troubles(course_check.examine()) == {}
    return tmp_path


def test_what_is_missing_is_named(one_chapter):
    def told() -> str:
        return troubles(course_check.examine())["chapter 1"]

    (one_chapter / "tests/corpus/least_ms/wrong/one.py").unlink()
    assert told() == "tests/corpus/least_ms/wrong has no submission"
    page = one_chapter / "book/01_memory_hierarchy.md"
    text = page.read_text(encoding="utf-8")
    anchor = causes.reading("crashed", 1, "01_memory_hierarchy").partition("#")[2]
    page.write_text(text.replace(f"({anchor})=", ""), encoding="utf-8")
    assert f"book/01_memory_hierarchy.md has no ({anchor})=" in told()
    (one_chapter / "exercises/01_memory_hierarchy/memory_hierarchy.ipynb").unlink()
    assert "memory_hierarchy.ipynb is missing: run `make exercises`" in told()
    source = one_chapter / "solutions/01_memory_hierarchy.py"
    source.write_text(source.read_text().replace("### END SOLUTION", ""))
    assert "END SOLUTION" in told()
    source.unlink()
    assert "solutions/01_memory_hierarchy.py is missing" in told()
    page.unlink()
    advice = [f.text for f in course_check.examine() if not f.ok and not f.needed]
    assert advice == [
        "book/01_memory_hierarchy.md is not written: hints lead to the list of chapters"
    ]


def test_making_the_exercises_again_puts_chosen_points_into_them(one_chapter, chosen):
    chosen("chapters = [1]\n[points]\nleast_ms = 2.5\n")
    source = one_chapter / "solutions/01_memory_hierarchy.py"
    notebook = one_chapter / authoring.exercise_path(source)
    assert list(troubles(course_check.examine())) == ["chapter 1"]
    notebook.write_bytes(authoring.dumps(authoring.exercise(source)))
    found = course_check.examine()
    assert troubles(found) == {} and found[-1].text == "10.5 in all"


def test_references_are_graded_and_a_wrong_one_is_named(one_chapter, sandbox):
    def graded():
        return course_check.grade_references(sandbox, lambda *_: None)

    [right] = graded()
    assert right.ok and right.text.startswith("the reference solutions pass (")
    source = one_chapter / "solutions/01_memory_hierarchy.py"
    text = source.read_text()
    assert "return max(" in text
    source.write_text(text.replace("return max(", "return min("))
    [wrong] = graded()
    assert not wrong.ok
    assert "the reference fails with --seed " in wrong.text and "least_ms (" in wrong.text
    source.unlink()
    [missing] = graded()
    assert not missing.ok and "no such file" in missing.text


def test_quick_is_for_the_course(capsys):
    from autograder.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--quick"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "autograder: --quick belongs to --course\n"
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--course", "--quick"])
    assert ended.value.code == 0
