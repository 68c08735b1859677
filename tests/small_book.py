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
    return "format: jb-book\nroot: book/index\nchapters:\n" + "".join(f"  - file: {file}\n" for file in files)


def write(root, *cells, title="Chapter NAME", pages=()):
    """Write both chapters, not executed, with these code cells behind the parameters; NAME stands for their names."""
    (root / "book").mkdir(parents=True)
    (root / "_toc.yml").write_text(contents(*pages))
    blocks = [f"```{{code-cell}} ipython3\n{cell}\n```" for cell in (PARAMETERS, *cells)]
    source = "\n\n".join([HEADER, f"# {title}", *blocks]) + "\n"
    for name in CHAPTERS:
        (root / "book" / f"{name}.md").write_text(source.replace("NAME", name), encoding="utf-8")
    return root
