"""Finds the line of a notebook's file in which a line of a cell stands, for annotations.

Must never guess: an answer is checked against the text of the cell.
"""

import json
import re
from pathlib import Path


def line_in_file(path: Path, cell: int, line: int) -> int | None:
    """The line of the file, from 1, for a line of a cell, both from 1 and text cells counted.

    None where there is no such line, or where the file does not give each line of a cell a line of
    its own, as Jupyter and VS Code do.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        wanted = json.loads(text)["cells"][cell - 1]["source"][line - 1]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    lines = text.split("\n")
    heads = {n: re.match(r' *(?="source": \[)', row) for n, row in enumerate(lines, 1)}
    depths = {n: len(head[0]) for n, head in heads.items() if head}
    # Outputs may hold a "source" of their own; they lie deeper.
    starts = [n for n, depth in depths.items() if depth == min(depths.values())]
    try:
        found = starts[cell - 1] + line
        same = json.loads(lines[found - 1].strip().removesuffix(",")) == wanted
    except (LookupError, ValueError):
        return None
    return found if same else None
