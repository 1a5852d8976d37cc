"""How alike two submissions of an exercise are: advice for a person who then reads both.

What the exercise gave to everybody, comments, layout and the names that learners choose do not count;
RapidFuzz compares what is left, token by token. Learners who write the same few lines from the same
page look alike, so a pair stands beside the usual one. Must never change a mark.
"""

import builtins
import io
import keyword
import tokenize
from dataclasses import dataclass
from functools import cache
from statistics import median

from autograder import course
from autograder.batch.record import Record
from autograder.submission import BadInput, Statement, Submission, read

SHORTEST = 40  # tokens; less code than this looks alike by chance
ALIKE = 0.9  # from which a pair is shown
MOST = 20  # pairs of an exercise that are shown
KNOWN = {"tl", "triton", "torch", *dir(builtins)}
LAYOUT = {
    tokenize.ENCODING,
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Pair:
    """Two students, and how alike their code is, from 0 to 1."""

    one: str
    other: str
    share: float


@dataclass(frozen=True)
class Comparison:
    """An exercise: submissions compared, the usual likeness of two, and the pairs most alike."""

    exercise: str
    compared: int
    usual: float
    pairs: list[Pair]


def tokens(submission: Submission, exercise: str) -> str:
    """What the learner wrote of the exercise's steps, step by step, as tokens with blanks between."""
    given = _given(exercise)
    lines = [
        line
        for step in course.STEPS
        if step.folder == exercise
        for statement in submission.slice_for(step.name)
        for line in _lines(statement)
    ]
    return " ".join(token for line in lines if line not in given for token in line)


def compare(records: list[Record]) -> list[Comparison]:
    """Every two submissions of every exercise."""
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    by_exercise: dict[str, list[Record]] = {}
    for record in records:
        if len(record.tokens.split()) >= SHORTEST:
            by_exercise.setdefault(record.exercise, []).append(record)
    found = []
    for exercise, theirs in by_exercise.items():
        if len(theirs) < 2:
            continue
        texts = _as_text([r.tokens.split() for r in theirs])
        shares = process.cdist(texts, texts, scorer=Indel.normalized_similarity)
        pairs = [
            Pair(theirs[i].student, theirs[j].student, float(shares[i, j]))
            for i in range(len(theirs))
            for j in range(i)
        ]
        usual = median(p.share for p in pairs)
        alike = sorted((p for p in pairs if p.share >= ALIKE), key=lambda p: (-p.share, p.one))
        found.append(Comparison(exercise, len(theirs), usual, alike[:MOST]))
    return found


def _as_text(lists: list[list[str]]) -> list[str]:
    """One character for each token, which is what RapidFuzz compares fastest."""
    known: dict[str, str] = {}
    return ["".join(known.setdefault(t, chr(0x100 + len(known))) for t in ts) for ts in lists]


@cache
def _given(exercise: str) -> frozenset[tuple[str, ...]]:
    """The lines that every learner finds in the exercise, as tokens: a renamed one is given, too."""
    slug = exercise.partition("_")[2]
    try:
        released = read(course.ROOT / "exercises" / exercise / f"{slug}.ipynb")
    except BadInput:
        return frozenset()
    return frozenset(line for s in released.statements for line in _lines(s))


def _lines(statement: Statement) -> list[tuple[str, ...]]:
    """The tokens of each line of a statement."""
    node = statement.node
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    found: dict[int, tuple[str, ...]] = {}
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(statement.cell.source).readline):
        line = token.start[0]
        if token.type not in LAYOUT and first <= line <= node.end_lineno:
            found[line] = (*found.get(line, ()), _plain(token, before))
        before = token.string
    return list(found.values())


def _plain(token: tokenize.TokenInfo, before: str) -> str:
    """A token without what a learner may choose freely: names and texts."""
    if token.type == tokenize.STRING:
        return "text"
    chosen = token.type == tokenize.NAME and before != "." and not keyword.iskeyword(token.string)
    return "name" if chosen and token.string not in KNOWN else token.string
