"""What the file of a result says of itself: title, licence, and the meaning of each variable.

The words are those of the chapter's data dictionary, a table in `book/NAME/results/README.md`.
"""

import inspect
import re
from io import BytesIO

from scipy.io import netcdf_file

from lib.runs.run import Run

LICENCE = "CC-BY-4.0"  # of results, as REUSE.toml says
ROW = re.compile(r"^\| `(\S+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


def meanings(run: Run) -> dict[str, tuple[str, str]]:
    """Return units and meaning of a chapter's variables, with those of the run where they differ.

    Of these the table has the name EXPERIMENT/variable.
    """
    path = run.path.with_name("README.md")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    rows = {name: (units, meaning) for name, units, meaning in ROW.findall(text)}
    prefix = f"{run.path.stem}/"
    own = {name.removeprefix(prefix): row for name, row in rows.items() if name.startswith(prefix)}
    return rows | own


def title(run: Run) -> str:
    """Return the name of a run and what its function does."""
    summary = (inspect.getdoc(run.function) or "").split("\n\n")[0]
    return f"{run.name}: {' '.join(summary.split())}"


def annotated(run: Run, content: bytes) -> bytes:
    """Return the file of a result with what it says of itself; the numbers stay, bit for bit."""
    known = meanings(run)
    file = BytesIO(content)
    with netcdf_file(file, "a") as found:
        found.title = title(run).encode()
        found.license = LICENCE
        for name in found.variables.keys() & known.keys():
            units, meaning = known[name]
            found.variables[name].units = units.encode()
            found.variables[name].long_name = meaning.encode()
        found.flush()
        return file.getvalue()
