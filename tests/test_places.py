"""Where a learner can run: the dev containers, the grader's image, Colab, `make lab`.

No container is built here: that needs a daemon and a network. What is checked is that the files are
well formed and that every path and command in them exists in the repository.
"""

import ast
import fnmatch
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import course

ROOT = course.ROOT
CONTAINERS = sorted((ROOT / ".devcontainer").rglob("devcontainer.json"))
each_container = pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.parent.name)
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
TARGETS = re.findall(r"(?m)^(\w+):", (ROOT / "Makefile").read_text())


def test_there_is_a_container_with_a_gpu_and_one_without():
    with_gpu = {path.parent.name: "--gpus" in path.read_text() for path in CONTAINERS}
    assert with_gpu == {".devcontainer": False, "gpu": True}


@each_container
def test_a_dev_container_names_what_exists(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    dockerfile = path.parent / found["build"]["dockerfile"]
    assert dockerfile.is_file()
    assert f" {found['remoteUser']}\n" in dockerfile.read_text()
    for command in found["postCreateCommand"].split("&&"):
        program, *arguments = command.split()
        if program == "make":
            assert set(arguments) <= set(TARGETS)
        else:
            assert not arguments and os.access(ROOT / program, os.X_OK)
    assert found["hostRequirements"].get("gpu", False) is ("runArgs" in found)
    vscode = found["customizations"]["vscode"]
    assert vscode["settings"]["python.defaultInterpreterPath"].endswith("/.venv/bin/python")


def test_the_image_of_the_grader_copies_what_exists_and_no_answers():
    copied = [
        name
        for line in re.findall(r"(?m)^COPY (.+)$", DOCKERFILE)
        for name in line.split()[:-1]
        if name != "course.tom[l]"  # there only where a class has chosen
    ]
    ignored = (ROOT / ".dockerignore").read_text().split()
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name.split('/')[0]}" in ignored, name
    assert "solutions" not in copied and "tests" not in copied and "*" in ignored
    assert not {"!solutions", "!tests"} & set(ignored)
    assert fnmatch.fnmatch("course.toml", "course.tom[l]") and "!course.toml" in ignored


def test_the_image_runs_the_command_line_as_somebody_without_rights():
    from autograder.cli import main

    entry = json.loads(re.search(r"(?m)^ENTRYPOINT (.+)$", DOCKERFILE)[1])
    assert entry == ["/course/.venv/bin/python", "-m", "autograder"]
    assert json.loads(re.search(r"(?m)^CMD (.+)$", DOCKERFILE)[1])[0] in main.commands
    assert "USER grader" in DOCKERFILE.splitlines()
    assert DOCKERFILE.index("useradd --uid 10001 grader") < DOCKERFILE.index("USER grader")


def run_command(text: str) -> list[str]:
    """The words of the `docker run` that a text documents."""
    line = re.search(r"docker run (?:.*\\\n)*.*", text)[0]
    return shlex.split(re.sub(r"\\\n[# ]*", " ", line))


def test_the_documented_run_has_every_limit_and_is_the_same_on_the_page():
    from autograder.cli import main

    words = run_command(DOCKERFILE)
    options, image = words[: words.index("autograder")], words.index("autograder")
    for option, value in (
        ("--network", "none"),
        ("--memory", "6g"),
        ("--memory-swap", "6g"),
        ("--pids-limit", "256"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
    ):
        assert options[options.index(option) + 1] == value
    assert "--read-only" in options
    command, *arguments = words[image + 1 :]
    main.commands[command].make_context(command, arguments).close()
    page = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
    assert run_command(page) == words


# --- Colab ------------------------------------------------------------------------------------


def colab(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs scripts/colab.py in a fresh Python, as %run does, and then the code. Its pip is a
    stand-in that writes down what it was asked for."""
    (folder / "pip").mkdir(exist_ok=True)
    (folder / "pip" / "__main__.py").write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "asked = Path(sys.argv[sys.argv.index('--constraint') + 1]).read_text()\n"
        "Path(os.environ['ASKED']).write_text(' '.join(sys.argv[1:]) + '\\n' + asked)\n"
        "sys.exit(os.environ.get('PIP_FAILS') and 'no such package')\n"
    )
    (folder / "pip" / "__init__.py").touch()
    prepare = (
        "import importlib.util as u, os, runpy, sys\n"
        "hidden = os.environ.get('HIDDEN', '').split()\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name in hidden else find(name, *more)\n"
        "runpy.run_path(sys.argv[1], run_name='__main__')\n"
    )
    variables = os.environ | {"PYTHONPATH": str(folder), "ASKED": str(folder / "asked")}
    return subprocess.run(
        [sys.executable, "-c", prepare + code, str(ROOT / "scripts" / "colab.py")],
        cwd=folder,
        env=variables | environment,
        check=False,
        capture_output=True,
        text=True,
    )


def test_in_colab_nothing_is_installed_that_is_there(tmp_path):
    code = "import autograder; print(autograder.__file__); print(os.environ['PYTHONPATH'])"
    done = colab(tmp_path, code)
    assert done.returncode == 0, done.stderr
    ready, following, package, path = done.stdout.splitlines()
    assert re.fullmatch(r"The grader is ready, with torch \S+ and Triton \S+\.", ready)
    assert following == "Next: from autograder import check"
    assert package == str(ROOT / "autograder" / "__init__.py")
    assert path.split(os.pathsep) == [str(ROOT), str(tmp_path)]
    assert not (tmp_path / "asked").exists()


def test_what_colab_lacks_is_installed_and_torch_is_kept(tmp_path):
    done = colab(tmp_path, "", HIDDEN="rich nbformat")
    assert done.returncode == 0, done.stderr
    command, *kept = (tmp_path / "asked").read_text().splitlines()
    assert command.startswith("install --quiet --constraint ")
    assert command.endswith(" nbformat>=5.9,<6 rich>=13.7")
    assert {line.split("==")[0] for line in kept} == {"torch", "triton", "numpy"}
    assert not any("+" in line for line in kept)


def test_a_pip_that_fails_is_told_in_its_own_words(tmp_path):
    done = colab(tmp_path, "", HIDDEN="rich", PIP_FAILS="yes")
    assert done.returncode == 1
    assert "colab: pip could not install rich:\nno such package" in done.stderr


def test_colab_knows_every_package_that_the_grader_imports():
    """Also inside functions. Left out: what an instructor needs, jupytext (it only makes notebooks)
    and IPython (every notebook has it)."""
    imported = set()
    for path in (ROOT / "autograder").rglob("*.py"):
        if {"batch", "classroom"} & set(path.relative_to(ROOT).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.split(".")[0])
    others = imported - set(sys.stdlib_module_names) - {"autograder"}
    listed = ast.parse((ROOT / "scripts" / "colab.py").read_text(encoding="utf-8"))
    needed = next(
        ast.literal_eval(node.value)
        for node in listed.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "NEEDED"
    )
    assert others - {"jupytext", "IPython"} == {"torch", *needed}


def test_the_cell_in_chapter_0_runs_what_exists():
    page = (ROOT / "book" / "00_setup.md").read_text(encoding="utf-8")
    cell = page[page.index("(colab)=") :]
    cell = cell[cell.index("```") : cell.index("```\n\n")]
    clone, run, use = cell.splitlines()[1:4]
    folder = clone.split()[-1]
    assert run.startswith(f"%run {folder}/")
    assert (ROOT / run.removeprefix(f"%run {folder}/")).is_file()
    assert use == "from autograder import check"


# --- JupyterLab -------------------------------------------------------------------------------


def test_make_lab_opens_jupyterlab_on_the_exercises():
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "lab"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert (
        done.stdout.splitlines()[-1]
        == ".venv/bin/jupyter lab --LabApp.default_url=/lab/tree/exercises"
    )
    assert list((ROOT / "exercises").glob("*/*.ipynb"))
