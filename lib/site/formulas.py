"""Formulas as MathML, written while the site is built: a page needs no
script for them, and nothing moves when it is opened.

A formula that cannot be converted is a warning, and so the end of the build.
"""

import re
from html import escape, unescape
from typing import NoReturn

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

FONT = "fonts/formulas.js"  # in book/_static

# A new line with more room, which the converter would print.
SKIP = re.compile(r"\\\\\[-?[\d.]+(?:pt|ex|em|mm)\]")
ALIGNED = re.compile(r"\\begin\{(align|gather|equation|multline)")
LONG = 25  # signs: a longer formula may be wider than a phone, and is scrolled, by keyboard, too
CONVERTER = LatexToMathML(fancy_error=False, unicode_substitution="never", annotation=True)
ANNOTATION = re.compile(r"<annotation.*?</annotation>", re.DOTALL)

logger = logging.getLogger(__name__)


def mathml(latex: str, block: bool = False) -> str:
    """Write a formula as MathML which says its TeX, for those who read it without its structure.

    Raises
    ------
    ValueError
        If that is not possible.
    """
    said = escape(latex.strip())
    latex = SKIP.sub(r"\\\\", latex.strip())
    if block and r"\\" in latex and not ALIGNED.match(latex):
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"  # as Sphinx does
    try:
        written = CONVERTER.convert_with_local_state(latex, displaystyle=block)
    except LatexError as problem:
        raise ValueError(f"the formula {latex} has no MathML: {problem}") from problem
    return written.replace("<math", f'<math alttext="{said}"', 1)


def write(node: nodes.Node, block: bool) -> str:
    """Write a formula of a page; one that has no MathML gives a warning and stays as it is."""
    try:
        return mathml(node.astext(), block)
    except ValueError as problem:
        logger.warning(str(problem), location=node)
        return f"<code>{escape(node.astext())}</code>"


def scrolled(tag: str, formula: str, number: str = "") -> str:
    """Put a formula that may be too long for a phone, or has
    a line of its own, into a box that scrolls, named by its number.

    Where a shorter one scrolls, browsers may let keys stop at it, too.
    """
    long = len(unescape(re.sub("<[^>]*>", "", ANNOTATION.sub("", formula)))) > LONG
    word = _("Formula")
    name = f"{word} {number}".strip()
    if not long and tag != "div":
        return formula
    focus = ' tabindex="0"' * long
    return f'<{tag} class="formula"{focus} role="group" aria-label="{name}">{formula}</{tag}>'


def visit_math(translator: HTML5Translator, node: nodes.math) -> NoReturn:
    """Write a formula within a line."""
    translator.body.append(
        translator.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    )
    translator.body.append(scrolled("span", write(node, False)) + "</span>")
    raise nodes.SkipNode


def visit_math_block(translator: HTML5Translator, node: nodes.math_block) -> NoReturn:
    """Write a formula on a line of its own, with its number."""
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight"))
    number = f"({get_node_equation_number(translator, node)})" if node["number"] else ""
    translator.body.append(scrolled("div", write(node, True), number))
    if number:
        translator.body.append(f'<span class="eqno">{number}')
        translator.add_permalink_ref(node, _("Link to this equation"))
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode
