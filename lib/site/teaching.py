"""What belongs to a chapter: evidence page, plan, slides, lab, problem set, and the
links to them.
"""

from lib.site import problems
from lib.site.book import Book

END = """\
<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>
<p>In a clone of the book: <code>make chapter NAME={chapter}</code>. Then change a line of
<code>book/{chapter}.md</code>, run it again and see what happens.</p></aside>
<aside class="materials" aria-label="More on this chapter">
<p>More on this chapter: {links}</p></aside>"""


def materials(book: Book, chapter: str) -> dict[str, str]:
    """Return what was written for a chapter, as the site's files by name."""
    found = {"Chapter": f"book/{chapter}.html"}
    if f"{chapter}/evidence" in book.notebooks:
        found["Evidence"] = f"book/{chapter}/evidence.html"
    if chapter in book.beside("plan"):
        found["Teaching plan"] = f"book/{chapter}/plan.html"
    if chapter in book.beside("slides"):
        found["Slides"] = f"slides/{chapter}.html"
    if chapter in book.beside("lab"):
        found["Lab"] = f"labs/{chapter}.ipynb"
    if chapter in problems.sets(book):
        found["Problem set"] = f"problems/{chapter}.ipynb"
    return found


def links(book: Book, chapter: str, here: str) -> str:
    """Write the links from a page of the site, HTML, to the other materials of a chapter."""
    up = "../" * here.count("/")
    written = []
    for name, place in materials(book, chapter).items():
        download = " download" if place.endswith(".ipynb") else ""
        if place != f"{here}.html":
            written.append(f'<a href="{up}{place}"{download}>{name}</a>')
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
        return body + END.format(chapter=chapter, links=written)
    return body.replace("</h1>", f'</h1><p class="materials">{written}</p>', 1)
