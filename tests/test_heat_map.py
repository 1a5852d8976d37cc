"""The heat maps of the book: well-formed drawings with words, and every number in its cell."""

import importlib.util
import xml.etree.ElementTree as ET

import pytest

from autograder import course

SVG = "{http://www.w3.org/2000/svg}"
SHARES = {(16, 128): 0.5, (16, 256): 0.25, (64, 128): 1.07}


@pytest.fixture(scope="module")
def heat_map():
    path = course.ROOT / "book" / "heat_map.py"
    spec = importlib.util.spec_from_file_location("heat_map", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(heat_map, **panels) -> ET.Element:
    return ET.fromstring(heat_map.heat_maps("a < b", "what it shows", "M N", panels).data)


def texts(element: ET.Element) -> list[str]:
    return ["".join(text.itertext()) for text in element.iter(f"{SVG}text")]


def test_a_heat_map_has_a_title_and_words(heat_map):
    svg = draw(heat_map, one=SHARES)
    title, desc = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
    assert (title.text, desc.text) == ("a < b", "what it shows")
    assert svg.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]
    assert draw(heat_map, one=SHARES).find(f"{SVG}title").get("id") != title.get("id")


def test_every_share_is_written_in_its_row_and_column(heat_map):
    svg = draw(heat_map, one=SHARES)
    assert texts(svg)[:1] == ["one"]
    where = {"".join(t.itertext()): (t.get("x"), t.get("y")) for t in svg.iter(f"{SVG}text")}
    for (row, column), share in SHARES.items():
        x, y = where[f"{share:.0%}"]
        assert float(x) == float(where[str(column)][0])
        assert float(y) == float(where[str(row)][1])


def test_a_larger_share_is_darker_and_the_largest_has_a_frame(heat_map):
    cells = list(draw(heat_map, one=SHARES).iter(f"{SVG}rect"))
    shades = [float(cell.get("fill-opacity")) for cell in cells]
    assert len(cells) == 3 and sorted(shades) == [shades[1], shades[0], shades[2]]
    frames = [float(cell.get("stroke-width")) for cell in cells]
    assert frames[2] == max(frames) > frames[0] == frames[1]
    assert max(shades) < 0.5  # or the number could not be read


def test_panels_stand_side_by_side_and_inside_the_drawing(heat_map):
    svg = draw(heat_map, one=SHARES, two=SHARES, three={(16, 128): 0.5})
    _, _, width, height = map(float, svg.get("viewBox").split())
    groups = [g.get("transform")[10:-1].split() for g in svg.iter(f"{SVG}g")]
    assert [(x == "0", y == "0") for x, y in groups] == [(True, True), (False, True), (True, False)]
    for (x, y), group in zip(groups, svg.iter(f"{SVG}g")):
        for cell in group.iter(f"{SVG}rect"):
            assert float(x) + float(cell.get("x")) + float(cell.get("width")) <= width
            assert float(y) + float(cell.get("y")) + float(cell.get("height")) <= height
