"""The shape of the package: no import circle, and the trusted side apart from the untrusted."""

import ast
import json
from graphlib import TopologicalSorter

from seeds import SEED

from autograder import causes, course, grading

PACKAGE = course.ROOT / "autograder"


def _modules() -> dict[str, set[str]]:
    """Module name → modules of the package that it imports, at any depth of its code."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    graph = {}
    for name, path in names.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
        graph[name] = {f for f in found if f in names and f not in (name, "autograder")}
    return graph


def test_no_import_circle():
    TopologicalSorter(_modules()).prepare()  # raises CycleError


def test_the_untrusted_side_imports_nothing_of_the_trusted():
    for name, imports in _modules().items():
        if name.startswith("autograder.worker"):
            outside = {i for i in imports if not i.startswith("autograder.worker")}
            assert outside <= {"autograder.shared", "autograder.device_memory"}, name


def test_the_trusted_side_does_not_import_the_worker():
    # Alone `bench` runs kernels in its own process: the course's reference solutions, to time them.
    exempt = {"autograder.bench.reference"}
    for name, imports in _modules().items():
        if not name.startswith("autograder.worker") and name not in exempt:
            assert not any(i.startswith("autograder.worker") for i in imports), name


def test_nothing_that_grades_can_reach_what_runs_kernels_in_its_own_process():
    for name, imports in _modules().items():
        if not name.startswith("autograder.bench") and name != "autograder.cli":
            assert not any(i.startswith("autograder.bench") for i in imports), name


def test_every_hint_points_to_an_existing_place():
    for step in course.STEPS:
        for cause in causes.CAUSES:
            path, _, anchor = causes.reading(cause, step.chapter, step.folder).partition("#")
            assert f"({anchor})=" in (course.ROOT / path).read_text(encoding="utf-8"), (cause, path)


def test_a_chapter_is_linked_by_paragraph_as_soon_as_it_exists(tmp_path, monkeypatch):
    for step in course.STEPS:
        if (course.ROOT / "book" / f"{step.folder}.md").exists():
            for cause in causes.CAUSES:
                address = causes.reading(cause, step.chapter, step.folder)
                assert address.startswith(f"book/{step.folder}.md#ch{step.chapter}-"), address
    monkeypatch.setattr(causes, "BOOK", tmp_path)
    assert causes.reading("max_not_subtracted", 5, "05_softmax") == "book/index.md#chapters"
    (tmp_path / "05_softmax.md").touch()
    found = causes.reading("max_not_subtracted", 5, "05_softmax")
    assert found == "book/05_softmax.md#ch5-stability"


def test_the_size_of_every_case_can_be_written_into_a_report():
    for step in course.STEPS:
        for case in grading.battery(step, SEED):
            json.dumps(case.size)  # raises TypeError for a number that is NumPy's


def test_no_solution_defines_a_step_of_another_chapter():
    for path in sorted((course.ROOT / "solutions").glob("*.py")):
        defined = {
            node.name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        theirs = {step.name for step in course.STEPS if step.folder != path.stem}
        assert not defined & theirs, path


def test_every_step_has_a_corpus():
    for step in course.STEPS:
        for family in ("wrong", "honest", "dishonest"):
            assert list((course.ROOT / "tests" / "corpus" / step.name / family).glob("*.py")), step
