"""Small books to throw away, for the tests of the pipeline."""

HEADER = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---"""
PARAMETERS = """\
:tags: [parameters]
profile = "quick"
device = "auto"
seed = 0"""
CHAPTERS = ("one", "two")


def contents(*pages):
    """Return a table of contents: both chapters, then other pages."""
    files = [f"book/{name}.ipynb" for name in CHAPTERS] + [f"book/{page}" for page in pages]
    return "format: jb-book\nroot: book/index\nchapters:\n" + "".join(
        f"  - file: {file}\n" for file in files
    )


def add_evidence(root, chapter, *cells):
    """Give a chapter an evidence page with these code cells."""
    (root / "book" / chapter).mkdir()
    (root / "book" / chapter / "evidence.md").write_text(
        text(f"Evidence for {chapter}", *cells), encoding="utf-8"
    )
    with (root / "_toc.yml").open("a") as toc:
        toc.write(f"  - file: book/{chapter}/evidence.ipynb\n")
    return root


def text(title, *cells):
    """Return the source of a notebook with these code cells behind the parameters."""
    blocks = [f"```{{code-cell}} ipython3\n{cell}\n```" for cell in (PARAMETERS, *cells)]
    return "\n\n".join([HEADER, f"# {title}", *blocks]) + "\n"


def write(root, *cells, title="Chapter NAME", pages=()):
    """Write both chapters, not executed, with these code cells
    behind the parameters; NAME stands for their names.
    """
    (root / "book").mkdir(parents=True)
    (root / "_toc.yml").write_text(contents(*pages))
    source = text(title, *cells)
    for name in CHAPTERS:
        (root / "book" / f"{name}.md").write_text(source.replace("NAME", name), encoding="utf-8")
    return root
