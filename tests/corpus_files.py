"""Reads the corpora: every submission with the verdict that its header asks for."""

from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Entry:
    """One corpus file. `expect` and `causes` are the alternatives that its header allows.

    `needs` are layers of isolation of which one must be on for the file to be judged so.
    """

    path: Path
    family: str  # wrong, honest, dishonest, hostile
    step: str
    expect: tuple[str, ...]
    causes: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.step}/{self.family}/{self.path.stem}"


def _header(path: Path) -> dict[str, str]:
    head = path.read_text(encoding="utf-8").split('"""')[1]
    fields = {}
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() in ("step", "expect", "cause", "needs"):
            fields[key.strip()] = value.strip()
    return fields


def _alternatives(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|") if part.strip())


def entries(family: str | None = None) -> list[Entry]:
    """Every corpus file, or those of one family, in a fixed order."""
    found = []
    for path in sorted(CORPUS.glob("*/*/*.py")):
        if family in (None, path.parent.name):
            header = _header(path)
            found.append(
                Entry(
                    path,
                    path.parent.name,
                    header["step"],
                    _alternatives(header["expect"]),
                    _alternatives(header.get("cause", "")),
                    _alternatives(header.get("needs", "")),
                )
            )
    return found
