"""Notebooks of chapters for readers: the download of each page, and one click to run on Binder, Colab or Codespaces.

The links are there once `CITATION.cff` names the repository. What is downloaded, and what Colab opens, is written for Jupyter.

Binder opens the committed notebook at the tag, Codespaces in the container of `.devcontainer/CHAPTER`. Colab has nothing but the
notebook that it opens, so each build writes a copy of every chapter, `launch/CHAPTER.ipynb`, whose first cell fetches the book at
the tag; the workflow of the site puts these copies on the branch `launch`.
"""

import copy
import json
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from lib import files
from lib.book import citing
from lib.book.citing import Citation
from lib.book.myst import References
from lib.book.toc import notebooks

BRANCH = "launch"  # where the copies for Colab are
FIRST_CELL = """\
# The book at {tag}, with its library and its precomputed runs; on Colab this takes a minute.
!git clone --quiet --depth 1 --branch {tag} {repository} book-{tag}
%cd -q book-{tag}/book
import sys
sys.path.insert(0, "..")"""


def links(citation: Citation, chapter: str) -> dict[str, str]:
    """Return where a chapter can be run, by the name of the place."""
    repository = citation.repository.removeprefix("https://github.com/")
    container, notebook = quote(f".devcontainer/{chapter}/devcontainer.json", ""), quote(f"book/{chapter}.ipynb", "")
    return {
        "Binder": f"https://mybinder.org/v2/gh/{repository}/{citation.tag}?labpath={notebook}",
        "Colab": f"https://colab.research.google.com/github/{repository}/blob/{BRANCH}/{chapter}.ipynb",
        "Codespaces": f"https://codespaces.new/{repository}/tree/{citation.tag}?devcontainer_path={container}",
    }


def notebook(citation: Citation, shown: dict) -> dict:
    """Return a copy of a notebook (its JSON) without outputs, whose first cell fetches the book."""
    alone = copy.deepcopy(shown)
    for cell in alone["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    first = {"cell_type": "code", "id": "fetch-the-book", "metadata": {}, "outputs": [], "execution_count": None}
    first["source"] = FIRST_CELL.format(tag=citation.tag, repository=citation.repository)
    alone["cells"].insert(0, first)
    return alone


def configure(app: Sphinx, config: Config) -> None:
    """Switch on what needs a repository; then pages show what is `{only} launchable`."""
    address = citing.read(Path(app.srcdir)).repository
    if address:
        app.tags.add("launchable")
        config.html_theme_options |= {"repository_url": address, "repository_branch": "main", "use_repository_button": True}


def offer(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Say below a chapter's title where it can be run, or at its end how to run it here."""
    chapter = citing.CHAPTER.fullmatch(page)
    if not chapter or not Path(app.srcdir, f"{page}.ipynb").is_file():
        return
    citation = citing.read(Path(app.srcdir))
    if citation.repository:
        places = " · ".join(f'<a href="{link}">{name}</a>' for name, link in links(citation, chapter[1]).items())
        context["body"] = context["body"].replace("</h1>", f'</h1><p class="launch">Run this chapter: {places}</p>', 1)
        return
    context["body"] += (
        '<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>'
        f"<p>In a clone of the book: <code>make chapter NAME={chapter[1]}</code>. Then change a line of"
        f" <code>book/{chapter[1]}.md</code>, run it again and see what happens.</p></aside>"
    )


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the notebooks that the pages offer for download, and the copies for Colab."""
    if problem or app.builder.format != "html":
        return
    root, site = Path(app.srcdir), Path(app.outdir)
    citation, references = citing.read(root), References(root)
    for name in notebooks(root):
        shown = references.notebook(json.loads((root / "book" / f"{name}.ipynb").read_text(encoding="utf-8")))
        files.write(site / "_sources" / "book" / f"{name}.ipynb", json.dumps(shown, indent=1) + "\n")
        if citation.repository:
            files.write(site / "launch" / f"{name}.ipynb", json.dumps(notebook(citation, shown), indent=1) + "\n")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("config-inited", configure)
    app.connect("html-page-context", offer)
    app.connect("build-finished", write)
