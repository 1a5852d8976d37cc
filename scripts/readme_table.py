"""Writes the recorded table of the course's matmul kernels into the README, between its two markers.

    python scripts/readme_table.py

Run it whenever the record changes: a test compares. Must never change anything outside the markers.
"""

import json

from autograder import course
from autograder.bench import table

README = course.ROOT / "README.md"
RECORD = "book/measurements/10_bench.json"
BEGIN = "<!-- bench: begin, written by scripts/readme_table.py -->"
END = "<!-- bench: end -->"


def block(run: dict) -> str:
    """The lines that belong between the markers."""
    return (
        f"\n{table.markdown(table.means(run))}\n\n{table.MEANS}\n\n"
        f"One recorded run: {table.source(run)}; all figures are in [`{RECORD}`]({RECORD}).\n"
    )


def filled(text: str, run: dict) -> str:
    """The README's text with that block. Raises ValueError unless each marker is there once."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in before + after:
        raise ValueError(f"README.md: expected {BEGIN} and then {END}, each once")
    return f"{before}{BEGIN}\n{block(run)}\n{END}{after}"


if __name__ == "__main__":
    recorded = json.loads((course.ROOT / RECORD).read_text(encoding="utf-8"))
    README.write_text(filled(README.read_text(encoding="utf-8"), recorded), encoding="utf-8")
