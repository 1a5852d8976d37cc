"""Checks of the built pages that need no browser: links, pictures, outputs, licence."""

from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from built_book import toc_pages

from autograder.causes import CAUSES, reading
from autograder.course import STEPS

PAGES = toc_pages()
ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}


@cache
def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(tag["id"] for tag in parse(path).find_all(id=True))


def article(site: Path, page: str):
    return parse(site / f"{page}.html").find("article")


def dead_link(page: Path, address: str) -> str | None:
    """Why `address`, found on `page`, leads nowhere inside the site; None if it does not."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or address == "#":
        return None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return f"{address}: no such file"
    place = unquote(parts.fragment)
    if place and target.suffix == ".html" and place not in anchors(target):
        return f"{address}: no such place on that page"
    return None


def test_every_internal_link_and_anchor_resolves(site):
    dead = []
    for path in sorted(site.glob("*.html")):
        for name, attribute in ADDRESSES.items():
            for tag in parse(path).find_all(name, attrs={attribute: True}):
                if reason := dead_link(path, tag[attribute]):
                    dead.append(f"{path.name} -> {reason}")
    assert not dead, "\n".join(dead)


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_has_words(site, page):
    mute = [tag for tag in article(site, page).find_all("img") if not tag.get("alt", "").strip()]
    for drawing in article(site, page).find_all("svg", class_="figure"):
        title = drawing.find("title")
        if drawing.get("role") != "img" or title is None or not title.get_text(strip=True):
            mute.append(drawing)
    assert not mute, [str(tag)[:200] for tag in mute]


@pytest.mark.parametrize("page", PAGES)
def test_no_output_is_a_traceback(site, page):
    bad = [
        output.get_text(" ", strip=True)[:300]
        for output in article(site, page).select(".cell_output")
        if "Traceback (most recent call last)" in output.get_text()
        or output.select_one(".traceback, .stderr")
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("page", PAGES)
def test_a_table_that_a_cell_makes_is_a_table(site, page):
    """Markdown that is rendered without tables leaves its bars and dashes in the text."""
    outputs = [o.get_text() for o in article(site, page).select(".cell_output p")]
    assert not [text[:100] for text in outputs if text.startswith("|")]


@pytest.mark.parametrize("page", PAGES)
def test_page_has_a_language_one_heading_and_the_licence(site, page):
    tree = parse(site / f"{page}.html")
    assert tree.html["lang"] == "en"
    assert len(tree.find("article").find_all("h1")) == 1
    assert tree.select_one("footer a[rel~=license]")


def test_chapters_run_code(site):
    """An execution that was switched off by mistake would leave pages without outputs."""
    chapters = [page for page in PAGES if page[0].isdigit()]
    silent = [page for page in chapters if not article(site, page).select(".cell_output")]
    assert chapters and not silent, silent


def test_every_hint_points_to_a_place_in_the_book(site):
    """A failed check names the paragraph to read; all that it can name must be there."""
    chapters = {(step.chapter, step.folder) for step in STEPS}
    dead = set()
    for chapter, folder in chapters:
        for cause in CAUSES:
            page, anchor = reading(cause, chapter, folder).split("#")
            built = site / Path(page).with_suffix(".html").name
            if not built.is_file() or anchor not in anchors(built):
                dead.add(f"{page}#{anchor}")
    assert chapters and not dead, sorted(dead)
