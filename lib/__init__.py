"""The small library that the chapters of Executable Learning Dynamics share.

Imports only point down: experiments and the site stand on runs; these on theory, data, training, measures, claims and
figures, which do not know each other; these on networks, kernels, files, markdown, provenance, progress and, below all, checks.
Theory needs no torch, experiments neither notebook nor matplotlib.

What chapters and users call checks its arguments (see `lib.checks`). It raises TypeError if an argument is not of the kind that
is wanted, as one that is not numeric, and ValueError if it is empty, not finite, out of its range, or does not fit the others.
The message names the argument, what was given and what is wanted. A docstring lists under `Raises` only what else may happen.
"""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

# Torch's matrix products ask for it at the first of them: then a result does not depend on where in memory a matrix lies.
os.environ.setdefault("MKL_CBWR", "AUTO")


def _prepare_numba(folder: Path) -> None:
    """Remove what a full disk or a kill has left of compiled functions; where none can be kept, keep them as long as we run."""
    for path in folder.glob("*/__pycache__/*.nb[ci]"):
        with suppress(OSError):
            if not path.read_bytes().endswith(b"."):  # the last byte of a pickle
                path.unlink()
    if "NUMBA_CACHE_DIR" not in os.environ and not any(os.access(place, os.W_OK) for place in (folder, os.path.expanduser("~"))):
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="numba-")
        atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)


_prepare_numba(Path(__file__).parent)
