"""Whatever stands in the way of the set-up is told in one line, and leaves no stamp behind.

Python, df and pip are stand-ins on PATH, so nothing here needs a network or installs anything.
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent

# A Python that knows only what scripts/setup.sh asks of it. `venv` makes a copy of it as
# .venv/bin/python; both write down what they were asked.
PYTHON = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
    --version) echo "Python ${STANDIN_VERSION:-3.11.7}" ;;
    *version_info*) [ -z "${STANDIN_VERSION:-}" ] ;;
    *ensurepip*) [ -z "${STANDIN_NO_VENV:-}" ] ;;
    "-m venv --clear .venv") rm -rf .venv && mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    "-m pip --version") ;;
    *--dry-run*) [ -z "${STANDIN_PROBE:-}" ] || { echo "$STANDIN_PROBE"; exit 1; } ;;
    "-m pip install"*)
        [ -z "${STANDIN_SLEEP:-}" ] || { touch "$CALLS.sleeping"; sleep 60; }
        [ -z "${STANDIN_INSTALL:-}" ] || { echo "$STANDIN_INSTALL" >.venv/pip.log; exit 1; } ;;
    *) exit 9 ;;
esac
"""
DF = """#!/bin/sh
echo "Filesystem 1024-blocks Used Available Capacity Mounted on"
echo "/dev/disk 99999999 0 $((${STANDIN_FREE_MB:-50000} * 1024)) 1% /"
"""
NO_ROUTE = "NewConnectionError: Failed to establish a new connection"
DISK_FULL = "OSError: [Errno 28] No space left on device"


class Project:
    """A copy of the files that the set-up reads, in a folder with a space in its name."""

    def __init__(self, folder: Path):
        self.root = folder / "a course"
        self.calls = folder / "calls"
        self.bin = folder / "bin"
        for name in ("book", "autograder", "solutions", "scripts"):
            (self.root / name).mkdir(parents=True)
        (self.root / "_config.yml").touch()
        for name in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
            shutil.copy(ROOT / name, self.root)
        shutil.copy(ROOT / "scripts" / "setup.sh", self.root / "scripts")
        self.bin.mkdir()
        self.program("df", DF)
        for name in ("python3.11", "python3.12", "python3.13", "python3"):
            self.program(name, PYTHON)

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def command(self, **settings: str) -> dict:
        # `make test` tells the makes below it about itself; a learner's make is the first one.
        ours = ("PYTHON", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        kept = {name: value for name, value in os.environ.items() if name not in ours}
        path = f"{self.bin}:/usr/bin:/bin"
        return {
            "cwd": self.root,
            "env": kept | {"PATH": path, "CALLS": str(self.calls)} | settings,
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
        }

    def setup(self, what: str = "course", **settings: str) -> subprocess.CompletedProcess:
        command = ["scripts/setup.sh", what]
        return subprocess.run(command, check=False, timeout=30, **self.command(**settings))

    def installs(self) -> int:
        lines = self.calls.read_text().splitlines()
        return sum("pip install" in line and "--dry-run" not in line for line in lines)

    def stamps(self) -> set[str]:
        return {path.name for path in self.root.glob(".venv/.stamps/*")} - {"place"}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def refusal(done: subprocess.CompletedProcess) -> str:
    """The one line that a refused set-up leaves on stderr."""
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("setup: ")
    return line


def test_an_old_python_is_refused(project):
    line = refusal(project.setup(STANDIN_VERSION="3.9.2"))
    assert "Python 3.11 or newer is needed, and here is Python 3.9.2." in line
    assert project.stamps() == set()


def test_a_missing_python_is_refused(project):
    for name in ("python3.11", "python3.12", "python3.13", "python3"):
        # A command that is there and does not work, as version managers put on PATH.
        project.program(name, "#!/bin/sh\nexit 127\n")
    assert "here is no python3." in refusal(project.setup())


def test_a_python_asked_for_must_be_new_enough(project):
    line = refusal(project.setup(PYTHON="/nowhere/python3"))
    assert "PYTHON=/nowhere/python3 is not a working Python 3.11 or newer." in line


def test_a_newer_python_is_found_behind_an_old_one(project):
    project.program("python3.11", "#!/bin/sh\nexit 127\n")
    project.program("python3", "#!/bin/sh\nexit 1\n")
    done = project.setup()
    assert done.returncode == 0, done.stderr
    assert project.stamps() == {"course"}


def test_a_python_without_venv_is_refused(project):
    line = refusal(project.setup(STANDIN_NO_VENV="1"))
    assert "python3.11 has no venv module." in line and "apt-get install python3-venv" in line


def test_a_small_disk_is_refused_with_both_numbers(project):
    line = refusal(project.setup(STANDIN_FREE_MB="1200"))
    assert "1200 MB free here, 3500 MB needed (11000 MB for a torch with CUDA)" in line
    assert not (project.root / ".venv").exists()


def test_a_disk_too_small_for_cuda_alone_is_only_mentioned(project):
    done = project.setup(STANDIN_FREE_MB="6000")
    assert done.returncode == 0, done.stderr
    assert "6000 MB free: enough for a CPU build of torch, not for the CUDA build" in done.stdout


def test_no_network_is_told_before_pip_starts(project):
    line = refusal(project.setup(STANDIN_PROBE=NO_ROUTE))
    assert "pip cannot reach its package index. Is this machine online?" in line
    assert project.installs() == 0


def test_another_failure_of_pip_is_not_called_a_network(project):
    line = refusal(project.setup(STANDIN_PROBE="ERROR: ResolutionImpossible"))
    assert "pip cannot install anything here. Details: .venv/pip.log" in line


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (DISK_FULL, "the disk became full"),
        (NO_ROUTE, "the connection to the package index broke. Run the same command again"),
        ("ERROR: something else", "its messages are above and in .venv/pip.log"),
    ],
)
def test_an_installation_that_fails_leaves_no_stamp(project, reason, told):
    assert told in refusal(project.setup(STANDIN_INSTALL=reason))
    assert project.stamps() == set()
    assert project.setup().returncode == 0
    assert project.stamps() == {"course"}


def test_an_interrupted_installation_leaves_no_stamp(project):
    running = subprocess.Popen(
        ["scripts/setup.sh", "course"],
        **project.command(STANDIN_SLEEP="1"),
        start_new_session=True,
    )
    sleeping = Path(f"{project.calls}.sleeping")
    deadline = time.monotonic() + 20
    while not sleeping.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=20)
    assert running.returncode != 0
    assert project.stamps() == set()


def test_a_second_run_installs_nothing(project):
    assert project.setup().returncode == 0
    again = project.setup()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert project.installs() == 1


def test_the_tests_need_more_than_the_course(project):
    project.setup("course")
    project.setup("test")
    project.setup("test")
    assert project.stamps() == {"course", "test"}
    assert project.installs() == 2
    assert "--editable .[test]" in project.calls.read_text()


@pytest.mark.parametrize("name", ["requirements.txt", "constraints.txt", "pyproject.toml"])
def test_a_changed_set_is_installed_again(project, name):
    project.setup()
    with (project.root / name).open("a") as file:
        file.write("# changed\n")
    project.setup()
    assert project.installs() == 2


def test_a_moved_folder_gets_a_new_environment(project):
    project.setup()
    moved = project.root.with_name("moved")
    project.root.rename(moved)
    project.root = moved
    done = project.setup()
    assert "this folder was moved; making .venv again" in done.stdout
    assert project.installs() == 2


def test_a_python_environment_made_by_hand_is_kept(project):
    # Somebody who wants another build of torch makes .venv first and installs it there.
    python = project.root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    shutil.copy(project.bin / "python3", python)
    mine = project.root / ".venv" / "mine"
    mine.touch()
    assert project.setup().returncode == 0
    assert mine.exists()


def test_make_course_ends_with_the_line_and_a_failure(project):
    command = project.command(STANDIN_VERSION="3.9.2")
    done = subprocess.run(["make", "course"], check=False, timeout=30, **command)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert lines[0].startswith("setup: Python 3.11 or newer is needed")
    # The rest is make's own word that the rule failed.
    assert [line[:8] for line in lines[1:]] == ["make: **"]
    assert done.stdout == ""


def test_an_unknown_word_is_refused():
    script = str(ROOT / "scripts" / "setup.sh")
    done = subprocess.run([script, "everything"], check=False, capture_output=True, text=True)
    assert refusal(done) == "setup: usage: scripts/setup.sh course|test"


@pytest.fixture
def browsers(tmp_path):
    """Runs scripts/browser.sh where PATH holds stand-ins only; gives what it printed and called."""
    root, tools = tmp_path / "a course", tmp_path / "tools"
    for folder in (root / "scripts", root / ".venv" / "bin", root / ".venv" / ".stamps", tools):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "browser.sh", root / "scripts")
    for name in ("sh", "dirname", "touch"):
        (tools / name).symlink_to(shutil.which(name))

    def run(**programs):
        for name, text in programs.items():
            path = root / ".venv/bin/python" if name == "python" else tools / name.replace("_", "-")
            path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{tmp_path}/calls"\n{text}\n')
            path.chmod(0o755)
        (tmp_path / "calls").write_text("")
        script = str(root / "scripts" / "browser.sh")
        done = subprocess.run(
            [script], check=False, env={"PATH": str(tools)}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout, (tmp_path / "calls").read_text()

    return run


def test_a_browser_on_the_path_is_enough(browsers):
    assert browsers(chromium="") == ("", "")


def test_root_on_debian_gets_chromium_from_there(browsers):
    _, calls = browsers(id="echo 0", apt_get="", python="")
    assert "apt_get install -y -qq chromium\n" in calls
    assert "playwright" not in calls


def test_others_get_the_browser_of_playwright_once(browsers):
    _, calls = browsers(id="echo 1000", apt_get="", python="")
    assert "python -m playwright install chromium\n" in calls
    assert "apt_get" not in calls
    assert browsers() == ("", "")


def test_without_any_browser_one_line_says_what_is_left_out(browsers):
    said, _ = browsers(id="echo 1000", python="exit 1")
    assert "no Chromium here and none could be installed; the tests of the built pages" in said


def test_no_machine_of_ours_is_in_the_pinned_set():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins and all(line.count("==") == 1 for line in pins)
    # No local builds, no addresses, no paths.
    assert not [line for line in pins if any(mark in line for mark in "+@/:")]


def test_every_pin_lies_in_its_range():
    """A range that its pin does not meet would make every installation fail."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate():
            assert pins[wanted.name] in wanted.specifier, wanted
