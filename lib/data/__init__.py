"""Every data set: toys, signals on a ring, random hierarchies, modular arithmetic; and, fetched once, MNIST and CIFAR-10."""

from lib.data.arithmetic import modular, split
from lib.data.fetch import DataUnavailable
from lib.data.hierarchy import RandomHierarchy
from lib.data.images import Pictures, cifar10, digits, mnist
from lib.data.signals import gaussian_clone, nlgp, single_pulse, symmetric_field
from lib.data.toys import Features, blobs, two_points, xor

__all__ = [
    "DataUnavailable",
    "Features",
    "Pictures",
    "RandomHierarchy",
    "blobs",
    "cifar10",
    "digits",
    "gaussian_clone",
    "mnist",
    "modular",
    "nlgp",
    "single_pulse",
    "split",
    "symmetric_field",
    "two_points",
    "xor",
]
