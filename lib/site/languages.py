"""What the site says in its own words, for those who translate the book.

Sphinx's builder `gettext` writes the messages of the pages into the catalogue `book`. Those of the
templates and of this library, `_("…")`, go into the catalogue `sphinx`, beside Sphinx's own; so
do those of the scripts, which find them in the page.
"""

from pathlib import Path

from babel.messages.extract import extract_from_dir
from sphinx.application import Sphinx
from sphinx.builders.gettext import MessageCatalogBuilder, MsgOrigin
from sphinx.locale import _


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
        "serve": _(
            "To search the book, type <code>make serve</code> in its folder and open "
            "http://localhost:8000."
        ),
        "places": _("theorem|lemma|proposition|figure|eq|table|section"),  # of a source
    }


def collect(app: Sphinx) -> None:
    """Add the messages of this library to a catalogue."""
    if isinstance(app.builder, MessageCatalogBuilder):
        folder = Path(__file__).parent
        for name, line, message, *_rest in extract_from_dir(folder):
            app.builder.catalogs["sphinx"].add(message, MsgOrigin(str(folder / name), line))
