"""What is found in the folder of a class, who grades which part, and when a result still holds."""

import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from class_files import EXERCISE, NAME, bad_files, good_class, put, solved, untouched
from seeds import SEED

from autograder import choices
from autograder.batch import plan, record
from autograder.batch.plan import Job
from autograder.batch.record import Record
from autograder.submission import BadInput


def found(folder: Path) -> dict[tuple[str, str], Job]:
    return {(job.student, job.exercise): job for job in plan.find(folder)}


def made(folder: Path, **options) -> plan.Plan:
    given = {"seed": SEED, "timeout": 10.0, "speed": True} | options
    return plan.make(folder, folder.with_name("results"), **given)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "class").mkdir()
    return tmp_path / "class"


def test_each_student_is_found_with_each_exercise(folder):
    good_class(folder)
    put(folder, "ben", untouched("08_group_major"), "08_group_major/group_major.ipynb")
    jobs = found(folder)
    students = ["anna", "ben", "cleo", "dan", "eva", "finn", "gül", "hal"]
    assert list(jobs) == [(s, e) for s in students for e in (EXERCISE, "08_group_major")]
    assert {s for (s, e), job in jobs.items() if e == EXERCISE and not job.file} == {"hal"}
    assert {s for (s, e), job in jobs.items() if e != EXERCISE and job.file} == {"ben"}


@pytest.mark.parametrize(
    "file",
    [
        f"{EXERCISE}/{NAME}",
        f"{EXERCISE}/anything.ipynb",
        f"week 1/{EXERCISE}/deep/{NAME}",
        "Memory_Hierarchy/x.ipynb",
        NAME,
        "01_memory_hierarchy.ipynb",
        "memory_hierarchy (2).ipynb",
        "作业.ipynb",  # by the steps that it defines
    ],
)
def test_the_exercise_of_a_file_is_told_by_folder_name_or_content(folder, file):
    put(folder, "anna", solved(), file)
    assert found(folder) == {("anna", EXERCISE): plan.find(folder)[0]}
    assert plan.find(folder)[0].file == str(Path("anna", file))


def test_the_name_of_one_exercise_inside_another_is_not_mistaken(folder):
    put(folder, "anna", b"{}", "online_softmax.ipynb")
    put(folder, "ben", b"{}", "softmax.ipynb")
    files = {exercise for (_, exercise), job in found(folder).items() if job.file}
    assert files == {"11_online_softmax", "05_softmax"}


def test_the_file_with_the_released_name_counts_and_the_others_are_told(folder):
    put(folder, "anna", solved())
    put(folder, "anna", b"{}", f"{EXERCISE}/scratch.ipynb")
    put(folder, "anna", b"x = 1\n", "helpers.py")  # no step of the course: no submission
    put(folder, "anna", b"{}", f".ipynb_checkpoints/{NAME}")
    [job] = plan.find(folder)
    assert job.file == f"anna/{EXERCISE}/{NAME}" and not job.trouble
    assert job.notes == (f"Not graded: {EXERCISE}/scratch.ipynb.",)


def test_a_link_is_not_followed(folder, tmp_path):
    put(folder, "anna", solved())
    (tmp_path / "elsewhere").mkdir()
    put(tmp_path, "elsewhere", solved(), NAME)
    (folder / "ben").symlink_to(tmp_path / "elsewhere")
    (folder / "cleo").mkdir()
    (folder / "cleo" / EXERCISE).symlink_to(tmp_path / "elsewhere")
    jobs = plan.find(folder)
    assert [job.student for job in jobs if job.file and not job.trouble] == ["anna"]
    told = {job.student for job in jobs if "symbolic link" in job.trouble}
    assert told == {"ben", "cleo"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_has_a_sentence(folder):
    put(folder, "anna", solved()).chmod(0)
    put(folder, "ben", solved()).parent.chmod(0)
    jobs = found(folder)
    assert "cannot be read" in jobs["anna", EXERCISE].trouble
    assert "cannot be read" in jobs["ben", EXERCISE].trouble


def test_no_bad_file_stops_the_planning(folder):
    words = bad_files(folder)
    assert {job.student for job in plan.find(folder)} == words.keys() | {"source"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda f: f.rmdir(), "no such folder"),
        (lambda f: None, "no folder in it"),
        (lambda f: (f / NAME).write_bytes(solved()), "expected FOLDER/STUDENT/EXERCISE/NOTEBOOK"),
        (lambda f: (f / "anna").mkdir(), "no notebook and no .py file"),
        (lambda f: put(f, "anna", b"x = 1", "notes.py"), "no notebook and no .py file"),
    ],
)
def test_a_folder_without_submissions_is_refused(folder, make, words):
    make(folder)
    with pytest.raises(BadInput, match=words):
        made(folder)


def test_results_may_not_lie_in_the_class(folder):
    put(folder, "anna", solved())
    with pytest.raises(BadInput, match="outside the folder"):
        plan.make(folder, folder / "results", SEED, 10.0, True)


def test_shards_are_disjoint_and_together_all():
    random.seed(SEED)
    for _ in range(200):
        jobs = [Job(f"s{n}", EXERCISE) for n in range(random.randrange(60))]
        parts = random.randrange(1, 20)
        shards = [plan.shard(jobs, part, parts) for part in range(1, parts + 1)]
        assert Counter(job for s in shards for job in s) == Counter(jobs)
        sizes = [len(s) for s in shards]
        assert max(sizes) - min(sizes) <= 1


def test_a_class_keeps_its_seed(folder):
    put(folder, "anna", solved())
    first, again = made(folder, seed=None), made(folder, seed=None)
    assert first.settings.seed == again.settings.seed
    assert made(folder, seed=5).settings.seed == made(folder, seed=None).settings.seed == 5


def save(planned: plan.Plan, job: Job, **changes) -> None:
    fields = {"state": "graded", "basis": planned.basis(job), "points": 3.0, "max_points": 12}
    about = {"student": job.student, "exercise": job.exercise, "file": job.file}
    record.save(planned.path_of(job), Record(**(about | fields | changes)))


def test_a_result_holds_until_what_it_depends_on_changes(folder, monkeypatch):
    path = put(folder, "anna", solved())
    planned = made(folder)
    [job] = planned.jobs
    assert planned.known(job) is None
    save(planned, job)
    assert planned.known(job).points == 3.0

    def holds(**options) -> bool:
        now = made(folder, **options)
        return now.known(now.jobs[0]) is not None

    assert holds()
    assert not holds(timeout=5.0)
    assert not holds(speed=False)
    assert not holds(gpu=True)
    assert not holds(seed=SEED + 1)
    assert holds(seed=SEED)
    os.utime(path, (0, 0))  # the date does not matter, the bytes do
    assert holds()
    path.write_bytes(solved() + b"\n")
    assert not holds()
    path.write_bytes(solved())
    assert holds()
    monkeypatch.setattr(plan, "engine", lambda: "a grader of another day")
    assert not holds()
    monkeypatch.undo()
    assert holds()
    other = [replace(step, points=step.points + 1) for step in plan.steps_of(EXERCISE)]
    monkeypatch.setattr(plan, "steps_of", lambda exercise: other)
    assert not holds()


def test_a_threshold_of_speed_matters_only_where_speed_is_measured(folder, monkeypatch):
    put(folder, "anna", b"", "04_first_kernels/first_kernels.ipynb")
    chosen = choices.Choices(thresholds={"vector_add": 0.5, "softmax": 0.7})
    monkeypatch.setattr(choices, "load", lambda: chosen)

    def thresholds(**options) -> dict:
        planned = made(folder, **options)
        return planned.basis(planned.jobs[0])["thresholds"]

    assert thresholds(gpu=True) == {"vector_add": 0.5}
    assert thresholds() == thresholds(gpu=True, speed=False) == {}


def test_what_the_grader_failed_at_is_tried_again(folder):
    put(folder, "anna", solved())
    planned = made(folder)
    assert planned.todo(planned.jobs) == planned.jobs
    save(planned, planned.jobs[0], state="failed", points=None)
    assert planned.todo(planned.jobs) == planned.jobs
    save(planned, planned.jobs[0])
    assert planned.todo(planned.jobs) == []


def test_a_late_submission_replaces_not_submitted(folder):
    put(folder, "anna", solved())
    (folder / "ben").mkdir()
    planned = made(folder)
    ben = next(job for job in planned.jobs if job.student == "ben")
    save(planned, ben, state="not_submitted", points=None)
    assert planned.known(ben) is not None
    put(folder, "ben", solved())
    planned = made(folder)
    assert planned.known(next(job for job in planned.jobs if job.student == "ben")) is None


def test_the_engine_is_told_by_its_sources_and_versions(monkeypatch):
    first = plan.engine()
    plan.engine.cache_clear()
    assert plan.engine() == first
    for change in ({"device": "another GPU"}, {"triton": "0"}):
        monkeypatch.setattr(plan, "describe", lambda change=change: change)
        plan.engine.cache_clear()
        assert plan.engine() != first
    plan.engine.cache_clear()


@pytest.mark.parametrize("half", [0, 1, 100, -2])
def test_half_a_result_does_not_count(folder, half):
    put(folder, "anna", solved())
    planned = made(folder)
    [job] = planned.jobs
    save(planned, job)
    path = planned.path_of(job)
    path.write_bytes(path.read_bytes()[:half])
    assert planned.known(job) is None


def test_a_result_is_never_seen_half_written(folder, monkeypatch):
    """Whoever looks while one is replaced meets the old one."""
    put(folder, "anna", solved())
    planned = made(folder)
    [job] = planned.jobs
    save(planned, job)
    seen = []
    replace = os.replace

    def look(new, old):
        seen.append(planned.known(job).points)
        replace(new, old)

    monkeypatch.setattr(os, "replace", look)
    save(planned, job, points=7.0)
    assert seen == [3.0] and planned.known(job).points == 7.0
    assert [p.name for p in planned.path_of(job).parent.iterdir()] == [f"{EXERCISE}.json"]
