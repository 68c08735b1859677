"""What every test starts from: no window, the same examples on every machine and day, and nbval's kernels with our settings."""

import matplotlib
import nbval.kernel
from hypothesis import settings

from lib.site.kernel import BlockingKernel

matplotlib.use("Agg")
settings.register_profile("book", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("book")
nbval.kernel.KernelManager = BlockingKernel
