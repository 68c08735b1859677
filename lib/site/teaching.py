"""What belongs to a chapter: evidence page, plan, slides, lab, problem set, and the
links to them.
"""

from lib.site.book import Book

END = """\
<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>
<p>In a clone of the book: <code>make chapter NAME={chapter}</code>. Then change a line of
<code>book/{chapter}.md</code>, run it again and see what happens.</p></aside>
<aside class="materials" aria-label="More on this chapter">
<p>More on this chapter: {links}</p></aside>"""


# What a chapter may have: the text in its folder from which it comes, and its place on the site.
MATERIALS = {
    "Chapter": ("", "book/{}.html"),
    "Evidence": ("evidence", "book/{}/evidence.html"),
    "Code": ("code", "book/{}/code.html"),
    "Teaching plan": ("plan", "book/{}/plan.html"),
    "Slides": ("slides", "slides/{}.html"),
    "Lab": ("lab", "labs/{}.ipynb"),
    "Problem set": ("problems", "problems/{}.ipynb"),
}


def links(book: Book, chapter: str, here: str) -> str:
    """Write the links from a page of the site, HTML, to the other materials of a chapter."""
    up = "../" * here.count("/")
    written = []
    for name, (text, form) in MATERIALS.items():
        place = form.format(chapter)
        if place != f"{here}.html" and (not text or chapter in book.beside(text)):
            download = " download" if place.endswith(".ipynb") else ""
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
