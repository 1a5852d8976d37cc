"""The local Sphinx extension: formulas become MathML, and a bad one stops a strict build."""

import shutil

from built_book import BOOK
from sphinx.cmd.build import build_main

CONF = """
import sys
sys.path.insert(0, {extension!r})
extensions = ["myst_parser", "mathml_renderer"]
myst_enable_extensions = ["dollarmath", "amsmath"]
html_math_renderer = "mathml"
html_theme = "basic"
"""


def build(folder, text) -> tuple[int, str]:
    """The exit code of a strict build of one page, and the page."""
    extension = folder / "_ext"
    extension.mkdir()
    shutil.copy(BOOK / "_ext" / "mathml_renderer.py", extension)
    (folder / "conf.py").write_text(CONF.format(extension=str(extension)), encoding="utf-8")
    (folder / "index.md").write_text(text, encoding="utf-8")
    code = build_main(["-q", "-W", "--keep-going", "-b", "html", str(folder), str(folder / "out")])
    return code, (folder / "out" / "index.html").read_text(encoding="utf-8")


def test_inline_block_and_numbered_formulas(tmp_path):
    text = "# T\n\n$x^2$\n\n$$\na &= b \\\\\nc &= d\n$$\n\n$$e = f$$ (f)\n\nSee {eq}`f`.\n"
    code, html = build(tmp_path, text)
    assert code == 0
    assert html.count("<math") == 3 and html.count('display="block"') == 2
    assert 'class="eqno"' in html and "mathjax@" not in html.lower()


def test_a_formula_that_is_not_tex_fails_a_strict_build(tmp_path, capfd):
    code, html = build(tmp_path, "# T\n\n$\\nosuchcommand{x}$\n")
    assert code != 0
    assert "formula not understood" in capfd.readouterr().err
    assert "<code>\\nosuchcommand{x}</code>" in html
