"""Draws series on two logarithmic axes as the inside of an SVG, in the colour of the text.

Series differ by shape and dash, not by colour, so a drawing can be read in light, dark and print.
Whoever uses it puts the <svg> around it, with words for those who cannot see it. Must never load
anything from elsewhere.
"""

from html import escape
from itertools import cycle
from math import ceil, floor, log10

DASHES = ("", "7 4", "2 3", "9 3 2 3")
# Paths around (0, 0): square, cross, triangle, ring, diamond, plus, triangle on its head, bar,
# two bars.
MARKS = (
    "M-4-4h8v8h-8z",
    "M-4-4l8 8M4-4l-8 8",
    "M0-5l5 9h-10z",
    "M4.5 0a4.5 4.5 0 1 0-9 0a4.5 4.5 0 1 0 9 0z",
    "M0-6l5 6l-5 6l-5-6z",
    "M-5 0h10M0-5v10",
    "M0 5l5-9h-10z",
    "M0-6v12",
    "M-5-2h10M-5 2h10",
)
LEFT, TOP, WIDTH, HEIGHT = 62, 14, 420, 260
FULL_WIDTH = 520


def log_axes(x_label, y_label, lines, points):
    """The elements of the drawing, FULL_WIDTH wide, and its height.

    lines, points     dicts, name → list of (x, y), both above 0; joined up, or marked one by one
    """
    every = [pair for series in (*lines.values(), *points.values()) for pair in series]
    x_low, x_high = _decades([x for x, _ in every])
    y_low, y_high = _decades([y for _, y in every])

    def place(x, y):
        right = LEFT + WIDTH * (log10(x) - x_low) / (x_high - x_low)
        return f"{right:.1f} {TOP + HEIGHT * (y_high - log10(y)) / (y_high - y_low):.1f}"

    body = [f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" stroke-width="1.5"/>']
    texts = []
    for k in range(x_low, x_high + 1):
        at = place(10.0**k, 10.0**y_low).split()[0]
        body.append(f'<path d="M{at} {TOP}v{HEIGHT}" opacity="0.25"/>')
        texts.append(_text(at, TOP + HEIGHT + 20, _power(k), "middle"))
    for k in range(y_low, y_high + 1):
        at = place(10.0**x_low, 10.0**k).split()[1]
        body.append(f'<path d="M{LEFT} {at}h{WIDTH}" opacity="0.25"/>')
        texts.append(_text(LEFT - 6, float(at) + 5, _power(k), "end"))
    texts.append(_text(LEFT + WIDTH / 2, TOP + HEIGHT + 42, x_label, "middle"))
    texts.append(
        f'<text transform="translate(14 {TOP + HEIGHT / 2})rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )
    row = TOP + HEIGHT + 68
    for (name, series), dash in zip(lines.items(), cycle(DASHES)):
        for path in ("L".join(place(*pair) for pair in series), f"{LEFT} {row - 5}h28"):
            body.append(f'<path d="M{path}" stroke-width="2" stroke-dasharray="{dash}"/>')
        texts.append(_text(LEFT + 38, row, name, "start"))
        row += 20
    for (name, series), mark in zip(points.items(), cycle(MARKS)):
        at = [place(*pair) for pair in series] + [f"{LEFT + 14} {row - 5}"]
        body += [f'<path transform="translate({p})" d="{mark}" stroke-width="1.5"/>' for p in at]
        texts.append(_text(LEFT + 38, row, name, "start"))
        row += 20
    shapes = f'<g fill="none" stroke="currentColor">{"".join(body)}</g>'
    return f'{shapes}<g fill="currentColor">{"".join(texts)}</g>', row - 8


def _decades(values):
    """The powers of ten around all values, at least one apart."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _power(k):
    if -2 <= k <= 3:
        return f"{10.0**k:,g}"
    return "10" + str(k).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _text(x, y, words, anchor):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'
