"""How to cite the book and a chapter: from `CITATION.cff`,
which has version, authors, repository.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape

import yaml
from sphinx.locale import _

from lib.provenance import SHA, commit
from lib.site.book import Book

NAME = "executable_learning_dynamics"  # of the entries
COMMIT = 12  # characters of its name that a page shows
ARCHIVE = ".git_archival.txt"  # in which `git archive` writes the commit
BUILT = "commit-of-this-build"  # what the page on citing says until it is written


@dataclass(frozen=True)
class Citation:
    """What `CITATION.cff` says.

    Attributes
    ----------
    title, version, date : of the book; the date of its release as YYYY-MM-DD, or "" while it is in
        preparation
    authors : as BibTeX can sort them: a name that is no person's is in braces
    repository : its web address, https://github.com/OWNER/NAME, or "" while there is none
    code, rest : the licences of the code, and of text, figures and data, as SPDX names them
    """

    title: str
    version: str
    date: str
    authors: list[str]
    repository: str
    code: str
    rest: str

    @property
    def people(self) -> str:
        """The authors as a reader knows them."""
        return re.sub("[{}]", "", ", ".join(self.authors))

    def bibtex(self, chapter: str = "", heading: str = "", commit: str = "") -> str:
        """Write the entry of the book, or of a chapter with this heading, which TeX can typeset.

        Until a release it names the commit.
        """
        version = f"Version {self.version}"
        if not self.date:
            version += ", in preparation" + (f", commit {commit}" if commit else "")
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
    rest = facts["preferred-citation"]["license"]
    return Citation(
        facts["title"], str(facts["version"]), date, authors, repository, facts["license"], rest
    )


def built_from(book: Book) -> str:
    """Return the beginning of the name of the commit, with "-dirty" if files differ; "" if unknown.

    An archive has its name in a file.
    """
    name = commit(book.root)
    archive = book.root / ARCHIVE
    if not name and archive.is_file():
        name = archive.read_text(encoding="utf-8").strip()
    return "" if name.startswith("$") else name[:COMMIT] + name[SHA:]


def notice(book: Book) -> str:
    """Say in a line whose a notebook is, and under which licences."""
    citation = read(book)
    return f"© {citation.people}. Text, figures and data: {citation.rest}; code: {citation.code}."


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


def end(book: Book, page: str, title: str, pathto: Callable[..., str]) -> str:
    """Return the end of a page: version, commit and licences, with links from `pathto`.

    A chapter has its entry, folded.
    """
    citation = read(book)
    made = built_from(book)
    date = citation.date or _("in preparation")
    if made:
        date += _(", commit {}").format(made)
    version = _("Version {}, {}").format(citation.version, date)
    how = _("how to cite")
    said = f'<p>{version} · <a href="{pathto("book/cite")}">{how}</a><br>'
    terms = {_("Text, figures, data"): citation.rest, _("code"): citation.code}
    for kind, licence in terms.items():
        said += f'{kind}: <a href="{pathto(f"LICENSES/{licence}.txt", 1)}">{licence}</a> · '
    third = _("third parties")
    said += f'<a href="{pathto("LICENSES/THIRD-PARTY.txt", 1)}">{third}</a></p>'
    name = page.removeprefix("book/")
    if name in book.chapters:
        entry = citation.bibtex(name, re.sub(r"<[^>]*>|\d+\. ", "", title), made)
        code = f'<div class="highlight"><pre>{escape(entry)}</pre></div>'
        summary = _("Cite this chapter")
        said += f'<details class="cite"><summary>{summary}</summary>{code}</details>'
    label = _("Version and citation")
    return f'<aside class="citing" aria-label="{label}">{said}</aside>'


def cite(book: Book) -> dict[str, str]:
    """Return what the page on citing takes: version and date, the citation as BibTeX and in APA."""
    citation = read(book)
    year = citation.date[:4] or "in preparation"
    made = BUILT if built_from(book) and not citation.date else ""
    version = citation.version + (f", commit {made}" if made else "")
    apa = f"{citation.people} ({year}). {citation.title} (version {version})."
    entry = citation.bibtex(commit=made)
    status = "in preparation; no version has been released yet"
    return {
        "version": citation.version,
        "status": f"released on {citation.date}" if citation.date else status,
        "bibtex": f"```bibtex\n{entry}\n```",
        "apa": f"```text\n{apa}\n```",
    }
