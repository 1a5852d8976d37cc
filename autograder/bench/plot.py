"""Draws the table as an SVG: for each precision TFLOPS and the share of the library by size.

Series differ by dash and mark, not by colour, so the drawing can be read in light, dark and print.
Must never load anything from elsewhere.
"""

from html import escape
from itertools import cycle
from math import ceil, floor, log2, log10

from autograder.bench.plan import LIBRARY, NAIVE
from autograder.bench.shapes import MODEL, SQUARES
from autograder.report.chart import DASHES, MARKS
from autograder.report.words import label

WIDTH, HEIGHT = 300, 180  # of a panel, without its labels
LEFT, TOP, GAP, BELOW = 60, 84, 70, 130
# In a file the drawing follows the reader's system; inside a page, the page's text.
STYLE = "svg:root{color:#222}@media(prefers-color-scheme:dark){svg:root{color:#ddd}}"
WORDS = (
    "For each precision three panels: TFLOPS of square products by their size, the share of "
    f"{LIBRARY} for the same products, and that share for the shapes of language models. The figures "
    "are in the JSON file of the same run."
)


def svg(run: dict) -> str:
    """The drawing as text; `run` is what `--json` writes. By the GPU's own time."""
    rows = [r for r in run["rows"] if "ms" in r and r["kernel"] != NAIVE]
    kernels = list(dict.fromkeys(r["kernel"] for r in rows))
    styles = dict(zip(kernels, zip(cycle(DASHES), cycle(MARKS))))
    on = run["environment"]
    title = f"Products of matrices on {on['gpu']}: the course's kernels and {LIBRARY}"
    body = [
        _text(LEFT - 40, 30, title, size=18),
        _text(LEFT - 40, 54, f"torch {on['torch']}, Triton {on['triton']}, {on['date']}"),
    ]
    sizes = [(shape, log2(shape.N), str(shape.N)) for shape in SQUARES]
    layers = [(shape, at, label(shape)) for at, shape in enumerate(MODEL)]
    dtypes = list(dict.fromkeys(r["dtype"] for r in rows))
    for number, dtype in enumerate(dtypes):
        own = [r for r in rows if r["dtype"] == dtype]
        top = TOP + number * (HEIGHT + BELOW)
        for column, (name, field, places) in enumerate(
            (
                ("TFLOPS, by n", "tflops", sizes),
                (f"share of {LIBRARY}, by n", "share_of_library", sizes),
                (f"share of {LIBRARY}, by M × N × K", "share_of_library", layers),
            )
        ):
            left = LEFT + column * (WIDTH + GAP)
            body.append(_panel(left, top, f"{dtype}: {name}", own, field, places, styles))
    bottom = TOP + len(dtypes) * (HEIGHT + BELOW)
    for at, (kernel, (dash, mark)) in enumerate(styles.items()):
        x, y = LEFT + at % 4 * 270, bottom + at // 4 * 24
        body.append(_line([(x, y - 5), (x + 40, y - 5)], dash) + _mark(x + 20, y - 5, mark))
        body.append(_text(x + 48, y, kernel))
    height = bottom + ceil(len(styles) / 4) * 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * (WIDTH + GAP) + LEFT} {height}" '
        'role="img" aria-labelledby="bench-title bench-desc" font-family="sans-serif" font-size="13" '
        f'fill="currentColor"><style>{STYLE}</style><title id="bench-title">{escape(title)}</title>'
        f'<desc id="bench-desc">{escape(WORDS)}</desc>{"".join(body)}</svg>\n'
    )


def _panel(left, top, title, rows, field, places, styles) -> str:
    """One panel; `places` holds (shape, position, words) of everything on its horizontal axis."""
    found = {(tuple(r["shape"]), r["kernel"]): r[field] for r in rows if r[field] is not None}
    highest = max(found.values(), default=1.0)
    step = nice_step(highest)
    end = step * ceil(highest / step)
    first, last = places[0][1], places[-1][1]

    def across(position):
        return left + WIDTH * (0.04 + 0.92 * (position - first) / (last - first))

    def up(value):
        return top + HEIGHT * (1 - value / end)

    frame = f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}"'
    drawn = [f'{frame} fill="none" stroke="currentColor"/>', _text(left, top - 8, title)]
    for at in range(round(end / step) + 1):
        y = up(at * step)
        drawn.append(f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="currentColor" opacity="0.25"/>')
        drawn.append(_text(left - 6, y + 4, f"{at * step:g}", "end"))
    for _, position, words in places:
        turned = f'transform="translate({across(position):.1f} {top + HEIGHT + 16})rotate(-35)"'
        drawn.append(f'<text {turned} text-anchor="end" font-size="11">{escape(words)}</text>')
    joined = field == "tflops" or places[0][0] in SQUARES
    for kernel, (dash, mark) in styles.items():
        at = [
            (across(position), up(found[shape, kernel]))
            for shape, position, _ in places
            if (shape, kernel) in found
        ]
        drawn += [_line(at, dash)] if joined and len(at) > 1 else []
        drawn += [_mark(x, y, mark) for x, y in at]
    return "".join(drawn)


def nice_step(highest: float) -> float:
    """1, 2 or 5 times a power of ten: the least of which at most six reach the highest value."""
    power = 10.0 ** floor(log10(highest))
    steps = [factor * power for factor in (0.1, 0.2, 0.5, 1.0, 2.0)]
    return next(step for step in steps if highest / step <= 6)


def _line(points, dash) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return (
        f'<path d="M{path}" fill="none" stroke="currentColor" stroke-width="1.5" '
        f'stroke-dasharray="{dash}"/>'
    )


def _mark(x, y, mark) -> str:
    return (
        f'<path class="mark" transform="translate({x:.1f} {y:.1f})scale(0.8)" d="{mark}" fill="none" '
        'stroke="currentColor" stroke-width="1.5"/>'
    )


def _text(x, y, words, anchor="start", size=13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(words)}</text>"
    )
