"""What there is to grade in the folder of a class, and what of it is done.

A class is FOLDER/STUDENT/…: a file belongs to the exercise that a folder above it or its own name
says, or else to the chapters whose steps it defines. An exercise that one student handed in is
expected of all. Must never follow a link, never run or parse what a student wrote, and never let one
file that is odd stop the class.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from autograder import choices, course, grading
from autograder.batch import record
from autograder.batch.record import Record
from autograder.environment import describe
from autograder.files import write_whole
from autograder.grading import Settings
from autograder.submission import BadInput, Submission

LARGEST = 64 * 2**20  # bytes of a file; a notebook with its pictures is far below
# Parts of the package that decide neither about a mark nor about what a result file holds.
BESIDE = (
    "authoring.py",
    "batch/cluster.py",
    "batch/command.py",
    "batch/leaderboard.py",
    "batch/page.py",
    "cli.py",
    "doctor.py",
    "ending.py",
    "notebook.py",
    "outputs.py",
    "report/",
)


@dataclass(frozen=True)
class Job:
    """One submission. `file` is relative to the class, empty where none was handed in; `trouble`
    is why it cannot be graded, `input` a digest of what was handed in."""

    student: str
    exercise: str
    file: str = ""
    trouble: str = ""
    notes: tuple[str, ...] = ()
    input: str = ""


@dataclass(frozen=True)
class Plan:
    """The submissions of a class, where they lie, where their results go, and how to grade them.

    `gpu`: whether kernels run on the GPU of whatever machine grades.
    """

    folder: Path
    results: Path
    settings: Settings
    jobs: list[Job]
    gpu: bool = False

    def path_of(self, job: Job) -> Path:
        """The result file of a submission."""
        return record.path_of(self.results, job.student, job.exercise)

    def basis(self, job: Job) -> dict:
        """All that the result of a submission depends on."""
        s, steps = self.settings, steps_of(job.exercise)
        shares = choices.load().thresholds if self.gpu and s.speed else {}
        return {
            "input": job.input,
            "engine": engine(),
            "seed": s.seed,
            "timeout": s.timeout,
            "speed": s.speed,
            "gpu": self.gpu,
            "points": {step.name: step.points for step in steps},
            "thresholds": {step.name: shares[step.name] for step in steps if step.name in shares},
        }

    def known(self, job: Job) -> Record | None:
        """The record of a submission, if it still holds."""
        found = record.load(self.path_of(job))
        return found if found is not None and found.basis == self.basis(job) else None

    def todo(self, jobs: list[Job]) -> list[Job]:
        """The submissions without a result that holds, and those that the grader failed at."""
        known = ((job, self.known(job)) for job in jobs)
        return [job for job, found in known if found is None or found.state == "failed"]

    def order(self, job: Job) -> dict:
        """What a worker must know to grade one submission, as JSON can hold it."""
        return {
            "folder": str(self.folder),
            "record": str(self.path_of(job)),
            "student": job.student,
            "exercise": job.exercise,
            "file": job.file,
            "notes": list(job.notes),
            "basis": self.basis(job),
        }


def make(
    folder: Path, results: Path, seed: int | None, timeout: float, speed: bool, gpu: bool = False
) -> Plan:
    """The plan for a class. Raises BadInput for a folder that is none or holds no submission, and
    for results that cannot be kept."""
    # Unlike Path.resolve, realpath takes links that point to themselves.
    folder, results = (Path(os.path.realpath(path)) for path in (folder, results))
    if not folder.is_dir():
        raise BadInput(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    if results.is_relative_to(folder):
        raise BadInput(f"--results {results}: must lie outside the folder that is graded")
    jobs = find(folder)
    try:
        results.mkdir(parents=True, exist_ok=True)
        seed = _seed(results / "seed.txt", seed)
    except (OSError, ValueError) as error:
        raise BadInput(f"--results {results}: cannot be used ({error})") from None
    return Plan(folder, results, Settings(seed, timeout, speed, at_once=1), jobs, gpu)


def _seed(kept: Path, given: int | None) -> int:
    """One seed for the class, and the same one in every run and every shard."""
    if given is not None:
        write_whole(kept, f"{given}\n".encode())
    elif not kept.exists():
        new = kept.with_name(f".{secrets.token_hex(8)}.part")
        new.write_text(f"{secrets.randbelow(2**31)}\n")
        try:
            os.link(new, kept)  # unlike a rename, it leaves the file of a shard that was faster
        except FileExistsError:
            pass
        finally:
            new.unlink()
    return int(kept.read_text())


def steps_of(exercise: str) -> list[course.Step]:
    """The steps of an exercise, all of which count; none for a file that belongs to no exercise."""
    names = tuple(s.name for s in course.STEPS if s.folder == exercise)
    return grading.steps_of(Submission(Path(exercise), []), names) if names else []


def shard(jobs: list[Job], part: int, parts: int) -> list[Job]:
    """Part 1 to `parts` of the submissions: each one is in exactly one part."""
    return jobs[part - 1 :: parts]


@cache
def engine() -> str:
    """A digest of what decides about marks: the grader's sources, the versions, the device."""
    package = Path(course.__file__).parent
    digest = hashlib.sha256(json.dumps(describe(), sort_keys=True).encode())
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith(BESIDE):
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


# --- finding ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """A file of a student, or something in its place; `path` is relative to the class."""

    path: Path
    trouble: str = ""


def find(folder: Path) -> list[Job]:
    """Every student with every exercise of the class, in the order of their names.

    Raises BadInput when there is no student, or nothing that any of them handed in.
    """
    try:
        students = sorted(p.name for p in folder.iterdir() if not _hidden(p.name) and p.is_dir())
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read ({error.strerror})") from None
    if not students:
        raise BadInput(f"{folder}: no folder in it; expected FOLDER/STUDENT/EXERCISE/NOTEBOOK")
    handed_in = {student: _of_student(folder, student) for student in students}
    ours = {s.folder: None for s in course.STEPS}
    expected = [e for e in ours if any(e in jobs for jobs in handed_in.values())]
    if not any(handed_in.values()):
        raise BadInput(f"{folder}: no notebook and no .py file with a step of the course in it")
    return [
        handed_in[student].get(exercise, Job(student, exercise))
        for student in students
        for exercise in [*expected, *sorted(handed_in[student].keys() - ours.keys())]
    ]


def _of_student(folder: Path, student: str) -> dict[str, Job]:
    """Exercise → the submission that counts."""
    candidates: dict[str, list[_Found]] = {}
    for found in _files(folder, folder / student):
        for exercise in _exercises(folder, found):
            candidates.setdefault(exercise, []).append(found)
    return {e: _job(folder, student, e, found) for e, found in candidates.items()}


def _job(folder: Path, student: str, exercise: str, found: list[_Found]) -> Job:
    """The file that counts: the only one, or the one that is named as it was released."""
    name = f"{exercise.partition('_')[2]}.ipynb"
    named = [f for f in found if f.path.name == name]
    chosen = found[0] if len(found) == 1 else named[0] if len(named) == 1 else None
    if chosen is None:
        names = ", ".join(_inside(f.path) for f in found)
        text = f"{len(found)} files could be meant ({names}); leave one, or name one {name}"
        return Job(student, exercise, trouble=text, input=text)
    others = tuple(f"Not graded: {_inside(f.path)}." for f in found if f is not chosen)
    job = Job(student, exercise, str(chosen.path), chosen.trouble, others, chosen.trouble)
    if job.trouble:
        return job
    if exercise not in {s.folder for s in course.STEPS}:
        trouble = "it is named like no exercise of the course and defines no step of it"
        job = replace(job, trouble=trouble)
    return _digested(folder, job)


def _digested(folder: Path, job: Job) -> Job:
    path = folder / job.file
    try:
        size = path.stat().st_size
        if size > LARGEST:
            text = f"it has {size / 2**20:.0f} MB, more than {LARGEST // 2**20} MB: clear the notebook's outputs"  # fmt: skip
            return replace(job, trouble=text, input=text)
        with path.open("rb") as file:
            return replace(job, input=hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        text = f"it cannot be read ({error.strerror})"
        return replace(job, trouble=text, input=text)


def _files(folder: Path, start: Path) -> Iterator[_Found]:
    """Notebooks and `.py` files of a student, and whatever stands where one could be."""
    if start.is_symlink():
        yield _Found(start.relative_to(folder), "the student's folder is a symbolic link, which is not followed")  # fmt: skip
        return
    closed: list[OSError] = []
    for parent, folders, files in os.walk(start, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        for name in [*folders, *sorted(files)]:
            path = Path(parent, name)
            code = path.suffix in (".ipynb", ".py") and not _hidden(name)
            if path.is_symlink() and (code or name in folders):
                yield _Found(path.relative_to(folder), "it is a symbolic link, which is not followed; hand in the file itself")  # fmt: skip
            elif code and not path.is_file():
                yield _Found(path.relative_to(folder), "it is not an ordinary file")
            elif code:
                yield _Found(path.relative_to(folder))
    for error in closed:
        path = Path(error.filename).relative_to(folder)
        yield _Found(path, f"the folder cannot be read ({error.strerror})")


def _exercises(folder: Path, found: _Found) -> list[str]:
    """The exercises that a file belongs to; one that belongs to none goes by its own name, and a
    `.py` file that belongs to none is no submission."""
    names = {}
    for step in course.STEPS:
        names[step.folder] = names[step.slug] = step.folder
    by_folder = [names[p.lower()] for p in found.path.parts[1:] if p.lower() in names]
    if by_folder:
        return [by_folder[-1]]
    stem = re.sub(r"^\d+_", "", found.path.stem.lower())
    by_name = [slug for slug in names if stem.startswith(slug)]
    if by_name:
        return [names[max(by_name, key=len)]]
    if found.trouble:
        return [found.path.stem]
    text = _text(folder / found.path)
    defined = {s.folder: None for s in course.STEPS if f"def {s.name}(" in text}
    return list(defined) or ([found.path.stem] if found.path.suffix == ".ipynb" else [])


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _inside(path: Path) -> str:
    """A path below the student's folder."""
    return str(Path(*path.parts[1:]))


def _hidden(name: str) -> bool:
    return name.startswith((".", "__"))
