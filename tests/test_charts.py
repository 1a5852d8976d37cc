"""The charts of the book: well-formed drawings with words, and every value where it belongs."""

import importlib.util
import re
import xml.etree.ElementTree as ET

import pytest

from autograder import course
from autograder.report import chart

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def charts():
    spec = importlib.util.spec_from_file_location("charts", course.ROOT / "book" / "charts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(charts, **series) -> ET.Element:
    return ET.fromstring(charts.log_chart("a < b", "what it shows", "x", "y", **series).data)


def texts(svg: ET.Element) -> list[str]:
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def marks(svg: ET.Element) -> list[tuple[float, float]]:
    """Where marks stand, but for the one in the legend."""
    found = [
        re.match(r"translate\((\S+) (\S+)\)", p.get("transform", ""))
        for p in svg.iter(f"{SVG}path")
    ]
    return [(float(m[1]), float(m[2])) for m in found if m][:-1]


def test_a_chart_has_a_title_words_and_its_names(charts):
    svg = draw(charts, lines={"roof & wall": [(1, 1), (10, 10)]}, points={"measured": [(2, 3)]})
    title, desc = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
    assert (title.text, desc.text) == ("a < b", "what it shows")
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]
    assert {"x", "y", "roof & wall", "measured"} <= set(texts(svg))


def test_two_charts_on_one_page_have_different_ids(charts):
    one, other = (draw(charts, points={"p": [(1, 1)]}).find(f"{SVG}title").get("id") for _ in "ab")
    assert one != other


def test_equal_factors_are_equal_distances(charts):
    (x0, y0), (x1, y1), (x2, y2) = marks(draw(charts, points={"p": [(1, 100), (10, 10), (100, 1)]}))
    assert x1 - x0 == pytest.approx(x2 - x1) and x1 > x0
    assert y1 - y0 == pytest.approx(y2 - y1) and y1 > y0  # down is larger in SVG
    assert (x0, y0) == (chart.LEFT, chart.TOP)
    assert (x2, y2) == (chart.LEFT + chart.WIDTH, chart.TOP + chart.HEIGHT)


def test_axes_are_labelled_by_powers_of_ten(charts):
    svg = draw(charts, points={"p": [(0.02, 5), (30_000, 5)]})
    assert {"0.01", "0.1", "1", "10", "100", "1,000", "10⁴", "10⁵"} <= set(texts(svg))


def test_nothing_lies_outside_the_drawing(charts):
    svg = draw(charts, points={"p": [(3e-4, 7e6), (9e8, 2e-3)]})
    width, height = (float(v) for v in svg.get("viewBox").split()[2:])
    assert all(0 < x < width and 0 < y < height for x, y in marks(svg))
