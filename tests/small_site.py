"""A small book with code, built into a site as the book is: two chapters, each with evidence."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_output
from small_book import HEADER

from lib.site import execute
from lib.site.book import Book

ROOT = Path(__file__).parents[1]
ADDRESS = "http://localhost:9/owner/book"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
TOC = """\
format: jb-book
root: book/cover
parts:
  - caption: Chapters
    numbered: true
    chapters:
      - file: book/one.ipynb
      - file: book/two.ipynb
  - caption: More
    chapters:
      - file: book/one/evidence.ipynb
      - file: book/two/evidence.ipynb
      - file: book/library
        sections:
          - file: book/library/kernels
          - file: book/one/code
"""
LESSON = r"""
# Chapter {name}

See {{eq}}`eq-{name}-own`, {{eq}}`eq-{name}-first`, {{eq}}`eq-{name}-second`, {{numref}}`fig-{name}-own` and
{{numref}}`fig-{name}-first`.

$$a = b$$ (eq-{name}-own)

```{{code-cell}} ipython3
:mystnb: {{figure: {{name: fig-{name}-own, caption: The lesson}}, image: {{alt: a dot}}}}

draw()
```
"""
EVIDENCE = r"""
# Evidence: {name}

$$a = c$$ (eq-{name}-first)

$$a = d$$ (eq-{name}-second)

```{{code-cell}} ipython3
:mystnb: {{figure: {{name: fig-{name}-first, caption: The evidence}}, image: {{alt: a dot}}}}

draw()
```
"""
SLIDES = """
## Both

![](#fig-one-first)

See [](#eq-one-second) and [](#fig-one-own).
"""
CODE = """
```{code-cell} ipython3
from book.one import theory
from lib import kernels
from lib.kernels import kernel_distance as apart

print(theory.twice(2), apart, kernels.ntk)
```

```{code-cell} ipython3
:tags: [hide-input]

def later(theory, *, apart=apart):
    return theory.twice, theory.Twice(3).value
[twice := theory.SIZES["é"], theory.Twice(1).value]
```
"""
THEORY = r'''"""The formulas of chapter one."""

import numpy as np

from lib.kernels import kernel_distance

SIZES = {"é": 1}


class Twice:
    """A number that is doubled."""


def twice(x, size=1):
    r"""Double a number: :math:`f(x) = 2x`.

    .. math:: \int_0^x 2\,dx' = 2x

    Parameters
    ----------
    x : (n,) numbers, which
        `_half` halves
    size : as in `Twice`

    Returns (n,), unlike `kernel_distance`.
    """
    return np.multiply(x, 2 * size) * _half(SIZES["é"])


@twice
def _half(x):
    """Halve."""
    return x / 2
'''


def write(root):
    """Write the book, its notebooks without outputs."""
    folder = root / "book"
    (folder / "library").mkdir(parents=True)
    shared = ("_config.yml", "lib", "book/_static", "book/_templates", "LICENSES", "THIRD-PARTY.md")
    for name in shared:
        (root / name).symlink_to(ROOT / name)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (root / "CITATION.cff").write_text(citation + f"repository-code: {ADDRESS}\n")
    (folder / "references.bib").write_text("")
    (root / "_toc.yml").write_text(TOC)
    pages = {"cover": "# A small book", "library": "# The library\n\n```{library}\n```"}
    pages["library/kernels"] = "# lib.kernels\n\n```{library}\n```"
    pages["one/code"] = "# Code of one\n\n```{library}\n```"
    for name in ("one", "two"):
        (folder / name).mkdir()
        pages[name] = HEADER + LESSON.format(name=name)
        pages[f"{name}/evidence"] = HEADER + EVIDENCE.format(name=name)
    pages["one"] += CODE
    pages["one/evidence"] += CODE.replace("theory.twice(2), ", "")
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "one" / "slides.md").write_text(SLIDES)
    (folder / "one" / "__init__.py").write_text('"""The first chapter."""\n')
    (folder / "one" / "theory.py").write_text(THEORY, encoding="utf-8")
    book = Book(root)
    for name in book.notebooks:
        notebook = execute.draft(book, name)
        for cell in notebook.cells:
            if "mystnb" in cell.metadata:
                cell.outputs = [new_output("display_data", {"image/png": DOT})]
        nbformat.write(notebook, book.path(name))
    return book
