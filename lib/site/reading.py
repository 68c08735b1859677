"""What makes a long page pleasant to read.

Numbers stay whole, tables scroll, and problems say what they are.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _

from lib.site import pictures, problems
from lib.site.book import book_of

# Kept as they are: tags, formulas, and what is not text.
LEAVE = r"<(script|style|svg|math)\b.*?</\1>|<[^>]*>"
NUMBER = re.compile(rf"{LEAVE}|(\d[\d.]*e[-+]\d+)", re.DOTALL)
THEBE = re.compile(
    r'\s*<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName[^<]*</script>',
    re.DOTALL,
)
# A question that asks to predict, and what it gets: a button that shows the answer.
QUESTION = re.compile(
    r'<p>(?:(?!</p>).)*<span class="[^"]*\bpredict\b[^"]*">.*?</p>(?=\s*<(?!/))', re.DOTALL
)
ANSWER = '<button type="button" class="btn {}">{}</button>'
ASKED = '<button type="button" class="btn answer" aria-label="{0}: {1}">{0}</button>'
# A formula within a line, and what must not begin the next one.
ENDED = re.compile(
    r'<span class="math notranslate nohighlight"><math(?:(?!</math>).)*</math></span>[.,;:!?)”’]+'
)
# A heading, or a table, with the theme's box around it, which would be another stop for keys.
TABLE = re.compile(
    r"<h\d[^>]*>(?P<heading>.*?)</h\d>"
    r'|(?P<box><div class="pst-scrollable-table-container">)?(?P<table><table\b.*?</table>)'
    r"(?(box)\s*</div>)",
    re.DOTALL,
)
# A figure and its number, which tells its slider and buttons from those of others.
FIGURE = re.compile(
    r'<figure([^>]*)>((?:(?!</figure>).)*?<span class="caption-number">([^<]*?)\s*</span>)',
    re.DOTALL,
)
CAPTION = re.compile("<caption>(.*?)</caption>", re.DOTALL)
FIRST = re.compile(r"(<tr[^>]*>\s*)<td\b(.*?)</td>", re.DOTALL)  # the head of its row
UNSAID = re.compile(
    r'<a class="headerlink.*?</a>|<math alttext="([^"]*)".*?</math>|<[^>]*>', re.DOTALL
)
SCROLLING = '<div class="scrolling" tabindex="0" role="group" aria-label="{}">{}</div>'
PRINTED = re.compile(r'(<div class="output stream[^>]*>\s*<div class="highlight">\s*<pre)>')


def scrolling(body: str) -> str:
    """Let the tables of a page scroll by keyboard, named by their captions or headings."""
    name = _("Table")

    def boxed(found: re.Match) -> str:
        nonlocal name
        if not found["table"]:
            name = _words(found["heading"])
            return found[0]
        table = FIRST.sub(r'\1<th scope="row"\2</th>', found["table"])
        caption = CAPTION.search(table)
        return SCROLLING.format(_words(caption[1]) if caption else name, table)

    return TABLE.sub(boxed, body)


def _words(html: str) -> str:
    return " ".join(UNSAID.sub(r"\1", html).split())


def mended(body: str) -> str:
    """Mend the HTML of a page.

    Numbers such as 1.8e-06 are marked, so that no line ends behind their `e-`, and formulas with
    the full stop behind them. Questions and moving figures have their buttons, figures their names.
    Tables scroll by keyboard, lists of sources have an honest role, and Thebe is not configured.
    """
    body = THEBE.sub("", body)
    body = body.replace("n.d.</a>", "undated</a>")
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    body = NUMBER.sub(_marked, body)
    body = ENDED.sub(r'<span class="together">\g<0></span>', body)
    body, questions = QUESTION.subn(_answered, body)
    if questions:
        answers = ANSWER.format("all-answers", _("Show all answers"))
        body = body.replace("</h1>", f"</h1>\n{answers}", 1)
    body = pictures.with_buttons(body)
    body = FIGURE.sub(r'<figure\1 aria-label="\3">\2', body)
    body = scrolling(body)
    printed = _("Output")
    body = PRINTED.sub(rf'\1 role="group" aria-label="{printed}">', body)
    return body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')


def _answered(question: re.Match) -> str:
    """Put below a question its button, which says to those who do not see it which question."""
    button = ASKED.format(_("Show the answer"), _words(question[0]))
    return f"{question[0]}\n{button}"


def _marked(found: re.Match) -> str:
    return f'<span class="number">{found[2]}</span>' if found[2] else found[0]


def mark_problems(app: Sphinx, doctree: nodes.document) -> None:
    """Say under each problem where its solution is not, and which notebook checks a
    reader's own.
    """
    page = app.env.docname
    chapter = book_of(app).chapter_of(page)
    place = f"{'../' * page.count('/')}problems/{chapter}.ipynb"
    for exercise in doctree.findall(nodes.Admonition):
        if {"exercise", "problem"} <= set(exercise["classes"]):
            mark = nodes.paragraph(classes=["problem-mark"])
            mark += [
                nodes.inline(text=_("Problem")),
                nodes.Text(_(": its solution is not on this site.")),
            ]
            if chapter in problems.sets(book_of(app)):
                notebook = nodes.reference("", _("problem set"), refuri=place, internal=True)
                before, after = _(" The {} checks yours.").split("{}")
                mark += [nodes.Text(before), notebook, nodes.Text(after)]
            exercise += mark
