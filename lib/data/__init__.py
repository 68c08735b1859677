"""Data that chapters share: signals on a ring, and the handwritten digits of MNIST,
fetched once.
"""

from lib.data.fetch import DataUnavailable
from lib.data.images import digits, mnist
from lib.data.signals import gaussian_clone, nlgp, single_pulse, symmetric_field

__all__ = [
    "DataUnavailable",
    "digits",
    "gaussian_clone",
    "mnist",
    "nlgp",
    "single_pulse",
    "symmetric_field",
]
