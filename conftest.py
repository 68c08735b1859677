"""What every test starts from: no window, the same examples on every machine and day, and nbval's kernels with our settings."""

from pathlib import Path

import matplotlib
import nbval.kernel
from hypothesis import settings

from lib.site.kernel import BlockingKernel

matplotlib.use("Agg")
settings.register_profile("book", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("book")
nbval.kernel.KernelManager = BlockingKernel


def pytest_collection_modifyitems(items: list) -> None:
    """Leave the evidence pages to CI."""
    for item in items:
        if item.path.parent == Path(__file__).parent / "book" / "evidence":
            item.add_marker("slow")
