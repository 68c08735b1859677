"""Nothing that is read is run: no pickles, no code in strings, no shell, no archive unpacked by the names it holds."""

import ast
from pathlib import Path

import pytest

from lib.site import execute
from lib.site.toc import chapters

ROOT = Path(__file__).parents[1]
PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
STRINGS = {"eval", "exec", "compile", "__import__"}
CALLS = {
    "os.system", "os.popen", "tar.extract", "tar.extractall", "shutil.unpack_archive", "pandas.read_pickle", "pd.read_pickle",
    "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load",
}  # fmt: skip


def risks(source):
    """List what code in a file would run of what it reads: (line, what)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names if name.name.split(".")[0] in PICKLES]
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PICKLES:
            found.append((node.lineno, node.module))
        if isinstance(node, ast.Call):
            name, arguments = ast.unparse(node.func), {word.arg: ast.unparse(word.value) for word in node.keywords}
            risky = (
                name in STRINGS | CALLS
                or arguments.get("shell", "False") != "False"
                or arguments.get("allow_pickle", "False") != "False"
                or (name == "torch.load" and arguments.get("weights_only") != "True")
            )
            found += [(node.lineno, name)] * risky
    return sorted(found)


def test_no_code_of_ours_runs_what_it_reads():
    found = {}
    for folder in ("lib", "tests/tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found[path.relative_to(ROOT).as_posix()] = [what for _, what in risks(path.read_text(encoding="utf-8"))]
    mutants = {"tests/tools/mutants.py": ["exec"]}  # of formulas that it changed
    assert {name: risky for name, risky in found.items() if risky} == mutants
    assert "lib/data/fetch.py" in found


@pytest.mark.parametrize("chapter", chapters(ROOT))
def test_no_chapter_runs_what_it_reads(chapter):
    cells = [cell.source for cell in execute.draft(ROOT, chapter).cells if cell.cell_type == "code"]
    assert [found for cell in cells for found in risks(cell)] == [] and len(cells) > 10
