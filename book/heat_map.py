"""Draws tables of shares as inline SVG: the darker a cell, the larger its share.

For cells of the book. Every cell also holds its number, so nothing is told by shade alone, and light,
dark and print need no colours. Must never load anything from elsewhere.
"""

from html import escape
from itertools import count

from IPython.display import HTML

WIDTH = 520
LEFT, CELL, HEIGHT = 52, 50, 30  # of a panel: room for the rows' names, and its cells
ABOVE, BELOW = 52, 18
DARKEST = 0.35  # more would hide the number
_numbers = count(1)


def heat_maps(title, words, corner, panels):
    """Panels, two side by side, to display at the end of a cell.

    title, words   the name, and a text that says what it shows, for those who cannot see it
    corner         what rows and columns are, in a few letters
    panels         dict, name → {(row, column): share from 0 to 1}; a panel shows the rows it has, and
                   the largest share gets a frame
    """
    body, top = [], 0
    names = list(panels)
    for pair in (names[i : i + 2] for i in range(0, len(names), 2)):
        heights = []
        for place, name in enumerate(pair):
            drawn, height = _panel(name, panels[name], corner)
            body.append(f'<g transform="translate({place * WIDTH // 2} {top})">{drawn}</g>')
            heights.append(height)
        top += max(heights)
    number = next(_numbers)
    return HTML(
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" '
        f'width="600" role="img" aria-labelledby="heat-{number}-title heat-{number}-desc" '
        'font-family="sans-serif" font-size="15" fill="currentColor" text-anchor="middle">'
        f'<title id="heat-{number}-title">{escape(title)}</title>'
        f'<desc id="heat-{number}-desc">{escape(words)}</desc>{"".join(body)}</svg>'
    )


def _panel(name, shares, corner):
    """The elements of one panel, and its height."""
    across = sorted({column for _, column in shares})
    down = sorted({row for row, _ in shares})
    middle = LEFT + len(across) * CELL / 2
    best = max(shares, key=shares.get)
    drawn = [
        f'<text x="{middle}" y="17" font-weight="bold">{escape(name)}</text>',
        f'<text x="{LEFT / 2 - 3}" y="{ABOVE - 6}" font-size="13">{escape(corner)}</text>',
    ]
    for i, column in enumerate(across):
        drawn.append(f'<text x="{LEFT + (i + 0.5) * CELL}" y="{ABOVE - 6}">{column}</text>')
    for j, row in enumerate(down):
        y = ABOVE + j * HEIGHT
        drawn.append(f'<text x="{LEFT - 8}" y="{y + 20}" text-anchor="end">{row}</text>')
        for i, column in enumerate(across):
            share = shares.get((row, column))
            if share is None:
                continue
            x, frame = LEFT + i * CELL, (row, column) == best
            drawn.append(
                f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{HEIGHT - 2}" '
                f'fill-opacity="{DARKEST * share:.3f}" stroke="currentColor" '
                f'stroke-width="{2.5 if frame else 0.5}"/>'
                f'<text x="{x + CELL / 2}" y="{y + 20}">{share:.0%}</text>'
            )
    return "".join(drawn), ABOVE + len(down) * HEIGHT + BELOW
