"""Fixtures that several test modules share."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from seeds import SEED

from autograder import course, grading
from autograder.gpu import has_gpu
from autograder.sandbox import Sandbox
from autograder.submission import Cell, Submission, read

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]


PART = 20  # of every corpus folder, one file in so many belongs to an ordinary run


def pytest_addoption(parser):
    parser.addoption(
        "--whole-corpus",
        action="store_true",
        help="grade every file of tests/corpus, which takes 20 minutes on 2 cores; else one in twenty",
    )


def pytest_collection_modifyitems(config, items):
    """Skips what needs a GPU where there is none, and leaves out part of the corpora, of which
    pytest says how much. All hostile files stay.
    """
    if not has_gpu():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="no GPU here"))
    if config.getoption("--whole-corpus"):
        return
    seen, kept, left_out = Counter(), [], []
    for item in items:
        entry = getattr(item, "callspec", None) and item.callspec.params.get("entry")
        if entry is None or entry.family == "hostile":
            kept.append(item)
            continue
        folder = (entry.step, entry.family)
        (left_out if seen[folder] % PART else kept).append(item)
        seen[folder] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_report_header() -> str:
    return f"autograder: cases are drawn with seed {SEED}"


@pytest.fixture(scope="session")
def sandbox():
    """One warm worker for the whole run."""
    with Sandbox() as worker:
        yield worker


@pytest.fixture(scope="session")
def grade_file(sandbox):
    """Grades one step of a file, as the command line does: path, step name → StepResult."""

    def grade(path: Path, step: str):
        settings = grading.Settings(SEED)
        return grading.grade_step(
            read(path), course.find_step(step), sandbox, settings, lambda *_: None
        )

    return grade


@pytest.fixture(scope="session")
def grade_source(sandbox):
    """Grades one step of source text: source, step name → StepResult."""

    def grade(source: str, step: str, timeout: float = grading.DEFAULT_TIMEOUT):
        cell = Cell("", "submission.py", source)
        submission = Submission.from_cells(Path("submission.py"), [cell])
        settings = grading.Settings(SEED, timeout)
        return grading.grade_step(
            submission, course.find_step(step), sandbox, settings, lambda *_: None
        )

    return grade


@dataclass(frozen=True)
class Run:
    """A finished command: exit code, what it printed, and its JSON if it wrote any."""

    code: int
    out: str
    err: str
    json: dict | None


@pytest.fixture
def autograder(tmp_path, monkeypatch, request):
    """Runs `python -m autograder …` as a user does. `grade` always gets a --json file."""
    # The course's own CI must not be told of what submissions in tests do wrong.
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    # The interpreter grades, on every machine, unless a test is about the GPU.
    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def run(*arguments: str | Path, cwd: Path = course.ROOT) -> Run:
        written = tmp_path / "result.json"
        command = [sys.executable, "-m", "autograder", *map(str, arguments)]
        if arguments[0] == "grade" and "--json" not in arguments:
            command += ["--json", str(written)]
        done = subprocess.run(
            command, check=False, cwd=cwd, capture_output=True, text=True, timeout=300
        )
        result = json.loads(written.read_text()) if written.exists() else None
        return Run(done.returncode, done.stdout, done.stderr, result)

    return run


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium: the system's, or else the one that Playwright has installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    executable = next(filter(None, map(shutil.which, names)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        except sync_api.Error:
            pytest.skip("no Chromium starts here: the pages were not opened in a browser")
        yield browser
        browser.close()
