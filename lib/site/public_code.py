"""Which public code our experiments follow: the repositories, what
differs, and links from the words "the authors' code".
"""

import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from lib import markdown
from lib.site import lists
from lib.site.book import Book

TEXT = "text"  # what an experiment follows that needs no code
LABEL = "where-code"  # of the section that lists the repositories

# "the authors' code" and its like, with a straight or a typographic apostrophe.
MENTION = re.compile(
    r"(?:authors['’] (?:public |stored )*(?:code|notebooks?|script|settings file|repository|runs?)"
    r"|public (?:code|notebook|repository)|released code)\b"
)
# What keeps its words as they are: tags, and links, headings, code, formulas, drawings.
LEAVE = r"<(a|h\d|code|pre|script|style|svg|math|title)\b.*?</\1>|<[^>]*>"


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
    listed = lists.read(book.root, "repositories")
    return {name: Repository(**fields) for name, fields in listed.items()}


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


def linked(page: str, body: str) -> str:
    """Link the authors' code, wherever the HTML of a page mentions it, to the section that names
    repository and commit.
    """
    place = f"{'../' * (page.count('/') - 1)}where.html#{LABEL}"

    def link(found: re.Match) -> str:
        mention = found["mention"]
        return (
            f'<a class="reference external" href="{place}">{mention}</a>' if mention else found[0]
        )

    return re.sub(rf"{LEAVE}|(?P<mention>{MENTION.pattern})", link, body, flags=re.DOTALL)
