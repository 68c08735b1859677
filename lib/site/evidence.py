"""The numbers of evidence pages: E4.1, E4.2, … in chapter 4, for figures, equations and exercises.

So nobody takes them for the lesson's, 4.1, or for those of a document, 1.
"""

from typing import Any

from sphinx.environment.collectors.toctree import TocTreeCollector

from lib.site.book import book_of

ASSIGN = TocTreeCollector.assign_figure_numbers


def assign_numbers(self: TocTreeCollector, env: Any) -> list[str]:
    """Let Sphinx number figures as if E4 were the number of the evidence page of chapter 4.

    All pages are gone through, unless none has changed. If a number changes, all are written
    again, since others may refer to it.
    """
    changed = env._write_doc_doctree_cache  # the pages that were read just now
    if not changed:
        return []
    sections = env.toc_secnumbers
    chapters = enumerate(book_of(env.app).chapters, start=1)
    marked: dict[str, Any] = {
        f"book/{name}/evidence": {"": (f"E{number}",)} for number, name in chapters
    }
    env.toc_secnumbers = sections | marked
    read = env.get_doctree
    env.get_doctree = lambda page: changed.get(page) or read(page)
    renumbered = ASSIGN(self, env)
    del env.get_doctree
    env.toc_secnumbers = sections
    return list(env.all_docs) if renumbered else []
