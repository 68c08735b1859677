"""Which public code our experiments follow: the repositories, what
differs, and links from the words "the authors' code".
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import yaml
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib import markdown
from lib.site.book import Book

TEXT = "text"  # what an experiment follows that needs no code
LABEL = "where-code"  # of the section that lists the repositories

# "the authors' code" and its like, with a straight or a typographic apostrophe.
MENTION = re.compile(
    r"((?:authors['’] (?:public |stored )*(?:code|notebooks?|script|settings file|repository|runs?)"
    r"|public (?:code|notebook|repository)|released code)\b)"
)
# What keeps its words as they are.
UNLINKED = (
    nodes.reference | nodes.title | nodes.literal | nodes.literal_block | nodes.raw | nodes.math
)


@dataclass(frozen=True)
class Repository:
    """A public repository as it was read; the fields are those of `book/repositories.yml`."""

    repository: str
    commit: str
    date: str
    licence: str
    about: str

    def link(self, words: str, file: str = "") -> str:
        """Write a link to a file of this commit, or to all of them."""
        place = f"blob/{self.commit}/{quote(file)}" if file else f"tree/{self.commit}"
        return f"[{words}](https://github.com/{self.repository}/{place})"


@cache
def repositories(book: Book) -> dict[str, Repository]:
    """Read the repositories, by the names that `follows` uses."""
    text = (book.folder / "repositories.yml").read_text(encoding="utf-8")
    return {name: Repository(**fields) for name, fields in yaml.safe_load(text).items()}


def link(book: Book, follows: str) -> str:
    """Write a link to the code that an experiment follows, NAME/FILE, or that it is the text."""
    if follows == TEXT:
        return "the text"
    name, _, file = follows.partition("/")
    return repositories(book)[name].link(f"{name}: {markdown.escape(file)}", file)


def repository_table(book: Book) -> str:
    """Write the table of the repositories: commit, date, licence and contents."""
    rows = []
    for one in repositories(book).values():
        commit = one.link(f"`{one.commit[:10]}`")
        rows.append([one.repository, commit, one.date, one.licence, one.about])
    return markdown.table(["repository", "commit", "of", "licence", "what it is"], rows)


class LinkMentions(SphinxPostTransform):
    """Link the authors' code, wherever a page mentions it, to
    the section that names repository and commit.
    """

    default_priority = 197
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Put links into the text of the page."""
        up = "../" * (self.env.docname.count("/") - 1)
        for text in list(self.document.findall(nodes.Text)):
            if MENTION.search(text) and not _within(text, UNLINKED):
                text.parent.replace(text, linked(text, f"{up}where.html#{LABEL}"))


def linked(text: str, place: str) -> list[nodes.Node]:
    """Turn a text into nodes in which each mention of the authors' code leads to a place."""
    parts = []
    for number, part in enumerate(MENTION.split(text)):  # every second one is a mention
        mention = nodes.reference("", part, refuri=place)
        parts.append(mention if number % 2 else nodes.Text(part))
    return parts


def _within(node: nodes.Node | None, kinds: Any) -> bool:
    return isinstance(node, kinds) or (node is not None and _within(node.parent, kinds))
