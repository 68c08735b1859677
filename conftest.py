"""What every test starts from: no window, the same examples on every machine and day, and nbval's
kernels with our settings.

nbval executes the notebooks; what it finds is compared with the committed outputs number by number,
by `lib.site.comparison`.
"""

from pathlib import Path

import matplotlib
import nbval.kernel
import nbval.plugin
from hypothesis import settings

from lib.site import comparison
from lib.site.jupyter_kernel import BlockingKernel

ROOT = Path(__file__).parent
TOLERANCES = comparison.tolerances(ROOT)


def compare_outputs(cell: nbval.plugin.IPyNbCell, fresh: list, committed: list) -> bool:
    """Take the place of nbval's comparison, which knows no numbers."""
    cell.comparison_traceback = comparison.differences(
        cell.cell.source, committed, fresh, TOLERANCES
    )
    return not cell.comparison_traceback


matplotlib.use("Agg")
settings.register_profile("book", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("book")
nbval.kernel.KernelManager = BlockingKernel
nbval.plugin.IPyNbCell.compare_outputs = compare_outputs


def pytest_collection_modifyitems(items: list) -> None:
    """Leave the evidence pages to CI."""
    for item in items:
        if item.path.name == "evidence.ipynb":
            item.add_marker("slow")
