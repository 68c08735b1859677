"""What the site says in its own words, for those who translate the book.

    jupyter-book build . --builder custom --custom-builder gettext --path-output _build/messages

writes the messages of the pages into the catalogue `book.pot`. Those of the templates and of this
library, `_("…")`, go into `sphinx.pot`, beside Sphinx's own; so do those of the scripts, which
find them in the page. Translated catalogues lie in `locales/LANGUAGE/LC_MESSAGES/`, and `language`
in `_config.yml`, under `sphinx: config:`, chooses one. Texts that are no pages, such as decks and
labs, are translated as files, and so are forms in HTML.
"""

from pathlib import Path
from typing import Any

from babel.messages.extract import extract_from_dir
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.gettext import MessageCatalogBuilder, MsgOrigin
from sphinx.locale import _
from sphinx.transforms import SphinxTransform
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle

from lib.markdown import escape


def for_scripts() -> dict[str, str]:
    """Return what scripts say, in the language of the site; `{}` is filled by them."""
    return {
        "play": _("Play {}"),
        "pause": _("Pause {}"),
        "picture": _("Picture at full size"),
        "close": _("Close"),
        "again": _("tap again to follow"),
        "shown": _("{} of {}"),
        "claims": _("{} of {} claims"),
        "page": _("page {} of {}"),
        "search": _("Search the book"),
        "chapters": _("Chapters"),
        "here": _("On this page"),
        "serve": _(
            "To search the book, type <code>make serve</code> in its folder, or <code>python3 -m "
            "http.server 8000</code> in that of its pages, and open http://localhost:8000."
        ),
        "places": _("theorem|lemma|proposition|figure|eq|table|section"),  # of a source
    }


def message(text: str, parts: list[nodes.Node]) -> nodes.inline:
    """Make of a part of a line a message: its text in MyST, which is shown as these parts."""
    return nodes.inline(text, "", *parts, translatable=True)


class BeforeTranslation(SphinxTransform):
    """Mark tables of claims, whose heads may be translated; let more be so.

    Sphinx translates only what has a source, which generated paragraphs and exercises' titles lack.
    """

    default_priority = 10

    def apply(self, **options: Any) -> None:
        """Find the tables by their heads."""
        for table in self.document.findall(nodes.table):
            heads = {entry.astext() for entry in next(table.findall(nodes.row))}
            if {"claim", "statement", "verdict"} <= heads:
                table["classes"].append("ledger")
        for title in self.document.findall(exercise_subtitle):
            words = ""
            for part in title.children:
                text = part.astext()
                words += f"${text}$" if isinstance(part, nodes.math) else escape(text)
            whole = message(words, title.children)
            title.children = []
            title += whole
        for node in self.document.findall(nodes.TextElement):
            if not node.source and isinstance(node, nodes.paragraph | nodes.inline):
                node.source = self.document["source"]
                node.line = node.line or 1


def keep_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Let solutions name their exercises as the page does; sphinx_exercise has an earlier copy."""
    env: Any = app.env
    for exercise in doctree.findall(exercise_enumerable_node):
        env.sphinx_exercise_registry[exercise["label"]]["node"] = exercise.deepcopy()


def collect(app: Sphinx) -> None:
    """Add the messages of this library to a catalogue."""
    if isinstance(app.builder, MessageCatalogBuilder):
        folder = Path(__file__).parent
        for name, line, message, *_rest in extract_from_dir(folder):
            app.builder.catalogs["sphinx"].add(str(message), MsgOrigin(str(folder / name), line))
