"""The reports: each is read back and compared with the result that it was made from."""

import itertools
import json
import os
import re
import shlex
from xml.etree import ElementTree

import pytest
import report_samples as samples
from bs4 import BeautifulSoup

from autograder import causes, course, diagnosis
from autograder.cli import main
from autograder.files import write_whole
from autograder.report import fragment, github, gradescope, html, junit, terminal, words
from autograder.result import Check, Grading, StepResult, SubmissionResult

WRONG = course.ROOT / "tests" / "corpus" / "vector_add" / "wrong" / "store_mask_missing.py"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")


def pairs(grading):
    return [(sub, step) for sub in grading.submissions for step in sub.steps]


def shown(text: str) -> str:
    """A submission's text as a report can hold it, white space aside."""
    return " ".join(words.printable(text).split())


@pytest.fixture
def grading():
    return samples.grading()


# --- hints ------------------------------------------------------------------------------------


def test_a_hint_has_three_levels_that_tell_what_its_text_tells():
    step = course.find_step("triton_matmul")
    made = diagnosis.hint_for("k_tail_unmasked", step, "Right but for K.", "Look at line 3.")
    advice = causes.CAUSES["k_tail_unmasked"].advice
    assert made.steps == ["Right but for K.", "Look at line 3.", f"{advice} Read `{made.read}`."]
    assert made.text == f"Right but for K. Look at line 3. {advice}"


def test_levels_of_which_nothing_is_known_are_empty():
    made = diagnosis.hint_for("crashed", course.find_step("triton_matmul"))
    assert made.steps[:2] == ["", ""] and made.steps[2].startswith(made.text)


def test_a_real_hint_says_what_was_seen_then_the_line_then_what_to_read(grade_file):
    path = course.ROOT / "tests" / "corpus" / "triton_matmul" / "wrong" / "k_tail_unmasked_b.py"
    result = grade_file(path, "triton_matmul")
    seen, where, advice = result.hint.steps
    assert seen.startswith("Your kernel is right except when K is not a multiple of")
    place = next(c.place for c in result.failed if c.place)
    assert re.fullmatch(r"line \d+", place) and where.endswith(f"{place}.")
    assert advice.endswith("Read `book/06_triton_matmul.md#ch6-masks`.")


# --- HTML -------------------------------------------------------------------------------------


def soup(grading) -> BeautifulSoup:
    return BeautifulSoup(html.page(grading), "html.parser")


def test_the_page_shows_everything_of_every_step(grading):
    page = soup(grading)
    parts = page.select("main > details.submission")
    assert len(parts) == len(grading.submissions)
    for part, submission in zip(parts, grading.submissions):
        said = " ".join(part.get_text().split())
        assert shown(submission.path) in said
        for step in submission.steps:
            assert f"{step.points:g} of {step.max_points:g} points" in said
            assert all(shown(note) in said for note in step.notes)
            for check in step.checks:
                assert shown(check.name) in said and words.worded(check.status) in said
                if check.case:
                    assert shown(words.sizes(check)) in said
                if check.status != "passed":
                    assert shown(check.message).replace("`", "") in said.replace("`", "")
                assert shown(check.printed) in said
            command = shlex.split(part.find_all("code")[-1].get_text())
            assert command[:4] == ["python", "-m", "autograder", "grade"]
            assert command[4] == words.printable(submission.path)
            assert command[5:7] == ["--seed", "1234"]
    for name, value in grading.environment.items():
        assert page.find("th", string=name).find_next("td").get_text() == value


def test_the_table_of_contents_leads_to_every_submission_with_its_points(grading):
    page = soup(grading)
    rows = page.select("nav tbody tr")
    assert len(rows) == len(grading.submissions)
    for row, submission in zip(rows, grading.submissions):
        link = row.find("a")
        assert link.get_text() == words.printable(submission.path)
        target = page.find(id=link["href"].removeprefix("#"))
        assert shown(submission.path) in shown(target.find_parent("details").summary.get_text())
        cells = [cell.get_text() for cell in row.find_all("td")]
        points = sum(s.points for s in submission.steps)
        assert cells[1].endswith(f" {points:g} of {sum(s.max_points for s in submission.steps):g}")
        marks = [sign["aria-label"] for sign in row.select('[role="img"]')]
        verdict = "passed" if submission.passed else "not passed"
        assert sorted(marks) == sorted([verdict, *map(words.status, submission.steps)])
    assert page.find("p").get_text() == "5 of 40 points, 1 of 6 submissions passed.".replace(
        "5 of 40", f"{grading.to_json()['points']:g} of {grading.to_json()['max_points']:g}"
    )


def test_one_submission_needs_no_contents_and_is_open():
    page = soup(samples.alone(samples.wrong()))
    assert page.find("nav") is None
    assert page.select_one("details.submission").has_attr("open")


def test_several_submissions_are_closed(grading):
    assert not any(d.has_attr("open") for d in soup(grading).select("details.submission"))


def test_hint_levels_lie_one_inside_the_other_and_only_the_first_is_open():
    fragment_ = BeautifulSoup(fragment.step_html(samples.wrong()), "html.parser")
    first = fragment_.find("details")
    second = first.find("details")
    third = second.find("details")
    titles = [d.summary.get_text() for d in (first, second, third)]
    assert titles == ["Hint. What was seen", "Where to look", "What to do, and what to read"]
    assert [d.has_attr("open") for d in (first, second, third)] == [True, False, False]
    texts = [d.find("div", recursive=False).get_text() for d in (first, second, third)]
    assert texts == [level.replace("`", "") for level in samples.wrong().hint.steps]
    assert "k_tail_unmasked" in third.get_text()


def test_an_empty_level_is_left_out():
    step = samples.wrong()
    step.hint.steps[:2] = ["", ""]
    first = BeautifulSoup(fragment.step_html(step), "html.parser").find("details")
    assert first.summary.get_text() == "Hint. What to do, and what to read"
    assert first.has_attr("open") and first.find("details") is None


def test_the_error_map_has_a_square_for_each_block_and_says_what_it_shows():
    page = BeautifulSoup(fragment.step_html(samples.wrong()), "html.parser")
    picture = page.find("svg")
    squares = {
        (int(y), int(x)): "wrong" in path["style"]
        for path in picture.find_all("path")
        for x, y in re.findall(r"M(\d+) (\d+)h", path["d"])
    }
    share = samples.wrong().checks[1].error_map.share
    assert squares == {(i, j): s > 0 for i, row in enumerate(share) for j, s in enumerate(row)}
    opacity = {
        (x, y): float(path["fill-opacity"])
        for path in picture.find_all("path")
        for x, y in re.findall(r"M(\d+) (\d+)h", path["d"])
    }
    assert opacity["0", "1"] > opacity["2", "0"] > opacity["2", "1"] > opacity["0", "0"]
    label = picture["aria-label"]
    assert "“ragged K”: 8 × 12 elements, one square for 4 × 4; 3 of 6 squares" in label
    assert page.find("figcaption").get_text() == f"{label}."


def test_nothing_in_the_page_runs_loads_or_comes_from_a_submission_as_markup(grading):
    text = html.page(grading)
    page = BeautifulSoup(text, "html.parser")
    harmless = html.page(Grading(1, samples.ENVIRONMENT, [
        SubmissionResult("a/x", [samples.wrong()]), SubmissionResult("y", [samples.passing()]),
    ]))  # fmt: skip
    tags = {tag.name for tag in BeautifulSoup(harmless, "html.parser").find_all(True)}
    assert {tag.name for tag in page.find_all(True)} <= tags
    assert "script" not in tags and "link" not in tags and "iframe" not in tags
    for tag in page.find_all(True):
        assert not any(name.startswith("on") for name in tag.attrs), tag
        assert not tag.get("src") and tag.get("href", "#").startswith("#"), tag
    assert "url(" not in text and "@import" not in text
    assert not CONTROL.search(text)
    policy = page.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    assert "default-src 'none'" in policy
    assert samples.HOSTILE[:25] in page.get_text()  # shown, as text


def test_long_prints_are_cut_and_say_so():
    step = samples.passing()
    step.checks[0].printed = "x" * (fragment.KEPT_PRINTED + 5)
    shown_ = BeautifulSoup(fragment.step_html(step), "html.parser").find("pre").get_text()
    assert shown_ == "x" * fragment.KEPT_PRINTED + "\n… (cut: 5 more)"


def test_three_hundred_submissions_stay_a_small_page():
    steps = [samples.wrong(), *(samples.passing() for _ in range(5))]
    many = [SubmissionResult(f"class/{i}/mine.py", steps) for i in range(300)]
    text = html.page(Grading(1, samples.ENVIRONMENT, many))
    assert len(text) < 5_000_000
    assert text.count('<details class="submission">') == 300


@pytest.fixture
def opened(chromium, grading, tmp_path):
    """Opens the page of a grading on a phone, in the dark; returns it and what it asked for."""
    file = tmp_path / "report.html"
    file.write_bytes(html.page(grading).encode())
    context = chromium.new_context(viewport={"width": 380, "height": 800}, color_scheme="dark")
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: asked.append(message.text))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.goto(file.as_uri())
    yield page, asked
    assert asked == [file.as_uri()]
    context.close()


def test_a_link_in_the_contents_opens_its_submission(opened):
    page, _ = opened
    assert page.locator("main > details[open]").count() == 0
    page.locator("nav a").nth(2).click()
    assert page.locator("main > details").nth(2).get_attribute("open") is not None
    assert page.locator("main > details[open]").count() == 1


def test_the_page_fits_a_phone_and_is_dark(opened):
    page, _ = opened
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", paper)[:3])) < 150


def test_print_shows_what_is_closed_on_the_screen_on_white_paper(opened):
    page, _ = opened
    text = page.get_by_text("still running after 10 s")
    assert not text.is_visible()
    page.emulate_media(media="print")
    assert text.is_visible()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"


# --- JUnit ------------------------------------------------------------------------------------

# Attributes and children that readers of JUnit XML know, in the order in which they may come.
STRUCTURE = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time"},
        ["properties", "testcase", "system-out"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname"}, ["skipped", "error", "failure", "system-out"]),
    "skipped": ({"message"}, []),
    "error": ({"message", "type"}, []),
    "failure": ({"message", "type"}, []),
    "system-out": (set(), []),
}


def test_junit_has_the_structure_that_readers_expect(grading):
    root = ElementTree.fromstring(junit.document(grading).encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = STRUCTURE[element.tag]
        assert set(element.attrib) == attributes, element.tag
        places = [children.index(child.tag) for child in element]
        assert places == sorted(places), element.tag
    for element in (root, *root.iter("testsuite")):
        cases = list(element.iter("testcase"))
        count = {
            kind: int(element.get(kind)) for kind in ("tests", "failures", "errors", "skipped")
        }
        found = [len([c for c in cases if c.find(k) is not None]) for k in ("failure", "error", "skipped")]  # fmt: skip
        assert list(count.values()) == [len(cases), *found]


def test_junit_says_what_the_result_says(grading):
    root = ElementTree.fromstring(junit.document(grading).encode())
    kinds = {
        "passed": None,
        "failed": "failure",
        "refused": "failure",
        "error": "error",
        "crashed": "error",
        "timed_out": "error",
        "not_measured": "skipped",
    }
    assert len(root) == len(pairs(grading))
    for suite, (submission, step) in zip(root, pairs(grading)):
        assert shown(suite.get("name")) == shown(f"{submission.path}: {step.step}")
        facts = {p.get("name"): p.get("value") for p in suite.iter("property")}
        assert float(facts["points"]) == step.points
        assert float(facts["max_points"]) == step.max_points
        assert facts["seed"] == "1234" and facts["torch"] == "2.13.0"
        assert facts.get("cause") == (step.hint.cause if step.hint else None)
        assert float(suite.get("time")) == step.seconds
        if step.hint:
            said = suite.find("system-out").text
            assert shown(step.hint.text) in shown(said) and step.hint.read in said
        cases = suite.findall("testcase")
        assert len(cases) == len(step.checks)
        for case, check in zip(cases, step.checks):
            assert shown(case.get("name")) == shown(check.name)
            found = [e for e in case if e.tag != "system-out"]
            assert [e.tag for e in found] == [kinds[check.status]] * bool(kinds[check.status])
            if found:
                assert shown(found[0].get("message")) == shown(check.message)
                assert found[0].get("type") == (
                    None if check.status == "not_measured" else check.status
                )
            if found and check.case and check.status != "not_measured":
                assert shown(words.sizes(check)) in shown(found[0].text)
            assert (case.find("system-out") is not None) == bool(check.printed)


def test_junit_holds_no_character_that_xml_forbids():
    forbidden = "".join(map(chr, itertools.chain(range(9), range(0xB, 0x20), (0xD800, 0xFFFE))))
    step = StepResult("s", 1, 0.0, [Check("n", "correctness", "failed", f"a{forbidden}b")])
    root = ElementTree.fromstring(junit.document(samples.alone(step)).encode())
    assert root.find(".//failure").get("message") == "ab"


# --- Gradescope -------------------------------------------------------------------------------


def test_gradescope_gets_a_test_for_each_step(grading):
    made = json.loads(json.dumps(gradescope.results(grading)))
    assert set(made) == {"output", "execution_time", "visibility", "tests"}
    assert "1234" in made["output"] and made["visibility"] == "visible"
    assert made["execution_time"] == round(sum(s.seconds for s in grading.steps()))
    assert sum(t["score"] for t in made["tests"]) == grading.to_json()["points"]
    assert len(made["tests"]) == len(pairs(grading))
    for test, (submission, step) in zip(made["tests"], pairs(grading)):
        assert shown(test["name"]) == shown(f"{submission.path}: {step.step}")
        assert (test["score"], test["max_score"]) == (step.points, step.max_points)
        assert test["status"] == ("passed" if step.passed else "failed")
        assert test["visibility"] == "visible"
        assert not CONTROL.search(test["output"])
        for check in step.failed:
            assert shown(check.message) in shown(test["output"])
    output = made["tests"][0]["output"]
    assert output.startswith(f"Hint: {samples.wrong().hint.text}\nRead book/")
    assert output.index("Hint:") < output.index("failed: ragged K (M=8, K=12, dtype=float16):")
    assert "1 of 3 checks passed." in output and output.endswith("k = 3")


def test_gradescope_names_a_step_alone_where_there_is_one_file():
    assert gradescope.results(samples.alone(samples.passing()))["tests"] == [
        {
            "name": "triton_matmul",
            "score": 10,
            "max_score": 10,
            "status": "passed",
            "output": "not measured: speed: speed needs a GPU; it is not measured\n"
            "1 of 1 checks passed.",
            "visibility": "visible",
        }
    ]


# --- GitHub -----------------------------------------------------------------------------------


def decoded(line: str) -> tuple[dict[str, str], str]:
    """A command as the runner reads it: properties up to the second `::`, then the message."""
    _, head, message = line.split("::", 2)
    name, _, rest = head.partition(" ")
    assert name == "error"

    def decode(text: str) -> str:
        for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
            text = text.replace(code, character)
        return text.replace("%25", "%")

    return {k: decode(v) for k, v in (p.split("=", 1) for p in rest.split(","))}, decode(message)


def test_each_failed_step_is_annotated_on_its_line(grading, monkeypatch):
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    lines = github.annotations(grading)
    assert all("\n" not in line and not CONTROL.search(line) for line in lines)
    found = [decoded(line) for line in lines]
    failed = [(sub, step) for sub, step in pairs(grading) if not step.passed]
    assert len(found) == len(failed)
    for (fields, message), (submission, step) in zip(found, failed):
        assert fields["file"] == words.printable(submission.path)
        assert fields["title"].startswith(f"{step.step}: {words.status(step)}, {step.points:g} of")
        assert shown(step.failed[0].message) in shown(message)
        assert shown(step.hint.text) in shown(message) and step.hint.read in message
    assert [fields.get("line") for fields, _ in found] == ["12", "9", None, None, None, None]
    assert found[3][1].startswith("cell 4, line 2: whole tiles: still running")
    assert found[4][1].count("cell 3, line 7") == 2  # in the message, and in the hint


def test_a_file_is_named_from_the_root_of_the_repository(monkeypatch, tmp_path):
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(tmp_path / "work")
    outside = str(tmp_path.parent / "mine.py")
    for path, expected in (
        ("mine.py", "work/mine.py"),
        (str(tmp_path / "a,b.py"), "a,b.py"),
        (outside, outside),
    ):
        (line,) = github.annotations(samples.alone(samples.wrong(), path))
        assert decoded(line)[0]["file"] == expected


def unescaped(markdown: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub("</?code>", "`", markdown))


def test_the_job_summary_has_a_row_for_each_step_and_tells_what_failed(grading):
    text = github.summary(grading)
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    for row, (submission, step) in zip(rows, pairs(grading), strict=True):
        cells = [unescaped(c.strip()) for c in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert shown(cells[0]) == shown(submission.path) and cells[1] == step.step
        assert cells[2].split(" ", 1) == ["✅" if step.passed else "❌", words.status(step)]
        assert cells[3] == f"{step.points:g} of {step.max_points:g}"
        assert cells[4] == (step.hint.cause if step.hint else "")
    plain = unescaped(text)
    for _, step in pairs(grading):
        for check in step.failed:
            assert shown(check.message) in plain
        if step.hint:
            assert shown(step.hint.text) in plain
    assert "Seed 1234" in text and not CONTROL.search(text)


def test_the_job_summary_holds_no_markup_of_a_submission(grading):
    text = github.summary(grading)
    assert not re.search(r"(?<!\\)<(?!/?code>)", text)
    assert not any(line.startswith(("# h", "::")) for line in text.splitlines())


def test_a_summary_that_github_would_drop_is_cut_and_says_so():
    steps = [samples.wrong() for _ in range(4)]
    many = [SubmissionResult(f"class/{i}/mine.py", steps) for i in range(1000)]
    text = github.summary(Grading(77, samples.ENVIRONMENT, many))
    assert len(text.encode()) < 2**20
    assert "The rest does not fit here." in text and "Seed 77" in text[-100:]


# --- the terminal -----------------------------------------------------------------------------


def test_a_submission_cannot_steer_the_terminal(grading, capsys):
    terminal.show(grading)
    out = capsys.readouterr().out
    assert not CONTROL.search(out)
    assert "<script>alert(1)</script>" in out


def test_the_terminal_shows_the_whole_hint_at_once():
    assert "Right except when K is ragged. Look at line 12. Mask." in terminal.step_text(
        samples.wrong()
    )


def test_what_several_cases_say_is_told_once_with_their_names():
    message = "raised NameError: name 'z' is not defined at line 4: `x + z`."
    checks = [
        Check(name, "correctness", status, message, {"N": 8})
        for name, status in (("a", "error"), ("b", "error"), ("c", "failed"), ("d", "error"))
    ]
    step = StepResult("vector_add", 4, 0.5, checks)
    grading = samples.alone(step)
    said = (
        " ".join(terminal.step_text(step).replace("│", " ").split()),
        BeautifulSoup(fragment.step_html(step), "html.parser").get_text(),
        re.sub(r"\\|</?code>", "", github.summary(grading)),
        gradescope.results(grading)["tests"][0]["output"],
    )
    for text in said:
        assert text.count("name 'z' is not defined") == 2
        assert text.count("the same in 2 more: “b”, “d”") == 1


# --- files ------------------------------------------------------------------------------------


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(_):
        assert path.read_text() == "old"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    write_whole(path, b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"x"


def test_a_file_keeps_to_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "marks", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "marks").stat().st_mode & 0o777 == 0o640


# --- the command ------------------------------------------------------------------------------

OPTIONS = ("--json", "--junit", "--html", "--gradescope")


@pytest.fixture
def refuses(monkeypatch, capsys):
    """Runs `grade` where nothing may be graded; returns what it says, after exit code 2."""

    def started(*_):
        raise AssertionError("a worker was started before the options were checked")

    monkeypatch.setattr("autograder.sandbox.Sandbox.__init__", started)

    def run(*arguments) -> str:
        with pytest.raises(SystemExit) as end:
            main(["grade", *map(str, arguments)])
        assert end.value.code == 2
        message = capsys.readouterr().err
        assert message.count("\n") == 1
        return message

    return run


@pytest.mark.parametrize("option", OPTIONS)
def test_a_missing_folder_is_said_before_grading(refuses, tmp_path, option):
    path = tmp_path / "no" / "out"
    assert f"{option} {path}: the folder {path.parent} does not exist" in refuses(
        WRONG, option, path
    )


@pytest.mark.parametrize("option", OPTIONS)
def test_a_graded_submission_is_never_overwritten(refuses, tmp_path, option):
    submission = tmp_path / "mine.py"
    submission.write_text("def vector_add(x, y):\n    return x\n")
    (tmp_path / "link").symlink_to(submission)
    # As where small letters and capitals are the same: another path, but the same file.
    os.link(submission, tmp_path / "twin")
    before = submission.read_text()
    for path in (submission, tmp_path / "link", tmp_path / "twin"):
        assert "this file is graded; name another one" in refuses(tmp_path, option, path)
    assert submission.read_text() == before


def test_two_reports_in_one_file_are_refused(refuses, tmp_path):
    out, same = tmp_path / "out", tmp_path / "." / "x" / ".." / "out"
    (tmp_path / "x").mkdir()
    message = refuses(WRONG, "--html", out, "--junit", same)
    assert "this file is written by --html; name another one" in message
    assert not out.exists()


def test_a_device_is_never_replaced_by_a_file(refuses):
    assert "--html /dev/null: not an ordinary file" in refuses(WRONG, "--html", "/dev/null")


def test_the_command_writes_all_reports_of_one_grading(autograder, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(course.ROOT))
    files = {name: tmp_path / name for name in ("junit", "html", "gradescope")}
    files["html"].write_text("an older report")
    options = itertools.chain.from_iterable((f"--{name}", path) for name, path in files.items())
    run = autograder("grade", WRONG, "--seed", "7", *options)
    assert run.code == 1
    step = run.json["submissions"][0]["steps"][0]
    suite = ElementTree.parse(files["junit"]).getroot()[0]
    assert float(suite.find(".//property[@name='points']").get("value")) == step["points"]
    assert [c.get("name") for c in suite.findall("testcase")] == [c["name"] for c in step["checks"]]
    (test,) = json.loads(files["gradescope"].read_text())["tests"]
    assert test["score"] == step["points"] and step["hint"]["text"] in test["output"]
    page = BeautifulSoup(files["html"].read_text(), "html.parser").get_text()
    assert "store_mask_missing" in page and "--seed 7 --step vector_add" in page
    assert summary.read_text().startswith("before\n## Autograder: not all checks passed")
    # The report quotes the submission, so it lies between two lines that turn commands off and on.
    off, *quoted, on, annotation = run.out.splitlines()
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", off)
    assert on == f"::{off.rpartition('::')[2]}::" and "vector_add" in "".join(quoted)
    fields, _ = decoded(annotation)
    assert fields["file"] == WRONG.relative_to(course.ROOT).as_posix()
    line = int(fields["line"])
    assert "tl.store" in WRONG.read_text().splitlines()[line - 1]


def test_outside_github_nothing_is_said_to_it(autograder, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    run = autograder("grade", WRONG)
    assert "::" not in run.out and not (tmp_path / "summary.md").exists()


def test_a_syntax_error_is_annotated_on_its_line(grade_source):
    step = grade_source("import torch\n\ndef vector_add(x, y):\n    return (x\n", "vector_add")
    (line,) = github.annotations(samples.alone(step))
    assert decoded(line)[0]["line"] == "4"
