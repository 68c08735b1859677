"""How to cite the book and a chapter: from `CITATION.cff`,
which has version, authors, repository.
"""

import re
from dataclasses import dataclass
from functools import cache
from html import escape

import yaml
from sphinx.locale import _

from lib.site.book import Book

NAME = "executable_learning_dynamics"  # of the entries


@dataclass(frozen=True)
class Citation:
    """What `CITATION.cff` says.

    Attributes
    ----------
    title, version, date : of the book; the date of its release as YYYY-MM-DD, or "" while it is in
        preparation
    authors : as BibTeX can sort them: a name that is no person's is in braces
    repository : its web address, https://github.com/OWNER/NAME, or "" while there is none
    """

    title: str
    version: str
    date: str
    authors: list[str]
    repository: str

    def bibtex(self, chapter: str = "", heading: str = "") -> str:
        """Write the entry of the book, or of a chapter with this heading, which TeX can typeset."""
        version = f"Version {self.version}" + ("" if self.date else ", in preparation")
        title = self.title
        key = NAME
        if chapter:
            version = f"Chapter {chapter}. In: {title}. {version}"
            title = heading
            key = f"{NAME}_{chapter}"
        fields = {"author": " and ".join(self.authors), "title": title, "note": version}
        fields = {name: value.replace("_", r"\_") for name, value in fields.items()}
        if self.date:
            fields["year"], fields["month"], _ = self.date.split("-")
        if self.repository:
            fields["url"] = self.repository
        lines = ",\n".join(f"{name} = {{{value}}}" for name, value in fields.items())
        return f"@misc{{{key},\n{lines}\n}}"


@cache
def read(book: Book) -> Citation:
    """Read `CITATION.cff`."""
    facts = yaml.safe_load((book.root / "CITATION.cff").read_text(encoding="utf-8"))
    authors = [
        f"{{{one['name']}}}" if "name" in one else f"{one['given-names']} {one['family-names']}"
        for one in facts["authors"]
    ]
    date = str(facts.get("date-released", ""))
    repository = facts.get("repository-code", "")
    return Citation(facts["title"], str(facts["version"]), date, authors, repository)


def online(book: Book) -> dict:
    """Return the theme's options by which pages lead to the repository, once it has an address:
    to their source, to its issues, and to a copy that runs on Colab or Binder.
    """
    address = read(book).repository
    if not address:
        return {}
    return {
        "repository_url": address,
        "repository_provider": "github",
        "repository_branch": "main",
        "use_repository_button": True,
        "use_source_button": True,
        "use_issues_button": True,
        "launch_buttons": {
            "colab_url": "https://colab.research.google.com",
            "binderhub_url": "https://mybinder.org",
        },
    }


def end(book: Book, page: str, title: str, how: str) -> str:
    """Return the end of a page: the version, a link to the page that says how to cite.

    A chapter has its entry, folded.
    """
    citation = read(book)
    date = citation.date or _("in preparation")
    version = _("Version {}, {}").format(citation.version, date)
    said = '<p>{} · <a href="{}">{}</a></p>'.format(version, how, _("how to cite"))
    name = page.removeprefix("book/")
    if name in book.chapters:
        entry = citation.bibtex(name, re.sub(r"<[^>]*>|\d+\. ", "", title))
        code = f'<div class="highlight"><pre>{escape(entry)}</pre></div>'
        summary = _("Cite this chapter")
        said += f'<details class="cite"><summary>{summary}</summary>{code}</details>'
    label = _("Version and citation")
    return f'<aside class="citing" aria-label="{label}">{said}</aside>'


def cite(book: Book) -> dict[str, str]:
    """Return what the page on citing takes: version and date, the citation as BibTeX and in APA."""
    citation = read(book)
    year = citation.date[:4] or "in preparation"
    authors = re.sub("[{}]", "", ", ".join(citation.authors))
    apa = f"{authors} ({year}). {citation.title} (version {citation.version})."
    status = "in preparation; no version has been released yet"
    return {
        "version": citation.version,
        "status": f"released on {citation.date}" if citation.date else status,
        "bibtex": f"```bibtex\n{citation.bibtex()}\n```",
        "apa": f"```text\n{apa}\n```",
    }
