"""Tables of settings: what one needs to know to redo an experiment in code of one's own.

The docstring of an experiment has a section `Settings` with the rows of `TRAINED`, such as

    rate : {learning_rate}, the same for all weights

Between braces stand expressions in the arguments of a call and the names of the module, as in an
f-string, so that a number in the table is the one with which the code computes. A section that
begins with `as : other` takes over the rows and the defaults of that function; rows that follow
replace them.
"""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from string import Formatter
from types import FunctionType
from typing import Any

from lib import markdown
from lib.runs.chapters import runs_of
from lib.runs.run import Run

TRAINED = ("data", "network", "initialization", "loss", "rate", "batch", "steps", "stop")
TRAINED += ("read", "precision")
SOLVED = ("data", "initialization", "solved", "read", "precision")  # where nothing is trained
MOST = 10  # values that are listed one by one; of more the first and the last

Arguments = Mapping[str, Any]


def settings_table(chapter: str, *others: Run) -> str:
    """Write in Markdown the settings of a chapter's runs, and of other runs."""
    return table([*runs_of(chapter), *others])


def table(runs: Iterable[Run]) -> str:
    """Write in Markdown, for each function of these runs, the settings
    of its first case and what other cases have instead.

    A ValueError says what is wrong with a function's docstring.
    """
    blocks: dict[FunctionType, list[Run]] = {}
    for run in runs:
        blocks.setdefault(run.function, []).append(run)
    return "\n\n".join(_block(function, own) for function, own in blocks.items())


def rows(function: FunctionType) -> dict[str, str]:
    """Return the settings in a function's docstring, by row."""
    base = _base(function)
    found = {} if base is None else rows(base)
    for line in _section(function)[base is not None :]:
        name, _, text = line.partition(" : ")
        if name not in {*TRAINED, *SOLVED} or not text:
            raise ValueError(
                f"the settings of {_name(function)} have the line {line!r}: begin it with "
                f"{', '.join(TRAINED)} or solved, and a colon between spaces"
            )
        found[name] = " ".join(text.split())
    wanted = SOLVED if "solved" in found else TRAINED
    if {*found} != {*wanted}:
        raise ValueError(
            f"the settings of {_name(function)} are {', '.join(found) or 'missing'}: write a "
            f"section Settings in its docstring with {', '.join(wanted)}"
        )
    return {name: found[name] for name in wanted}


def defaults(function: FunctionType) -> dict[str, Any]:
    """Return what arguments are by default, those of the function that it is `as` included."""
    base = _base(function)
    found = {} if base is None else defaults(base)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not parameter.empty:
            found[name] = parameter.default
    return found


def _name(function: FunctionType) -> str:
    return f"{function.__module__.split('.')[-1]}.{function.__qualname__}"


def _section(function: FunctionType) -> list[str]:
    """Return the lines of the section, each with those that go on from it."""
    text = inspect.getdoc(function) or ""
    found = re.search(r"^Settings\n-+\n(.+?)(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return re.split(r"\n(?! )", found[1]) if found else []


def _base(function: FunctionType) -> FunctionType | None:
    """Return the function from whose settings those of another one go on."""
    found = re.match(r"as : (\w+)$", "".join(_section(function)[:1]))
    return inspect.unwrap(function).__globals__.get(found[1]) if found else None


def _labelled(run: Run) -> dict[str, list[Arguments]]:
    """Return the arguments of cases by label: of a grid of all together,
    of named cases of those together that differ in their seeds alone.
    """
    name = f"`{run.name.split('/')[1]}`"
    usual = {**defaults(run.function), **run.fixed}
    cases: list[Arguments] = [{**usual, **case} for case in run.cases.arguments]
    if not run.cases.named:
        return {name: cases}
    (names,) = run.cases.coordinates.values()
    groups: dict[str, list[int]] = {}
    for case, given in enumerate(cases):
        groups.setdefault(repr({**given, "seed": None}), []).append(case)
    found: dict[str, list[Arguments]] = {}
    for places in groups.values():
        ends = dict.fromkeys(names[[places[0], places[-1]]].tolist())
        found[f"{name}, {' … '.join(ends)}"] = [cases[place] for place in places]
    return found


def _block(function: FunctionType, runs: Sequence[Run]) -> str:
    """Write the settings of one function: of the first case
    all, of others what differs, what a run has in common once.
    """
    label, first = next(iter(_labelled(runs[0]).items()))
    filled = []
    for name, text in rows(function).items():
        filled.append([f"**{name}**", _filled(function, text, first)])
    usual = {*_written(first)}
    others = []
    for run in runs:
        new = {}
        for each, cases in _labelled(run).items():
            new[each] = [text for text in _written(cases) if text not in usual]
        common = set.intersection(*map(set, new.values())) if len(new) > 1 else set()
        if common:
            all_cases = [text for text in next(iter(new.values())) if text in common]
            others.append([f"{next(iter(new)).split(',')[0]}, all", all_cases])
        for each, texts in new.items():
            if each != label:
                others.append([each, [text for text in texts if text not in common]])
    shown = _name(function).replace("__main__.", "")
    tables = [f"**`{shown}`**", markdown.table(["setting", f"run {label}"], filled)]
    if others:
        lines = [[each, markdown.escape("; ".join(texts)) or "–"] for each, texts in others]
        tables.append(markdown.table(["other runs", "what they have instead"], lines))
    return "\n\n".join(tables)


def _filled(function: FunctionType, text: str, cases: Sequence[Arguments]) -> str:
    """Put what expressions are in some cases in the places of the expressions."""
    known = inspect.unwrap(function).__globals__
    parts = []
    for words, expression, _, _ in Formatter().parse(text):
        parts.append(words)
        if expression is not None:
            try:
                values = [eval(expression, known, {**case}) for case in cases]
            except Exception as problem:
                raise ValueError(
                    f"the settings of {_name(function)} have {{{expression}}}, and {problem}: "
                    "write an expression in its arguments and the names of its module"
                ) from problem
            parts.append(_together(values))
    return "".join(parts)


def _written(cases: Sequence[Arguments]) -> list[str]:
    """Write what each argument is in some cases, in place of a dataclass its fields."""
    found: dict[str, list] = {}
    for case in cases:
        for name, value in case.items():
            fields = asdict(value) if is_dataclass(value) else {name: value}
            for field, one in fields.items():
                found.setdefault(field, []).append(one)
    return [f"{name} {_together(values)}" for name, values in found.items()]


def _together(values: Sequence[Any]) -> str:
    """Write what something is in several cases."""
    (first, *others) = {repr(value): value for value in values}.values()
    return _listed([first, *others]) if others else _one(first)


def _listed(values: Sequence[Any]) -> str:
    """Write values, of many the first and the last; lists among them in brackets."""
    texts = [f"({_one(value)})" if _is_list(value) else _one(value) for value in values]
    if len(texts) <= MOST:
        return ", ".join(texts)
    return f"{texts[0]} to {texts[-1]}, {len(texts)} values"


def _one(value: Any) -> str:
    """Write a value for people."""
    if _is_list(value):
        return _listed(value)
    if isinstance(value, bool | str | None):
        return {True: "yes", False: "no", None: "none"}.get(value, value)
    return markdown.people(f"{value:,}" if isinstance(value, int) else f"{value:,g}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
