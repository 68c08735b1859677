"""What makes a long page pleasant to read: numbers that stay whole, the ledger's tables as cards on a phone, and scripts.

A problem, an exercise of the class `problem`, says that it has no solution here, and which notebook checks one.

`code.js` opens all folded code of a page, `play.js` gives each slider a play button, `contents.js` lets the contents follow
the reader, and `predict.js` hides a figure that a question asks to predict. Without them a page lacks nothing but that.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from lib.site import problems

# Kept as they are: tags, formulas, and what is not text.
LEAVE = r"<(script|style|svg|math)\b.*?</\1>|<[^>]*>"
NUMBER = re.compile(rf"{LEAVE}|(\d[\d.]*e[-+]\d+)", re.DOTALL)
LEDGER = re.compile(
    r'<table class="table">(?=\s*<thead>\s*<tr[^>]*><th[^>]*><p>claim</p>(?:(?!</tr>).)*<p>verdict</p>)', re.DOTALL
)


def whole_numbers(body: str) -> str:
    """Mark numbers such as 1.8e-06 in a page's text, so that no line ends behind their `e-`."""
    return NUMBER.sub(lambda found: f'<span class="number">{found[2]}</span>' if found[2] else found[0], body)


def ledger_tables(body: str) -> str:
    """Mark the tables of claims, which have the verdict in their last column."""
    return LEDGER.sub('<table class="table ledger">', body)


def mark_problems(app: Sphinx, doctree: nodes.document) -> None:
    """Say under each problem where its solution is not, and which notebook checks a reader's own, where the chapter has one."""
    chapter = app.env.docname.rpartition("/")[2]
    checked = chapter in problems.sets(Path(app.srcdir))
    for exercise in doctree.findall(nodes.Admonition):
        if {"exercise", "problem"} <= set(exercise["classes"]):
            said = [nodes.inline(text="Problem"), nodes.Text(": its solution is not on this site.")]
            if checked:
                notebook = nodes.reference("", "problem set", refuri=f"../problems/{chapter}.ipynb", internal=True)
                said += [nodes.Text(" The "), notebook, nodes.Text(" checks yours.")]
            exercise += nodes.paragraph("", "", *said, classes=["problem-mark"])


def mend(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Mark numbers and tables of claims in a page."""
    context["body"] = ledger_tables(whole_numbers(context.get("body", "")))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_css_file("reading.css")
    for script in ("code.js", "play.js", "contents.js", "predict.js"):
        app.add_js_file(script, loading_method="defer")
    app.connect("doctree-read", mark_problems)
    app.connect("html-page-context", mend)
