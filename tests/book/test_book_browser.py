"""Opens every page in Chromium: what it asks for, what it logs, and whether it can be read."""

from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from built_book import toc_pages

PAGES = toc_pages()
CHAPTER = "00_setup"  # has every kind of box: toggled outputs, answers, tables, a drawing
LOCAL = ("file:", "data:", "blob:", "http://127.0.0.1:")

# Elements of the text that reach past the right edge with no scrolling box around them.
CUT_OFF = """() => [...document.querySelectorAll("article *")].filter(e => {
  if (!e.checkVisibility() || e.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = e; box && box.tagName !== "ARTICLE"; box = box.parentElement) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
    if (scrolls && box.getBoundingClientRect().right <= innerWidth + 1) return false;
  }
  return true;
}).map(e => e.outerHTML.slice(0, 120))"""

# The visible text of the article whose contrast falls short of WCAG 2 level AA by most: the ratio to
# what is asked for (4.5, and 3 for a mark such as ✓ that is no word), and the text.
LOWEST_CONTRAST = """() => {
  const rgba = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const background = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  let lowest = [21, ""];
  const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), e = walker.currentNode.parentElement;
    if (!text || !e.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const style = getComputedStyle(e);
    const front = luminance(rgba(e.closest("svg") ? style.fill : style.color));
    const back = luminance(background(e));
    const needed = /[\\p{L}\\p{N}]/u.test(text) ? 4.5 : 3;
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05) / needed;
    if (ratio < lowest[0]) lowest = [ratio, text.slice(0, 60)];
  }
  return lowest;
}"""


@dataclass
class Visit:
    """An open page and everything that went wrong while it loaded."""

    page: object
    problems: list[str] = field(default_factory=list)


@contextmanager
def visit(chromium, address, *, width=1280, scheme="light"):
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, service_workers="block"
    )
    result = Visit(context.new_page())
    page, problems = result.page, result.problems

    def watch(route):
        if route.request.url.startswith(LOCAL):
            route.continue_()
        else:
            problems.append(f"asks another host: {route.request.url}")
            route.abort()

    context.route("**/*", watch)
    page.on("requestfailed", lambda r: problems.append(f"failed: {r.url} ({r.failure})"))
    page.on("response", lambda r: r.status >= 400 and problems.append(f"{r.status}: {r.url}"))
    page.on("pageerror", lambda error: problems.append(f"script error: {error}"))
    page.on(
        "console",
        lambda m: m.type in ("error", "warning") and problems.append(f"{m.type}: {m.text}"),
    )
    page.goto(address)
    yield result
    context.close()


@pytest.mark.parametrize("page", [*PAGES, "search", "genindex"])
@pytest.mark.parametrize(("protocol", "scheme"), [("http", "light"), ("file", "dark")])
def test_page_opens_without_a_complaint(chromium, bases, page, protocol, scheme):
    address = f"{bases[protocol]}/{page}.html"
    with visit(chromium, address, scheme=scheme) as seen:
        seen.page.wait_for_load_state("networkidle")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == scheme
        assert seen.problems == []


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(chromium, bases, page, scheme):
    with visit(chromium, f"{bases['file']}/{page}.html", scheme=scheme) as seen:
        share, text = seen.page.evaluate(LOWEST_CONTRAST)
        assert share >= 1, f"only {share:.0%} of the contrast needed, at {text!r}"


@pytest.mark.parametrize("page", PAGES)
def test_page_fits_a_phone(chromium, bases, page):
    with visit(chromium, f"{bases['file']}/{page}.html", width=390) as seen:
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.page.evaluate("document.body.scrollWidth") <= 390
        assert seen.page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_search_finds_a_word(chromium, bases, protocol):
    with visit(chromium, f"{bases[protocol]}/search.html?q=interpreter") as seen:
        seen.page.wait_for_selector("#search-results li a", timeout=10_000)
        links = seen.page.locator("#search-results li a")
        assert any(CHAPTER in links.nth(i).get_attribute("href") for i in range(links.count()))
        assert seen.problems == []


def test_a_hidden_output_and_an_answer_open_with_a_click(chromium, bases):
    with visit(chromium, f"{bases['file']}/{CHAPTER}.html") as seen:
        output = seen.page.locator("details.hide .cell_output").first
        assert not output.is_visible()
        seen.page.locator("details.hide > summary").first.click()
        assert output.is_visible()
        answer = seen.page.locator(".admonition.dropdown").first
        words = answer.locator("p:not(.admonition-title)").first
        assert not words.is_visible()
        answer.locator(".admonition-title").click()
        words.wait_for(state="visible", timeout=5_000)
        assert seen.problems == []


def test_code_can_be_copied(chromium, bases):
    with visit(chromium, f"{bases['file']}/{CHAPTER}.html") as seen:
        cells = seen.page.locator(".cell_input").count()
        assert cells and seen.page.locator(".cell_input button.copybtn").count() == cells


def test_print_breaks_long_lines(chromium, bases):
    with visit(chromium, f"{bases['file']}/{CHAPTER}.html") as seen:
        seen.page.emulate_media(media="print")
        style = "getComputedStyle(document.querySelector('.cell_input pre')).whiteSpace"
        assert seen.page.evaluate(style) == "pre-wrap"


@pytest.mark.parametrize("page", PAGES)
def test_formulas_are_drawn(chromium, bases, page):
    with visit(chromium, f"{bases['file']}/{page}.html") as seen:
        flat = "[...document.querySelectorAll('article math')].filter(m => m.checkVisibility()"
        flat += " && m.getBoundingClientRect().height < 5).map(m => m.outerHTML)"
        assert seen.page.evaluate(flat) == []
