"""The kernels of `lib run`, `lib seeds` and nbval: this interpreter and library, our own settings.

What readers have set for Matplotlib, IPython, Jupyter or Python, their kernel specifications,
language and time zone change no output. Kernels talk through sockets in a folder of their own,
so that no port can be taken.
"""

import atexit
import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

import matplotlib
import zmq
from jupyter_client import AsyncKernelManager, KernelManager
from jupyter_client.kernelspec import KernelSpec

# It finds the fonts here and now: a kernel would say so on the page.
from matplotlib.font_manager import FontManager, fontManager, json_dump

HOME = Path(__file__).parents[2]  # of lib

STRANGE = ("PYTHON", "IPYTHON", "JUPYTER", "JPY_", "MPL", "MATPLOTLIB", "NUMBA_", "TQDM_", "LC_")
STRANGE += ("LANG", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "SOURCE_DATE_EPOCH")
KEPT = {"PYTHONHOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}

# What the last kernel of this process wrote on stderr beside its cells.
_said = tempfile.TemporaryFile()  # noqa: SIM115
atexit.register(_said.close)


def library() -> str:
    """Return the PYTHONPATH with which a process imports this library."""
    return os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH")]))


def environment(folder: str) -> dict[str, str]:
    """Return this process's environment without what changes outputs, settings in `folder`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.startswith(STRANGE)
    }
    ours = {
        "PYTHONPATH": library(),
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",  # no file beside a notebook hides a module
        "PYTHONUTF8": "1",
        "IPYTHONDIR": folder,
        "JUPYTER_CONFIG_DIR": folder,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": folder,
        "MATPLOTLIBRC": str(Path(matplotlib.get_data_path(), "matplotlibrc")),
        "TQDM_DISABLE": "1",  # bars would end up in the outputs
        "TZ": "UTC",
    }
    return {"HOME": folder} | kept | ours


def refuse_another_library(root: Path) -> None:
    """Raise if the chapters lie beside another library, as in a copy without its environment."""
    beside = root / "lib"
    if (beside / "__init__.py").is_file() and not beside.samefile(HOME / "lib"):
        raise ValueError(
            f"the chapters are in {root}, but the library is that of {HOME}: set PYTHONPATH={root}"
        )


def _folder() -> str:
    """Make a temporary folder whose path is short enough for the names of sockets."""
    folder = tempfile.mkdtemp(prefix="kernel-")
    if len(os.fsencode(f"{folder}/socket-1")) > zmq.IPC_PATH_MAX_LEN:
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="kernel-", dir="/tmp")
    return folder


class BlockingKernel(KernelManager):
    """The manager for nbval."""

    kernel_spec = KernelSpec(
        argv=[
            sys.executable,
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
            "--IPKernelApp.capture_fd_output=False",
        ],
        display_name="Python 3",
        language="python",
    )

    def start_kernel(self, env: dict[str, str] | None = None, **options: Any) -> Any:
        """Start the kernel in our environment and `env`; its stderr is kept for `last_words`."""
        folder = _folder()
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.connection_file = f"{folder}/kernel.json"
        self.transport = "ipc"
        self.ip = f"{folder}/socket"
        json_dump(fontManager, f"{folder}/fontlist-v{FontManager.__version__}.json")
        _said.truncate(0)
        options |= {"env": environment(folder) | (env or {}), "stderr": _said}
        return super().start_kernel(**options)


class Kernel(BlockingKernel, AsyncKernelManager):
    """The manager for nbclient and papermill."""


def last_words() -> str:
    """Return the last line of the last kernel on stderr, after a semicolon, or nothing."""
    _said.seek(0)
    lines = _said.read().decode(errors="replace").strip().splitlines()
    return f"; the kernel's last line: {lines[-1]}" if lines else ""
