"""Looks at the whole course as one class would get it: is everything there, and does it fit?

`examine` reads files only and takes seconds; `grade_references` runs every reference solution.
Must never change the course.
"""

import ast
import secrets
from collections.abc import Callable
from pathlib import Path

from autograder import authoring, causes, choices, course, grading
from autograder.doctor import Finding
from autograder.sandbox import Sandbox
from autograder.submission import BadInput, read

CORPORA = ("wrong", "honest", "dishonest")


def examine() -> list[Finding]:
    """What `doctor --course` prints first: the choices, one line a chapter, the sum of the points.

    Raises BadInput for a `course.toml` that cannot be used.
    """
    chosen = choices.load()
    chapters = _chapters(chosen)
    return [
        _choices(chosen),
        *(finding for steps in chapters.values() for finding in _chapter(steps, chosen)),
        _points(chosen),
    ]


def grade_references(sandbox: Sandbox, progress: Callable[[str, int, int], None]) -> list[Finding]:
    """Grades the reference solutions of the chosen chapters, one finding for each chapter."""
    findings = []
    settings = grading.Settings(secrets.randbelow(2**31), speed=False)
    for folder, steps in _chapters(choices.load()).items():
        try:
            submission = read(_solution(folder))
        except BadInput as error:
            findings.append(Finding(_name(steps), False, str(error)))
            continue
        result = grading.grade_submission(submission, steps, sandbox, settings, progress)
        text = f"the reference solutions pass ({sum(s.seconds for s in result.steps):.0f} s)"
        if not result.passed:
            wrong = [f"{s.step} ({s.failed[0].name})" for s in result.steps if not s.passed]
            text = f"the reference fails with --seed {settings.seed}: {', '.join(wrong)}"
        findings.append(Finding(_name(steps), result.passed, text))
    return findings


def _chapters(chosen: choices.Choices) -> dict[str, list[course.Step]]:
    """Folder name → the chosen steps of that chapter."""
    chapters: dict[str, list[course.Step]] = {}
    for step in chosen.steps():
        chapters.setdefault(step.folder, []).append(step)
    return chapters


def _name(steps: list[course.Step]) -> str:
    return f"chapter {steps[0].chapter}"


def _solution(folder: str) -> Path:
    return course.ROOT / "solutions" / f"{folder}.py"


def _choices(chosen: choices.Choices) -> Finding:
    if not choices.FILE.exists():
        return Finding("choices", True, f"no {choices.FILE.name}: the course as it stands")
    entries = ", ".join(f"{len(getattr(chosen, name))} under [{name}]" for name in choices.TABLES)
    text = f"{len(chosen.chapters)} of {len(choices.ALL_CHAPTERS)} chapters; {entries}"
    return Finding("choices", True, f"{choices.FILE.name}: {text}")


def _points(chosen: choices.Choices) -> Finding:
    total = sum(step.points for step in chosen.steps())
    text = f"{total:g} in all" if total else "no step is worth any"
    return Finding("points", total > 0, text)


def _chapter(steps: list[course.Step], chosen: choices.Choices) -> list[Finding]:
    folder = steps[0].folder
    troubles = [*_solution_troubles(folder, steps), *_corpus_troubles(steps)]
    page = course.ROOT / "book" / f"{folder}.md"
    if page.exists():
        troubles += _anchor_troubles(page, steps)
    text = "; ".join(troubles)
    if not troubles:
        text = f"{len(steps)} steps, {sum(step.points for step in steps):g} points"
        due = chosen.deadlines.get(steps[0].chapter)
        text += f", due {due:%Y-%m-%d %H:%M %Z}" if due else ""
    findings = [Finding(_name(steps), not troubles, text)]
    if not page.exists():
        text = f"book/{page.name} is not written: hints lead to the list of chapters"
        findings.append(Finding(_name(steps), False, text, needed=False))
    return findings


def _solution_troubles(folder: str, steps: list[course.Step]) -> list[str]:
    """Whether the reference defines every step, and the notebook is what is made from it."""
    source = _solution(folder)
    if not source.is_file():
        return [f"solutions/{source.name} is missing"]
    try:
        made = authoring.dumps(authoring.exercise(source))
        body = ast.parse(source.read_text(encoding="utf-8")).body
    except (authoring.AuthoringError, SyntaxError) as error:
        return [str(error)]
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    troubles = [
        f"solutions/{source.name} does not define {step.name}"
        for step in steps
        if step.name not in defined
    ]
    notebook = authoring.exercise_path(source)
    if not (course.ROOT / notebook).is_file():
        troubles.append(f"{notebook} is missing: run `make exercises`")
    elif (course.ROOT / notebook).read_bytes() != made:
        troubles.append(f"{notebook} is not what its solution file makes: run `make exercises`")
    return troubles


def _corpus_troubles(steps: list[course.Step]) -> list[str]:
    return [
        f"tests/corpus/{step.name}/{family} has no submission"
        for step in steps
        for family in CORPORA
        if not any((course.ROOT / "tests" / "corpus" / step.name / family).glob("*.py"))
    ]


def _anchor_troubles(page: Path, steps: list[course.Step]) -> list[str]:
    """The places of a page that a hint may lead to, and that are not there."""
    text = page.read_text(encoding="utf-8")
    wanted = {causes.reading(cause, steps[0].chapter, steps[0].folder) for cause in causes.CAUSES}
    anchors = sorted(place.partition("#")[2] for place in wanted)
    return [f"book/{page.name} has no ({a})=" for a in anchors if f"({a})=" not in text]
