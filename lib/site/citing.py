"""How to cite the book and a chapter: from `CITATION.cff`, the one place of version, authors and repository."""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

import yaml

from lib.site.names import refuse_broken
from lib.site.toc import chapters

NAME = "executable_learning_dynamics"  # of the entries


@dataclass(frozen=True)
class Citation:
    """What `CITATION.cff` says.

    Attributes
    ----------
    title, version, date : of the book; the date of its release as YYYY-MM-DD, or "" while it is in preparation
    authors : as they are shown
    sorted_authors : as BibTeX can sort them: a name that is no person's is in braces
    repository : its web address, https://github.com/OWNER/NAME, or "" while there is none
    """

    title: str
    version: str
    date: str
    authors: tuple[str, ...]
    sorted_authors: tuple[str, ...]
    repository: str

    def bibtex(self, title: str = "", note: str = "", key: str = "") -> str:
        """Write the entry of the book, or of a part of it with a title, a note and a key of its own, which TeX can typeset."""
        version = f"Version {self.version}" + ("" if self.date else ", in preparation")
        fields = {
            "author": " and ".join(self.sorted_authors),
            "title": (title or self.title).replace("_", r"\_"),
            "note": (f"{note}. In: {self.title}. {version}" if note else version).replace("_", r"\_"),
        }
        if self.date:
            fields["year"], fields["month"], _ = self.date.split("-")
        if self.repository:
            fields["url"] = self.repository
        lines = ",\n".join(f"{name} = {{{value}}}" for name, value in fields.items())
        return f"@misc{{{NAME}{key},\n{lines}\n}}"


def read(root: Path) -> Citation:
    """Read `CITATION.cff`.

    Raises
    ------
    ValueError
        If the file is missing or lacks an entry, or if the repository is not on GitHub.
    """
    path = root / "CITATION.cff"
    try:
        facts = yaml.safe_load(path.read_text(encoding="utf-8"))
        names = [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in facts["authors"]]
        braced = [f"{{{name}}}" if "name" in one else name for name, one in zip(names, facts["authors"], strict=True)]
        texts = [str(facts[name]) for name in ("title", "version")]
        date = str(facts.get("date-released", ""))
        repository = facts.get("repository-code", "")
    except (OSError, yaml.YAMLError, LookupError, TypeError, AttributeError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): it needs title, version and authors") from problem
    if repository and not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", repository):
        raise ValueError(f"{path}: repository-code is {repository}, want https://github.com/OWNER/NAME, or no such line")
    return Citation(*texts, date, tuple(names), tuple(braced), repository)


def end(root: Path, page: str, title: str, how: str) -> str:
    """Return the end of a page: the version, a link to the page that says how to cite, and of a chapter the entry, folded.

    The copy button comes from the code highlighting.
    """
    citation, name = read(root), page.removeprefix("book/")
    said = f'<p>Version {citation.version}, {citation.date or "in preparation"} · <a href="{how}">how to cite</a></p>'
    if name in chapters(root):
        entry = citation.bibtex(re.sub(r"<[^>]*>|\d+\. ", "", title), f"Chapter {name}", f"_{name}")
        code = f'<div class="highlight"><pre>{escape(entry)}</pre></div>'
        said += f'<details class="cite"><summary>Cite this chapter</summary>{code}</details>'
    return f'<aside class="citing" aria-label="Version and citation">{said}</aside>'


def cite(root: Path, records: list[dict]) -> dict[str, str]:
    """Return what the page on citing takes: version and date, and the citation as BibTeX and in the style of APA.

    Raises
    ------
    ValueError
        If a claim's name that was released is gone, and its link leads nowhere.
    """
    citation = read(root)
    refuse_broken(root, records, released=bool(citation.date))
    year = citation.date[:4] or "in preparation"
    apa = f"{', '.join(citation.authors)} ({year}). {citation.title} (version {citation.version})."
    return {
        "version": citation.version,
        "status": f"released on {citation.date}" if citation.date else "in preparation; no version has been released yet",
        "bibtex": f"```bibtex\n{citation.bibtex()}\n```",
        "apa": f"```text\n{apa}\n```",
    }
