"""The workflows are valid, and what they run is run: in a copy of the course, as in a fork.

Not run are the commands that install (scripts/cpu_torch.sh, scripts/setup.sh, pip): a test needs no
network, and the environment that they would make is the one this test runs in. That they exist and
what they name is checked; tests/test_setup.py tries setup.sh. Nor are `make test`, `make book` and
the link check run: the first is what runs this file.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import yaml

from autograder import authoring, course
from autograder.report.cell_lines import line_in_file

ROOT = course.ROOT
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
CONTEXTS = {"github", "matrix", "steps", "inputs", "runner", "needs"}
FUNCTIONS = {"hashFiles", "always"}


def load(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path: Path):
    return load(path)["jobs"].items()


def scripts(path: Path) -> list[str]:
    return [step["run"] for _, job in jobs(path) for step in job["steps"] if "run" in step]


# --- what is written --------------------------------------------------------------------------


def test_both_workflows_fit_the_schema_of_workflows():
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "grade.yml"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    command += ["vendor.github-workflows", *map(str, WORKFLOWS)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schema_refuses_a_misspelt_key(tmp_path):
    spoilt = tmp_path / "grade.yml"
    text = WORKFLOWS[1].read_text(encoding="utf-8")
    spoilt.write_text(text.replace("timeout-minutes:", "timeout-minute:"), encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    command += ["vendor.github-workflows", str(spoilt)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "timeout-minute" in done.stdout


def expressions(value) -> list[str]:
    """Every expression in a part of a workflow: between ${{ and }}, and all of an `if`."""
    if isinstance(value, dict):
        found = [text for item in value.values() for text in expressions(item)]
        return found + ([value["if"]] if isinstance(value.get("if"), str) else [])
    if isinstance(value, list):
        return [text for item in value for text in expressions(item)]
    return re.findall(r"\$\{\{(.*?)\}\}", value) if isinstance(value, str) else []


@each_workflow
def test_every_expression_names_something_that_is_there(path):
    workflow = load(path)
    inputs = (workflow[True].get("workflow_dispatch") or {}).get(
        "inputs", {}
    )  # YAML 1.1: on = True
    for name, job in jobs(path):
        ids = {step["id"] for step in job["steps"] if "id" in step}
        matrix = job.get("strategy", {}).get("matrix", {})
        assert set(job.get("needs", [])) <= set(workflow["jobs"]) - {name}
        for expression in expressions(job):
            code = re.sub(r"'[^']*'", "", expression)
            assert set(re.findall(r"(\w+)\(", code)) <= FUNCTIONS, expression
            for place in re.findall(r"[a-z]\w*(?:\.[\w-]+)+", code):
                context, first = place.split(".")[:2]
                assert context in CONTEXTS, expression
                known = {"steps": ids, "matrix": set(matrix), "inputs": set(inputs)}
                assert first in known.get(context, {first}), expression


@each_workflow
def test_a_workflow_may_read_and_no_more(path):
    assert load(path)["permissions"] == {"contents": "read"}
    for name, job in jobs(path):
        # Deploying pages is the one thing that needs more, and it runs no code of ours.
        if "permissions" in job:
            assert name == "pages" and not any("run" in step for step in job["steps"])
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            # What others choose (a branch's name) must not become part of a script.
            assert "${{" not in step.get("run", "")
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z/-]+@v\d+", step["uses"])
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@each_workflow
def test_every_command_can_be_parsed_and_what_it_names_exists(path):
    from autograder.cli import main

    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    seen = set()
    for script in scripts(path):
        checked = subprocess.run(["bash", "-n"], check=False, input=script, text=True)
        assert checked.returncode == 0
        for line in script.splitlines():
            for name in re.findall(r"(?<![\w/.])(?:\.venv/bin/)?(scripts/[\w.]+)", line):
                assert os.access(ROOT / name, os.R_OK), name
                seen.add(name)
            for target in re.findall(r"\bmake (\w+)", line):
                assert target in targets
                seen.add(target)
            for words in re.findall(r"-m autograder (.*?)(?:;|$)", line):
                command, *options = shlex.split(words)
                with main.commands[command].make_context(command, options, resilient_parsing=False):
                    seen.add(command)
    assert seen >= ({"grade", "scripts/changed.py"} if path.stem == "grade" else {"test", "book"})
    for name in ("cpu_torch.sh", "setup.sh"):
        assert os.access(ROOT / "scripts" / name, os.X_OK)


def test_a_fork_does_not_run_the_tests_of_the_course():
    for name, job in jobs(ROOT / ".github/workflows/ci.yml"):
        if name in ("test", "book"):
            assert "!github.event.repository.fork" in job["if"]
        elif name == "pages":
            assert job["needs"] == ["test", "book"]  # skipped with them
        else:
            assert "'push'" not in job["if"]  # GitHub turns schedules off in forks


def test_the_matrix_is_the_versions_that_are_supported():
    workflow = load(ROOT / ".github/workflows/ci.yml")
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]


# --- what is run ------------------------------------------------------------------------------

NOTEBOOK = Path("exercises/01_memory_hierarchy/memory_hierarchy.ipynb")


class Fork:
    """A copy of the course under git, with this environment as its .venv."""

    def __init__(self, root: Path, tmp_path: Path):
        self.root, self.summary = root, tmp_path / "summary.md"
        shutil.copytree(
            ROOT,
            root,
            ignore=shutil.ignore_patterns(
                ".git", ".venv", "_build", "tests", "book", "benchmarks", "__pycache__"
            ),
        )
        (root / ".venv").symlink_to(sys.prefix)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("The course")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=L", "-c", "user.email=l@example.org", *arguments]
        return subprocess.run(
            command, cwd=self.root, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def fill(self, **answers: str) -> None:
        """Fills the exercise in with the reference, and in it cells with other answers."""
        notebook = nbformat.read(self.root / NOTEBOOK, as_version=4)
        source = ROOT / "solutions" / f"{NOTEBOOK.parent.name}.py"
        notebook = authoring.filled(notebook, source)
        for cell in notebook.cells:
            cell.source = answers.get(cell.id, cell.source)
        nbformat.write(notebook, self.root / NOTEBOOK)

    def job(self, name: str, base: str) -> subprocess.CompletedProcess:
        """Runs the steps of a job of grade.yml from the one that finds the exercises on."""
        steps = load(ROOT / ".github/workflows/grade.yml")["jobs"][name]["steps"]
        names = [step.get("name") for step in steps]
        first = names.index("Find the changed exercises")
        kept = ("PYTHONPATH", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITHUB_ACTIONS")
        environment = {k: v for k, v in os.environ.items() if k not in kept}
        environment |= {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.root)}
        environment |= {"GITHUB_STEP_SUMMARY": str(self.summary)}
        said = ""
        for step in steps[first:]:
            if "run" not in step:
                continue
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]],
                cwd=self.root,
                # The one expression is the commit that came before.
                env=environment | {key: base for key in step.get("env", {})},
                check=False,
                capture_output=True,
                text=True,
                timeout=300,
            )
            said += done.stdout
            if done.returncode:
                break
        done.stdout = said
        return done


@pytest.fixture
def fork(tmp_path):
    return Fork(tmp_path / "a fork", tmp_path)


def test_a_fork_with_one_filled_exercise_is_green(fork):
    base = fork.git("rev-parse", "HEAD")
    fork.fill()
    fork.commit("Chapter 1")
    done = fork.job("cpu", base)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == NOTEBOOK.as_posix()
    assert "::error" not in done.stdout
    assert "all checks passed, 12 of 12 points" in fork.summary.read_text()
    suites = ElementTree.parse(fork.root / "results.xml").getroot()
    assert suites.get("failures") == suites.get("errors") == "0"
    assert {suite.get("name").split(": ")[1] for suite in suites} == {
        step.name for step in course.STEPS if step.chapter == 1
    }
    assert (fork.root / "report.html").stat().st_size > 0


def test_a_wrong_step_is_red_and_annotated_on_its_line(fork):
    base = fork.git("rev-parse", "HEAD")
    wrong = (
        "def least_ms(flop, bytes_moved, peak_tflops, bandwidth_tb_s):\n    x = 1\n    return x / 0"
    )
    fork.fill(least_ms=wrong)
    fork.commit("Chapter 1, not yet right")
    done = fork.job("cpu", base)
    assert done.returncode == 1
    [annotation] = [line for line in done.stdout.splitlines() if line.startswith("::error")]
    fields = dict(pair.split("=", 1) for pair in annotation[8:].split("::")[0].split(","))
    assert fields["file"] == NOTEBOOK.as_posix()
    line = (fork.root / NOTEBOOK).read_text().splitlines()[int(fields["line"]) - 1]
    assert line.strip() == '"    return x / 0"'
    summary = fork.summary.read_text()
    assert "not all checks passed, 8 of 12 points" in summary and "**Hint.**" in summary
    assert int(ElementTree.parse(fork.root / "results.xml").getroot().get("errors")) > 0


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_nothing_begun_is_green_and_says_so(fork, name):
    base = fork.git("rev-parse", "HEAD")
    # An update of the course: the notebook is another one, and still nobody has written in it.
    path = fork.root / NOTEBOOK
    path.write_text(path.read_text().replace("Where data lives", "Where the data lives"))
    fork.commit("Update")
    done = fork.job(name, base)
    assert (done.returncode, done.stdout) == (0, "No exercise that is begun was changed.\n")
    assert fork.summary.read_text() == done.stdout


def test_both_jobs_find_exercises_in_the_same_way():
    steps = [job["steps"] for _, job in jobs(ROOT / ".github/workflows/grade.yml")]
    found = [[s for s in part if s.get("name") == "Find the changed exercises"] for part in steps]
    assert found[0] == found[1] and len(found[0]) == 1


def test_which_exercises_count_as_changed(fork):
    def changed(base: str) -> list[str]:
        command = [sys.executable, "scripts/changed.py", base]
        done = subprocess.run(command, cwd=fork.root, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    start = fork.git("rev-parse", "HEAD")
    assert changed(start) == []
    fork.fill()
    filled = fork.commit("Chapter 1")
    mine = fork.root / "exercises" / "my kernels.py"
    mine.write_text("def vector_add(x, y): ...\n")
    broken = fork.root / "exercises" / "broken.ipynb"
    broken.write_text("{")
    (fork.root / "exercises" / "notes.txt").write_text("not an exercise")
    fork.commit("More")
    assert changed(filled) == ["exercises/broken.ipynb", "exercises/my kernels.py"]
    assert changed(start) == [NOTEBOOK.as_posix(), *changed(filled)]
    # No such commit: a new branch, a forced push, a run by hand.
    for base in ("0" * 40, "", "f" * 40):
        assert sorted(changed(base)) == sorted(changed(start))
    broken.unlink()
    fork.commit("Away with it")
    assert changed(filled) == ["exercises/my kernels.py"]
    # The other side of a pull request went on meanwhile: its changes are not the learner's.
    fork.git("branch", "mine")
    fork.git("reset", "--quiet", "--hard", filled)
    (fork.root / NOTEBOOK).write_text("{}")
    upstream = fork.commit("Upstream")
    fork.git("checkout", "--quiet", "mine")
    assert changed(upstream) == ["exercises/my kernels.py"]


# --- annotations in notebooks -----------------------------------------------------------------

CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# A text\n", "of two lines"]},
    {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"mine": {"deep": {"source": ["def f():\n"]}}},
        "outputs": [],
        "source": ["def f():\n", "    return 'é'"],
    },
    {"cell_type": "code", "metadata": {}, "outputs": [], "source": []},
    {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["f()"]},
]


@pytest.mark.parametrize("plain", [True, False])
def test_a_line_of_a_cell_is_found_in_the_file(tmp_path, plain):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps({"cells": CELLS}, indent=1, ensure_ascii=plain), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").splitlines()

    def found(cell: int, line: int) -> str:
        return json.loads(lines[line_in_file(path, cell, line) - 1].strip().removesuffix(","))

    assert found(1, 2) == "of two lines"
    assert [found(2, 1), found(2, 2)] == CELLS[1]["source"]
    assert found(4, 1) == "f()"
    assert line_in_file(path, 3, 1) is line_in_file(path, 4, 2) is line_in_file(path, 5, 1) is None


def test_no_line_is_guessed(tmp_path):
    path = tmp_path / "mine.ipynb"
    assert line_in_file(path, 1, 1) is None
    for text in ("", "{", "[]", '{"cells": 3}', json.dumps({"cells": CELLS})):
        path.write_text(text)
        assert line_in_file(path, 2, 1) is None
    joined = [dict(cell, source="".join(cell["source"])) for cell in CELLS]
    path.write_text(json.dumps({"cells": joined}, indent=1))
    assert line_in_file(path, 2, 1) is None
