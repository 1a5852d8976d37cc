"""What one class does of the course: its chapters, points, deadlines and thresholds of speed.

They stand in `course.toml` beside the Makefile; without that file the course is as `course.py`
lists it. Must never decide a verdict: a choice says what a step is worth, not whether it is right.
"""

import tomllib
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path

from autograder import course
from autograder.submission import BadInput

FILE = course.ROOT / "course.toml"
TABLES = ("points", "deadlines", "thresholds")
ALL_CHAPTERS = tuple(dict.fromkeys(step.chapter for step in course.STEPS))


@dataclass(frozen=True)
class Choices:
    """The entries of a valid `course.toml`.

    `chapters`: numbers, in the order of the course. `points`: step → points, where they differ from
    the course's. `deadlines`: chapter → time with its offset from UTC. `thresholds`: step → share of
    the library's speed on the same GPU, such as 0.6.
    """

    chapters: tuple[int, ...] = ALL_CHAPTERS
    points: dict[str, float] = field(default_factory=dict)
    deadlines: dict[int, datetime] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)

    def points_of(self, step: course.Step) -> float:
        """What the step is worth in this class: nothing in a chapter that is left out."""
        return self.points.get(step.name, step.points) if step.chapter in self.chapters else 0

    def applied(self, step: course.Step) -> course.Step:
        """The step with the points that it has in this class."""
        return replace(step, points=self.points_of(step))

    def steps(self) -> list[course.Step]:
        """The steps of the chosen chapters, with their points."""
        return [self.applied(step) for step in course.STEPS if step.chapter in self.chapters]


def load(path: Path | None = None) -> Choices:
    """What `course.toml` says; the whole course where there is none.

    Raises BadInput, with one line, for a file that cannot be read and for an entry that is not one.
    """
    path = FILE if path is None else path
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return Choices()
    except OSError as error:
        raise BadInput(f"{path.name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path.name}: not a text file in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path.name}: not valid TOML: {error}") from None
    except RecursionError:
        raise BadInput(f"{path.name}: its brackets are nested too deeply to read") from None
    try:
        return _choices(entries)
    except ValueError as error:
        raise BadInput(f"{path.name}: {error}") from None


def _choices(entries: dict) -> Choices:
    """Raises ValueError for the first entry that cannot be used."""
    for name in entries:
        if name not in ("chapters", *TABLES):
            raise ValueError(f"{name!r} is no entry{_meant(name, ('chapters', *TABLES))}")
    for name in TABLES:
        if type(entries.get(name, {})) is not dict:
            raise ValueError(f"{name} is a table: write [{name}] and one line for each entry")
    chapters = _chapters(entries.get("chapters", list(ALL_CHAPTERS)))
    return Choices(
        chapters,
        {_step("points", k, chapters): _points(k, v) for k, v in entries.get("points", {}).items()},
        dict(_deadline(k, v, chapters) for k, v in entries.get("deadlines", {}).items()),
        dict(threshold(k, v, chapters) for k, v in entries.get("thresholds", {}).items()),
    )


def _chapters(value) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"chapters is a list of chapter numbers, such as [4, 5], not {value!r}")
    for number in value:
        if type(number) is not int or number not in ALL_CHAPTERS:
            raise ValueError(
                f"chapters: {number!r} is no chapter with exercises "
                f"(they are {ALL_CHAPTERS[0]} to {ALL_CHAPTERS[-1]})"
            )
    return tuple(number for number in ALL_CHAPTERS if number in value)


def _step(table: str, name: str, chapters: tuple[int, ...]) -> str:
    step = course.find_step(name)
    if step is None:
        raise ValueError(f"{table}: {name!r} is not a step{step_meant(name)}")
    if step.chapter not in chapters:
        raise ValueError(f"{table}: {name} belongs to chapter {step.chapter}, which is left out")
    return name


def _points(name: str, value) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1000:
        raise ValueError(f"points: {name} = {value!r} is not a number from 0 to 1000")
    return value


def _deadline(name: str, value, chapters: tuple[int, ...]) -> tuple[int, datetime]:
    if not name.isdecimal() or int(name) not in chapters:
        chosen = ", ".join(map(str, chapters))
        raise ValueError(f"deadlines: {name!r} is none of the chosen chapters ({chosen})")
    if not isinstance(value, datetime) or value.tzinfo is None:
        example = "2027-02-01T23:59:00+01:00"
        raise ValueError(
            f"deadlines: chapter {name} needs date, time and offset, such as {example}"
        )
    return int(name), value


def threshold(name: str, value, chapters: tuple[int, ...] = ALL_CHAPTERS) -> tuple[str, float]:
    """A step and the share of the library's speed asked of it. Raises ValueError if it is not one."""
    _step("thresholds", name, chapters)
    if not course.find_step(name).speed:
        raise ValueError(f"thresholds: the speed of {name} does not count")
    if type(value) not in (int, float) or not 0 < value <= 1.5:
        raise ValueError(
            f"thresholds: {name} = {value!r} is not a share of the library's speed (above 0, up to 1.5)"
        )
    return name, value


def step_meant(*names: str) -> str:
    """How a sentence on names that are no step goes on: the step that one may mean, or where all are."""
    steps = [step.name for step in course.STEPS]
    pairs = [(name, *get_close_matches(name, steps, n=1)) for name in names]
    pairs = [pair for pair in pairs if len(pair) == 2]
    if not pairs:
        return "; `autograder list` shows the steps"
    _, nearest = max(pairs, key=lambda pair: SequenceMatcher(None, *pair).ratio())
    return f"; did you mean {nearest!r}?"


def _meant(name: str, known) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f" (known: {', '.join(known)})"
