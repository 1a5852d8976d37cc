"""Sphinx extension: turns every formula of the book into MathML while the book is built.

A browser draws MathML itself, so a page needs no script and asks no other host for one. A formula that
cannot be converted is a build warning (an error under ``-W``); it must never reach the reader silently.
"""

from html import escape

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
# `annotation` keeps the TeX source beside the formula, for whoever copies it.
CONVERTER = LatexToMathML(annotation=True, fancy_error=False)


def to_mathml(node: nodes.Node, latex: str, display: bool) -> str:
    """The MathML of ``latex``; its source text and a warning if it is not valid."""
    try:
        return CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        logger.warning("formula not understood: %s (%s)", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"


def visit_inline(translator, node: nodes.math) -> None:
    translator.body.append(to_mathml(node, node.astext(), display=False))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.math_block) -> None:
    latex = node.astext()
    if r"\\" in latex and r"\begin" not in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(to_mathml(node, latex, display=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
