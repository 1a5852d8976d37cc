"""The summary of a class as one HTML file that needs nothing else: no script, no request.

What the marks are, which steps fail most and for which cause, what took longest, what could not be
graded, and which submissions look alike. Everything that a student chose is escaped. Must never change
a mark, and never show a missing one as zero.
"""

from collections import Counter
from dataclasses import dataclass, field

from autograder import course
from autograder.batch.plan import Job, Plan
from autograder.batch.record import NOTABLE, Record
from autograder.batch.similar import Comparison, compare
from autograder.report.fragment import escaped
from autograder.report.html import document, table

SLOWEST = 10
BINS = 10
NAMED_CAUSES = 3
WORDS = {
    "graded": "graded",
    "crashed": "crashed",
    "timed_out": "did not end",
    "refused": "refused",
    "not_submitted": "not submitted",
    "unreadable": "cannot be graded",
    "failed": "failed in the grader",
    "pending": "not graded yet",
}


@dataclass
class StepCount:
    """How a class did on one step. `causes` counts the hints of those that did not pass."""

    step: str
    exercise: str
    graded: int = 0
    failed: int = 0
    causes: Counter = field(default_factory=Counter)


def summary(plan: Plan, known: dict[Job, Record | None]) -> str:
    """The file's text; `known` are the result files that hold, with None where there is none."""
    records = [r for r in known.values() if r is not None]
    graded = [r for r in records if r.points is not None]
    counts = Counter(r.state if r is not None else "pending" for r in known.values())
    students = len({job.student for job in plan.jobs})
    told = ", ".join(f"{counts[s]} {word}" for s, word in WORDS.items() if counts[s])
    intro = (
        f"<h1>{escaped(plan.folder.name)}: {students} students</h1>\n<p>{told}.</p>\n"
        f'<p class="small">Seed {plan.settings.seed}. Points of a submission that was not handed in, '
        "or that cannot be graded, are missing, not zero.</p>\n<main>\n"
    )
    body = [
        intro,
        _steps(step_counts(graded)),
        _histograms(plan, known),
        _slowest(graded),
        _troubles(records),
        _alike(compare(records)),
        _marks(plan, known),
        "</main>\n",
    ]
    return document(f"Class: {escaped(plan.folder.name)}", "".join(body))


def step_counts(records: list[Record]) -> list[StepCount]:
    """Every graded step, the one that fails most first."""
    found: dict[str, StepCount] = {}
    for record in records:
        for step in record.steps():
            count = found.setdefault(step["step"], StepCount(step["step"], record.exercise))
            count.graded += 1
            if not step["passed"]:
                count.failed += 1
                count.causes[step["hint"]["cause"] if step["hint"] else "no cause named"] += 1
    return sorted(found.values(), key=lambda c: -c.failed / c.graded)


def _steps(counts: list[StepCount]) -> str:
    rows = [
        [
            f"<code>{escaped(c.step)}</code>",
            escaped(c.exercise),
            f"{c.failed} of {c.graded}",
            _bar(c.failed / c.graded),
            ", ".join(
                f"<code>{escaped(cause)}</code>&nbsp;{n}"
                for cause, n in c.causes.most_common(NAMED_CAUSES)
            ),
        ]
        for c in counts
    ]
    head = ["step", "exercise", "not passed", "share", "most frequent causes"]
    return "<h2>Steps that fail most</h2>\n" + table(head, rows, numbers={2})


def _bar(share: float) -> str:
    return (
        f'<svg role="img" aria-label="{share:.0%}" width="80" height="10" viewBox="0 0 80 10">'
        '<rect width="80" height="10" fill="currentColor" fill-opacity=".15"/>'
        f'<rect width="{80 * share:.1f}" height="10" style="fill:var(--wrong)"/></svg>'
    )


def _histograms(plan: Plan, known: dict[Job, Record | None]) -> str:
    """One for each exercise: how many submissions earned which share of the points."""
    parts = ['<h2>Points</h2>\n<div style="display:flex;flex-wrap:wrap;gap:1rem 2rem">']
    for exercise in dict.fromkeys(job.exercise for job in plan.jobs):
        theirs = [r for j, r in known.items() if j.exercise == exercise and r is not None]
        marks = [r for r in theirs if r.points is not None and r.max_points]
        if marks:
            parts.append(_histogram(exercise, marks))
    return "".join(parts) + "</div>\n"


def bins(records: list[Record]) -> list[int]:
    """Submissions by their share of the points, in ten equal parts; all points are in the last."""
    found = [0] * BINS
    for record in records:
        found[min(int(BINS * record.points / record.max_points), BINS - 1)] += 1
    return found


def _histogram(exercise: str, records: list[Record]) -> str:
    counts, most = bins(records), records[0].max_points
    top, wide, high = max(counts), 24, 80
    columns = "".join(
        f'<rect x="{i * wide + 2}" y="{high - high * n / top + 14:.1f}" width="{wide - 4}" '
        f'height="{high * n / top:.1f}" fill="currentColor" fill-opacity=".55"/>'
        f'<text x="{i * wide + wide / 2}" y="{high - high * n / top + 11:.1f}" text-anchor="middle">{n}</text>'
        for i, n in enumerate(counts)
        if n
    )
    told = "; ".join(
        f"{n} from {most * i / BINS:g} to {most * (i + 1) / BINS:g}"
        for i, n in enumerate(counts)
        if n
    )
    width = BINS * wide
    return (
        f'<figure style="margin:0"><figcaption><code>{escaped(exercise)}</code></figcaption>'
        f'<svg role="img" aria-label="Submissions by points: {told}" width="{width}" height="{high + 32}" '
        f'viewBox="0 0 {width} {high + 32}" font-size="11" fill="currentColor" style="max-width:100%;height:auto">'
        f'{columns}<path d="M0 {high + 14.5}H{width}" stroke="currentColor"/>'
        f'<text x="0" y="{high + 28}">0</text><text x="{width}" y="{high + 28}" text-anchor="end">'
        f"{most:g} points</text></svg></figure>"
    )


def _slowest(records: list[Record]) -> str:
    slow = sorted(records, key=lambda r: -r.seconds)[:SLOWEST]
    rows = [[_who(r), escaped(r.exercise), f"{r.seconds:.1f} s"] for r in slow]
    return "<h2>Slowest to grade</h2>\n" + table(["student", "exercise", "time"], rows, {2})


def _troubles(records: list[Record]) -> str:
    """What a person should look at: no mark, a run that ended badly, or more than one file."""
    rows = []
    for r in records:
        text = _message(r) if r.state in NOTABLE else r.reason
        notes = " ".join([text, *r.notes]).strip()
        if notes:
            rows.append(
                [_who(r), escaped(r.exercise), WORDS[r.state], escaped(r.file), escaped(notes)]
            )
    if not rows:
        return ""
    head = ["student", "exercise", "state", "file", "why"]
    return "<h2>To look at</h2>\n" + table(head, rows)


def _message(record: Record) -> str:
    """The first message of the kind that names the record's state."""
    checks = [(s["step"], c) for s in record.steps() for c in s["checks"]]
    return next(f"{step}: {c['message']}" for step, c in checks if c["status"] == record.state)


def _alike(comparisons: list[Comparison]) -> str:
    if not comparisons:
        return ""
    intro = (
        "<h2>Submissions that look alike</h2>\n"
        "<p>Advice, not a verdict. What the exercise gives, comments, layout and chosen names do not count. "
        "The same short step, or the reference solution that the book shows, makes honest work look alike: "
        "read both before you ask.</p>\n"
    )
    parts = [intro]
    for c in comparisons:
        parts.append(
            f"<p><code>{escaped(c.exercise)}</code>: {c.compared} compared; "
            f"two of them are usually {c.usual:.0%} alike.</p>\n"
        )
        rows = [[escaped(p.one), escaped(p.other), f"{p.share:.0%}"] for p in c.pairs]
        if rows:
            parts.append(table(["student", "student", "alike"], rows, {2}))
    return "".join(parts)


def _marks(plan: Plan, known: dict[Job, Record | None]) -> str:
    exercises = list(dict.fromkeys(s.folder for s in course.STEPS))
    exercises = [e for e in exercises if any(j.exercise == e for j in plan.jobs)]
    cells: dict[str, dict[str, str]] = {}
    for job, record in known.items():
        cells.setdefault(job.student, {})[job.exercise] = _mark(record)
    rows = [
        [escaped(student), *(theirs.get(e, "") for e in exercises)]
        for student, theirs in cells.items()
    ]
    numbers = set(range(1, len(exercises) + 1))
    return "<h2>All submissions</h2>\n" + table(["student", *exercises], rows, numbers)


def _mark(record: Record | None) -> str:
    if record is None:
        return f"<i>{WORDS['pending']}</i>"
    points = "" if record.points is None else f"{record.points:g} of {record.max_points:g}"
    word = "" if record.state == "graded" else f"<i>{WORDS[record.state]}</i>"
    return " ".join(filter(None, (points, word)))


def _who(record: Record) -> str:
    return escaped(record.student)
