"""What is left of the book's markup in something that a reader is given."""

import re

MARKUP = re.compile(r"[`:]{3,}\{|\{[\w:-]+\}`|^:[\w-]+: |:label:|^\([\w-]+\)=|\]\(#|\$\$ \(", re.MULTILINE)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$|`[^`\n]+`", re.DOTALL)


def markup(text, typeset=False):
    """Return what is left of MyST in words as they are shown, and of formulas; those that Jupyter typesets are none."""
    return MARKUP.findall(text) + re.findall(r"\$|\\[a-zA-Z]+", text if typeset else FORMULA.sub("", text))


def words(notebook):
    """Return the Markdown of a notebook."""
    return "\n\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
