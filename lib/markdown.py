"""Text and tables in Markdown, and its formulas, between dollars, in plain text."""

import re
import unicodedata
from collections import ChainMap
from collections.abc import Iterable, Sequence

FORMULA = re.compile(r"\$(.+?)\$")
SCIENTIFIC = re.compile(r"(\d[\d.]*)e([-+]?\d+)")

# Formulas in plain text, for places where nothing can be
# typeset; docutils knows the symbols that are not here.
SYMBOLS = {
    "top": "ᵀ", "sum": "∑", "int": "∫", "cdot": "·", "cdots": "…", "dots": "…", "sim": "~",
    "longrightarrow": "→", "perp": "⊥", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|",
    "mid": "|", "star": "*", "sqrt": "√", "epsilon": "ε", "phi": "φ",
}  # fmt: skip
SPACES = {"left", "right", "middle", "big", "Big", "bigl", "bigr", "Bigl", "Bigr"}
SPACES |= {"quad", "qquad", "displaystyle", "limits", "nonumber"}
WRAPPERS = (
    r"\\(?:text|textrm|textbf|operatorname\*?|math(?:rm|bf|bb|cal|sf|it|tt)"
    r"|boldsymbol|underbrace|overbrace|mbox)\s*"
)
MARKS = {
    "dot": "\u0307",
    "ddot": "\u0308",
    "hat": "\u0302",
    "tilde": "\u0303",
    "bar": "\u0304",
    "overline": "\u0304",
}
MARKS |= {f"wide{name}": MARKS[name] for name in ("hat", "tilde")}
MARKED = r"\\(" + "|".join(MARKS) + r")(?![A-Za-z])\s*"
ONE = r"(\\[A-Za-z]+|\w|\{[^{}]*\})"  # what a fraction takes
# braces that are to be seen, and the end of a command
OPEN, CLOSE, END = "\ue000", "\ue001", "\ue002"
RAISED = str.maketrans("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ")


def escape(text: str) -> str:
    """Write a text so that Markdown and HTML show it as it is, but
    for formulas between dollars, which are typeset.
    """
    parts = FORMULA.split(text)
    return "".join(
        f"${part}$" if number % 2 else re.sub(r"([\\`*_~$&<\[\]])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; a bar or the end of a line within a cell does not end the cell."""
    lines = [_line(heads), "|" + "---|" * len(heads), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    return (
        "| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |"
    )


def plain(tex: str) -> str:
    r"""Write a formula in one line of plain text.

    >>> plain(r"\Delta = \eta_w AA^\top - \frac{1}{2}\lVert\beta_0\rVert^{2}")
    'Δ = η_w AAᵀ - 1/2‖β_0‖²'
    """
    text = tex.replace(r"\{", OPEN).replace(r"\}", CLOSE)
    text = re.sub(r"\\(?:begin|end|tag|label)\{[^{}]*\}|\\\\(?:\[[^]]*\])?|(?<!\\)&", " ", text)
    text = re.sub(r"\\[,;:!> ]|~", " ", text)
    text = re.sub(r"\\(lVert|lvert|langle)\s+", lambda m: f"\\{m[1]}{END}", text)
    before = None
    while before != text:  # from the innermost braces outwards
        before = text
        text = re.sub(
            WRAPPERS + r"\{([^{}]*)\}(?=([\w\\])?)",
            lambda m: f"{END} {m[1]}" + " " * bool(m[2]),
            text,
        )
        text = re.sub(
            rf"\\[dt]?frac\s*{ONE}\s*{ONE}", lambda m: f"{_group(m[1])}/{_group(m[2])}", text
        )
        text = re.sub(r"\\sqrt\s*\{([^{}]*)\}", lambda m: f"√{_group(m[1])}", text)
        text = re.sub(MARKED + r"\{([^{}]*)\}", lambda m: END + m[2] + MARKS[m[1]], text)
        text = re.sub(r"\^\s*\{([^{}]*)\}", lambda m: _raised(m[1]), text)
        text = re.sub(
            r"_\s*\{([^{}]*)\}(?=([A-Za-z\\])?)",
            lambda m: f"_{_group(m[1])}" + " " * bool(m[2]),
            text,
        )
    text = re.sub(MARKED + r"(\\[A-Za-z]+|\w)", lambda m: END + m[2] + MARKS[m[1]], text)
    text = re.sub(r"\\math(?:bb|cal|bf|rm)(?![A-Za-z])", END, text)
    text = re.sub(r"\\([A-Za-z]+|[^A-Za-z])", lambda m: _symbol(m[1]), text)
    text = re.sub(r"\^ ?([0-9nᵀ])", lambda m: m[1].translate(RAISED), text)
    text = re.sub(f"[{{}}{END}]", "", text).replace(OPEN, "{").replace(CLOSE, "}")
    text = re.sub(r" +([,.;)])", r"\1", re.sub(r"\s+", " ", text)).strip()
    return unicodedata.normalize("NFC", text)


def sentence(text: str) -> str:
    r"""Write the formulas of a text, which stand between dollars, in plain text.

    >>> sentence(r"for $\delta \ge 0$ the angle is $\pi/2$")
    'for δ ≥ 0 the angle is π/2'
    """
    return FORMULA.sub(lambda match: plain(match[1]), text)


def people(text: str) -> str:
    """Write the numbers of a text with a true minus and with powers of ten.

    >>> people("-3.3e-05, at most 1e-09"), people("2.5e+07 ± 0.1")
    ('−3.3 × 10⁻⁵, at most 10⁻⁹', '2.5 × 10⁷ ± 0.1')
    """
    return SCIENTIFIC.sub(_scientific, text).replace("-", "−").replace("inf", "∞")


def _scientific(match: re.Match) -> str:
    power = f"10{str(int(match[2])).translate(RAISED)}"
    return power if match[1] == "1" else f"{match[1]} × {power}"


def _group(text: str) -> str:
    """Put brackets around what is more than one thing."""
    text = text.strip("{} " + END)
    return text if re.fullmatch(r"\\?\w+|\W", text) else f"({text})"


def _raised(text: str) -> str:
    """Write an exponent."""
    text = text.strip(" " + END)
    if re.fullmatch(r"[0-9n+-]+", text):
        return text.translate(RAISED)
    return f"^{text}" if re.fullmatch(r"\\[A-Za-z]+|.", text) else f"^({text})"


def _symbol(name: str) -> str:
    """Write what TeX calls by a name."""
    from docutils.utils.math import tex2unichar as tex

    if name in SPACES:
        return " "
    tables = (tex.mathalpha, tex.mathord, tex.mathbin, tex.mathrel, tex.mathop)
    fences = (tex.mathopen, tex.mathclose, tex.mathfence)
    return ChainMap(SYMBOLS, *tables, *fences).get(name, f" {name} ")
