"""Draws a chart with two logarithmic axes as inline SVG. For cells of the book.

Must never load anything from elsewhere.
"""

from html import escape
from itertools import count

from IPython.display import HTML

from autograder.report.chart import FULL_WIDTH, log_axes

_numbers = count(1)


def log_chart(title, words, x_label, y_label, lines=(), points=()):
    """A chart to display at the end of a cell.

    title, words      its name, and a text that says what it shows, for those who cannot see it
    lines, points     dicts, name → list of (x, y), both above 0; joined up, or marked one by one
    """
    body, height = log_axes(x_label, y_label, dict(lines), dict(points))
    number = next(_numbers)
    return HTML(
        f'<svg class="figure" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {FULL_WIDTH} {height}" '
        f'width="600" role="img" aria-labelledby="chart-{number}-title chart-{number}-desc" '
        'font-family="sans-serif" font-size="15">'
        f'<title id="chart-{number}-title">{escape(title)}</title>'
        f'<desc id="chart-{number}-desc">{escape(words)}</desc>{body}</svg>'
    )
