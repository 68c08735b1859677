"""One hypothesis profile for all tests: the same examples on every machine and day."""

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("book", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("book")
