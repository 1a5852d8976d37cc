"""Long runs in small pieces: what each piece gave is kept under a key, so that a run can go on.

A key holds everything that a result depends on: the submission, the sources of the grader that
decide about it, the versions of the packages. A piece is run again when one of them has changed.
"""

import ast
import functools
import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from recording import ROOT
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

BUILD = ROOT / "_build"
# Where a grading begins: in the grader's process, and in the submission's.
ROOTS = ("autograder.grading", "autograder.worker.zygote")
# The list of all steps would make each depend on all; the other one only shows.
BESIDE = {"autograder.course", "autograder.inspection"}
# Cannot turn a pass into a fail or back: looked at when the verdict stands.
AFTER_THE_VERDICT = frozenset(
    {
        "autograder.diagnosis",
        "autograder.causes",
        "autograder.steps.attention_mistakes",
        "autograder.steps.memory",
    }
)


ALL = slice(0, None, 1)


def shard(text: str) -> slice:
    """ "2/8" → every eighth piece from the third on. Raises ValueError for anything else."""
    index, count = map(int, text.split("/"))
    if not 0 <= index < count:
        raise ValueError(text)
    return slice(index, None, count)


class Journal:
    """One JSON object a line; the last one of a key counts."""

    def __init__(self, path: Path):
        self._path = path
        self._known: dict[str, dict] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for line in lines:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue  # a run was killed while it wrote this line
            self._known[entry["key"]] = entry

    def get(self, key: str) -> dict | None:
        """What is known under a key."""
        return self._known.get(key)

    def of(self, about: str) -> list[dict]:
        """What is known under the keys that begin so."""
        return [entry for key, entry in self._known.items() if key.startswith(about)]

    def add(self, key: str, **result) -> dict:
        """Keeps a result; it is on disk when this returns."""
        entry = {"key": key, **result}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(entry))  # a new line even after one that is torn
        self._known[key] = entry
        return entry


def key(*parts: str) -> str:
    """A short hash of texts, in their order."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@functools.cache
def engine(step, without: frozenset[str] = frozenset()) -> str:
    """A hash of the sources of the grader, and of the packages, that decide about one step.

    `without` names modules that do not matter for what is asked.
    """
    todo, found = [*ROOTS, _module_of(step.task)], {}
    while todo:
        name = todo.pop()
        path = _path(name)
        if path is None or name in found or name in BESIDE or name in without:
            continue
        text = found[name] = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                todo += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                todo += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    versions = [f"{p} {metadata.version(p)}" for p in ("torch", "triton", "numpy")]
    return key(*(text for _, text in sorted(found.items())), *versions, sys.version)


def _path(module: str) -> Path | None:
    if module.partition(".")[0] != "autograder":
        return None
    path = ROOT.joinpath(*module.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def _module_of(task) -> str:
    """The module of autograder.steps that a step's task is written in."""
    for name, module in sys.modules.items():
        if name.startswith("autograder.steps.") and any(v is task for v in vars(module).values()):
            return name
    raise LookupError("the task of this step is in no module of autograder.steps")


def commit() -> str:
    """The git commit of the sources, with "-dirty" after it where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


@contextmanager
def bar(title: str, total: int) -> Iterator:
    """A progress bar on stderr; yields a function to call with what was just done.

    Ctrl-C and SIGTERM leave the block quietly: what was done so far is kept.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    progress = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
    task = progress.add_task(title, total=total)

    def stop(*_):
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGTERM, stop)
    try:
        with progress:
            yield lambda text: progress.update(task, advance=1, description=f"{title}: {text}")
    except KeyboardInterrupt:
        print(f"{title}: interrupted; the next run goes on from here", file=sys.stderr)
    finally:
        signal.signal(signal.SIGTERM, usual)
