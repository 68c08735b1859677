"""Architectures: frozen descriptions that draw parameters
for many members and map inputs to outputs.
"""

from lib.networks.base import ACTIVATIONS, Network, Observe
from lib.networks.convolutional import Convolutional, LeNet
from lib.networks.dense import Committee, Dense

__all__ = ["ACTIVATIONS", "Committee", "Convolutional", "Dense", "LeNet", "Network", "Observe"]
