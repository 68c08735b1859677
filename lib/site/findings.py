"""Findings: the statements of claims, word for word, at the top of a lesson and on the front page.

    ```{findings}
    products/growth-power: One weight does not wait at all.
    products/late-cost
    ```

Each line names a claim; what may follow is one sentence without numbers.
"""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from lib.claims import CORRECTED, NEW, REPRODUCED
from lib.markdown import escape
from lib.site import ledger
from lib.site.book import Book, book_of

LINE = re.compile(r"([\w/-]+)(?:: (.+))?")
HOLDS = (REPRODUCED, CORRECTED, NEW)


def written(book: Book, lines: list[str]) -> str:
    """Write findings as a numbered list, each with its verdict, which is linked to its claim.

    Raises
    ------
    ValueError
        If a line does not name a claim that holds, or if its sentence has a number.
    """
    known = {record["id"]: record for record in ledger.records(book)}
    found = []
    for number, line in enumerate(filter(None, lines), start=1):
        parts = LINE.fullmatch(line)
        if not parts or parts[1] not in known:
            raise ValueError(
                f"finding {line!r}: want the name of a claim, as in products/late-cost"
            )
        name, sentence = parts.groups(default="")
        record = known[name]
        if record["verdict"] not in HOLDS:
            held = ", ".join(HOLDS)
            raise ValueError(f"finding {name}: it is {record['verdict']}, want one that is {held}")
        if re.search(r"\d", sentence):
            raise ValueError(f"finding {name}: a sentence without numbers may follow the claim")
        link = ledger.coloured(record["verdict"], ledger.link(record["verdict"].capitalize(), name))
        found.append(f"{number}. **{escape(record['statement'])}.** {link} {sentence}".rstrip())
    return "\n".join(found)


class Findings(SphinxDirective):
    """Show the findings that its lines name."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the list, as if it were written there."""
        book = book_of(self.env.app)
        for notebook in book.notebooks:
            self.env.note_dependency(str(book.path(notebook)))
        try:
            text = written(book, list(self.content))
        except ValueError as problem:
            raise self.error(str(problem)) from problem
        box = nodes.container(classes=["findings"])
        box += self.parse_text_to_nodes(text)
        return [box]
