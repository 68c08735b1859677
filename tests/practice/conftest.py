"""What several tests of the chapter stand on."""

import numpy as np
import pytest


@pytest.fixture
def random_digits(monkeypatch):
    """Give 50 random images and labels in the place of MNIST."""

    def mnist(train=True):
        rng = np.random.default_rng(int(train))
        return rng.random((50, 784), np.float32), rng.integers(0, 10, 50)

    monkeypatch.setattr("lib.data.images.mnist", mnist)
