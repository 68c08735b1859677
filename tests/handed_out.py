"""What is left of the book's markup in something that a reader is given."""

import re

MARKUP = re.compile(
    r"[`:]{3,}\{|\{[\w:-]+\}`|^:[\w-]+: |:label:|^\([\w-]+\)=|\]\(#|\$\$ \(", re.MULTILINE
)
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$|`[^`\n]+`", re.DOTALL)


def markup(text, typeset=False):
    """Return what is left of MyST in words as they are shown, and
    of formulas; those that Jupyter typesets are none.
    """
    return MARKUP.findall(text) + re.findall(
        r"\$|\\[a-zA-Z]+", text if typeset else FORMULA.sub("", text)
    )


def words(notebook):
    """Return the Markdown of a notebook, that of its outputs, too."""
    written = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    shown = [
        output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", [])
    ]
    return "\n\n".join(map("".join, [*written, *(data.get("text/markdown", "") for data in shown)]))
