"""What belongs to a chapter: evidence page, plan, slides, lab, problem set, and the
links to them.
"""

from html import escape

from sphinx.locale import _

from lib.site.book import Book

END = """\
<aside class="admonition tip"><p class="admonition-title">{run}</p>
<p>{how}</p></aside>
<aside class="materials" aria-label="{more}">
<p>{more}: {links}</p></aside>"""

# What a chapter may have: the text in its folder from which it comes, and its place on the site.
MATERIALS = {
    _("Chapter"): ("", "book/{}.html"),
    _("Evidence"): ("evidence", "book/{}/evidence.html"),
    _("Code"): ("code", "book/{}/code.html"),
    _("Teaching plan"): ("plan", "book/{}/plan.html"),
    _("Quiz"): ("quiz", "book/{}/plan.html#quiz"),  # the questions; `quiz.md` has the answers
    _("Slides"): ("slides", "slides/{}.html"),
    _("Lab"): ("lab", "labs/{}.ipynb"),
    _("Problem set"): ("problems", "problems/{}.ipynb"),
}


def links(book: Book, chapter: str, here: str) -> str:
    """Write the links from a page of the site, HTML, to the other materials of a chapter.

    A page that has such links to several chapters says of which each is.
    """
    several = not book.chapter_of(here)
    title = escape(book.title(chapter))
    up = "../" * here.count("/")
    written = []
    for name, (text, form) in MATERIALS.items():
        place = form.format(chapter)
        if place.partition("#")[0] != f"{here}.html" and (not text or chapter in book.beside(text)):
            file = f' download="{text}-{chapter}.ipynb"' if place.endswith(".ipynb") else ""
            label = f' aria-label="{name}: {title}"' * several
            written.append(f'<a href="{up}{place}"{file}{label}>{name}</a>')
    return " · ".join(written)


def offered(book: Book, page: str, body: str) -> str:
    """Add to a page the materials of its chapter: at the end of a lesson, elsewhere at its top."""
    chapter = book.chapter_of(page)
    if not chapter:
        return body
    written = links(book, chapter, page)
    if not written:
        return body
    if page == f"book/{chapter}":
        how = _(
            "In a clone of the book: <code>make chapter NAME={chapter}</code>. Then change a line "
            "of <code>book/{chapter}.md</code>, run it again and see what happens."
        ).format(chapter=chapter)
        more = _("More on this chapter")
        run = _("Run this chapter")
        return body + END.format(run=run, how=how, more=more, links=written)
    return body.replace("</h1>", f'</h1><p class="materials">{written}</p>', 1)
