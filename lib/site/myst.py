"""The book's Markdown, MyST, read into its directives and written for Jupyter, which shows neither directives nor roles.

In a notebook for Jupyter a directive becomes its text, and a reference becomes the number or the title that the site shows.
"""

import copy
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import jupytext
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from pybtex.database import BibliographyData, parse_file
from pybtex.richtext import Text

from lib.site.toc import chapters, notebooks, sources, title

MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).use(colon_fence_plugin).use(myst_block_plugin)
DIRECTIVE = re.compile(r"\{([\w:-]+)\} *(.*)")
OPTION = re.compile(r":([\w-]+): *(.*)")
ROLE = re.compile(r"\{(\w+(?::\w+)?)\}`([^`<]+?)(?:\s*<([^`>]+)>)?`")


class Directive(NamedTuple):
    """A directive of a page, like an exercise: what follows its name, its options, and what it holds."""

    name: str
    argument: str
    options: dict[str, str]
    body: str


def directive(token: Token) -> Directive | None:
    """Read a directive from a token that is one."""
    opened = DIRECTIVE.fullmatch(token.info.strip()) if token.type in ("fence", "colon_fence") else None
    if not opened:
        return None
    options, lines = {}, token.content.split("\n")
    while option := OPTION.fullmatch(lines[0]):
        options[option[1]] = option[2]
        del lines[0]
    return Directive(opened[1], opened[2], options, "\n".join(lines).strip())


def directives(root: Path, chapter: str, name: str) -> list[Directive]:
    """Return a chapter's directives of a name, those of its lesson first."""
    found = map(directive, MARKDOWN.parse(sources(root, chapter)))
    return [one for one in found if one and one.name == name]


@dataclass
class References:
    """What the site says where a page refers to something, and how it is said in a notebook.

    Attributes
    ----------
    root : the book's folder
    said : numbers of equations, figures and exercises, and titles of sections, by label
    equations : the equations that have a number, in TeX, by label
    """

    root: Path
    said: dict[str, str] = field(default_factory=dict)
    equations: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lessons, unnumbered = chapters(self.root), Counter()
        for name in notebooks(self.root):
            if not (self.root / "book" / f"{name}.md").is_file():
                continue
            if name in lessons:
                self._count(name, f"{lessons.index(name) + 1}.", Counter())
            else:  # evidence pages are counted together
                self._count(name, "", unnumbered)
        path = self.root / "book" / "references.bib"
        self.sources = parse_file(path) if path.is_file() else BibliographyData()

    def _count(self, chapter: str, part: str, counts: Counter[str]) -> None:
        def named(form: str) -> str:
            counts[form] += 1
            return form.format(f"{part}{counts[form]}")

        for cell in jupytext.read(self.root / "book" / f"{chapter}.md").cells:
            if cell.cell_type == "code":
                if name := figure(cell).get("name"):
                    self.said[name] = named("Fig. {}")
                continue
            target = ""
            for token in MARKDOWN.parse(cell.source):
                found = directive(token)
                if token.type == "math_block_label":
                    self.equations[token.info] = token.content.strip()
                    self.said[token.info] = named("({})")
                elif found and found.name == "exercise":
                    self.said[found.options.get("label", "")] = named("Exercise {}")
                elif token.type == "inline" and target:
                    self.said[target] = token.content
                target = token.content if token.type == "myst_target" else target * (token.type == "heading_open")

    def write(self, text: str) -> str:
        """Write a text for Jupyter.

        Raises
        ------
        ValueError
            If there are no words for a directive or a reference.
        """
        lines = text.split("\n")
        for token in reversed(MARKDOWN.parse(text)):
            if (written := self._block(token)) is not None:
                lines[slice(*token.map)] = written.split("\n")
        return ROLE.sub(self._role, "\n".join(lines)).strip()

    def _block(self, token: Token) -> str | None:
        if token.type in ("myst_target", "myst_line_comment"):
            return ""
        if token.type == "math_block_label":
            number = self.said.get(token.info, token.info).strip("()")
            return f"$$\n{token.content.strip()}\n\\tag{{{number}}}\n$$"
        found = directive(token)
        if not found:
            return None
        openings = {
            "exercise": f"**{self.said.get(found.options.get('label', ''))}: {found.argument}**\n\n",
            "solution-start": f"**Solution of {self.said.get(found.argument)}**",
            "solution": f"**Solution of {self.said.get(found.argument)}**\n\n",
            "solution-end": "",
            "admonition": f"**{found.argument}**\n\n",
            "container": "",
            "coverage": "*The coverage table is on the site.*",
            "prf:proof": "*Proof.* ",
        }
        if found.name not in openings:
            raise ValueError(f"there are no words for {{{found.name}}}")
        return openings[found.name] + self.write(found.body)

    def _role(self, found: re.Match) -> str:
        role, target, label = found.groups()
        if label:
            return target
        if role == "doc":
            return title(self.root, target.removeprefix("/book/").removeprefix("../"))
        if role in ("eq", "numref", "ref") and target in self.said:
            return self.said[target]
        keys = [key.strip() for key in target.split(",")]
        if role not in ("cite:t", "cite:p") or not set(keys) <= set(self.sources.entries):
            raise ValueError(f"there are no words for {found[0]}")
        if role == "cite:t":
            return " and ".join(f"{author} [{year}]" for author, year in map(self._cited, keys))
        return f"[{'; '.join(f'{author}, {year}' for author, year in map(self._cited, keys))}]"

    def _cited(self, key: str) -> tuple[str, str]:
        entry = self.sources.entries[key]
        names = [" ".join([*one.prelast_names, *one.last_names]) for one in entry.persons["author"]]
        author = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return str(Text.from_latex(author)), entry.fields.get("year", "n.d.")

    def notebook(self, executed: dict) -> dict:
        """Return a copy of a notebook (its JSON) that Jupyter shows as it is to be read, with a caption below each figure.

        A notebook from elsewhere is not trusted: of a figure that moves Jupyter would leave scattered labels. So it shows the
        description until the cell is run.
        """
        whole = copy.deepcopy(executed)
        cells, whole["cells"] = whole["cells"], []
        for cell in cells:
            if "remove-cell" in cell["metadata"].get("tags", []):
                continue
            whole["cells"].append(cell)
            if cell["cell_type"] == "markdown":
                cell["source"] = self.write("".join(cell["source"]))
            elif name := figure(cell).get("name"):
                pages = [output["data"].pop("text/html") for output in cell["outputs"] if "text/html" in output.get("data", {})]
                moves = " It moves once the cell above is run." * bool(pages)
                caption = f"**{self.said[name]}** {self.write(figure(cell)['caption'])}{moves}"
                whole["cells"].append({"cell_type": "markdown", "id": f"{cell['id']}-caption", "metadata": {}, "source": caption})
        return whole


def figure(cell: dict) -> dict:
    """Return what a code cell says of its figure: name and caption."""
    return cell["metadata"].get("mystnb", {}).get("figure", {})
