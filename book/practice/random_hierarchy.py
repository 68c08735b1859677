"""The random hierarchy model: strings of symbols that a class
label generates level by level, by random rules.

Source: Cagnetta et al. (2024), "How deep neural networks learn compositional data"; Kunin et al.
(2024), appendix, "Random Hierarchy Model".
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib.checks import generator, sizes, takes, whole


@dataclass(frozen=True)
class RandomHierarchy:
    """The sizes of a model; `rules` draws one.

    A class is replaced by one of its m features, tuples of s symbols, then each symbol by one of
    its m features, and so on, L times. No two symbols of a level, and no two classes, share a
    feature; so each string has one class and one derivation.

    Attributes
    ----------
    classes : n_c, at most vˢ/m
    features : m, for each class and each symbol, at most vˢ⁻¹
    symbols : v, of each level
    branches : s, at least 2
    levels : L
    """

    classes: int = 8
    features: int = 4
    symbols: int = 8
    branches: int = 2
    levels: int = 3

    def __post_init__(self) -> None:
        sizes(**vars(self))
        whole("branches", self.branches, 2)
        tuples, most = (
            self.symbols**self.branches,
            max(self.classes, self.symbols if self.levels > 1 else 1),
        )
        if most * self.features > tuples:
            raise ValueError(
                f"{self.features} features for each of {most} classes or symbols: there are "
                f"{tuples} tuples of"
                f" {self.branches} symbols, too few for all to differ"
            )

    @property
    def length(self) -> int:
        """The length of a string, sᴸ."""
        return self.branches**self.levels

    @property
    def strings(self) -> int:
        """How many strings there are."""
        return self.classes * self.features ** ((self.length - 1) // (self.branches - 1))

    def rules(self, seed: ArrayLike) -> list[NDArray]:
        """Draw the features of each class, (n_c, m, s), then of
        each symbol of the levels below, (v, m, s) each.

        Features are drawn without repetition from all tuples, each as likely.
        """
        rng = generator(seed)
        tuples = (self.symbols,) * self.branches
        rules = []
        for count in [self.classes] + [self.symbols] * (self.levels - 1):
            features = rng.choice(
                self.symbols**self.branches, (count, self.features), replace=False
            )
            rules.append(np.stack(np.unravel_index(features, tuples), axis=-1))
        return rules

    def derive(self, rules: list[NDArray], numbers: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return the strings that have the given numbers: symbols (n, sᴸ), labels (n,).

        Parameters
        ----------
        rules : from `rules`
        numbers : (n,) integers from 0 to `strings` - 1; classes follow one another in equal blocks
        """
        numbers = np.asarray(numbers)
        fit = numbers.ndim == 1 and numbers.size and numbers.dtype.kind in "iu"
        if not fit or np.any((numbers < 0) | (numbers >= self.strings)):
            raise ValueError(
                f"numbers: want integers from 0 to {self.strings - 1}, in one dimension"
            )
        labels, rest = np.divmod(numbers, self.strings // self.classes)
        symbols = labels[:, None]  # (n, symbols of this level)
        for features in rules:
            chosen = np.empty_like(symbols)
            for place in range(symbols.shape[1]):
                rest, chosen[:, place] = np.divmod(rest, self.features)
            symbols = features[symbols, chosen].reshape(len(numbers), -1)
        return symbols, labels

    @takes(train=whole, test=whole)
    def draw(
        self, seed: ArrayLike, rules: list[NDArray], train: int, test: int
    ) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray]]:
        """Draw strings to learn from and others to test on: the
        first and the last of all in a random order.

        So a smaller training set of one seed is a part of a larger one, and the test set stays the
        same.

        Parameters
        ----------
        seed : draws the order
        rules : from `rules`
        train, test : how many, together at most `strings`

        Returns
        -------
        (inputs, labels) twice. inputs (n, sᴸ·v), float32: v numbers for each symbol, of which one
            is 1; labels (n,)
        """
        if train + test > self.strings:
            raise ValueError(
                f"train {train} and test {test}: want together at most the {self.strings} strings"
            )
        order = generator(seed).permutation(self.strings)
        return self._encoded(rules, order[:train]), self._encoded(rules, order[-test:])

    def _encoded(self, rules: list[NDArray], numbers: NDArray) -> tuple[NDArray, NDArray]:
        symbols, labels = self.derive(rules, numbers)
        return np.eye(self.symbols, dtype=np.float32)[symbols].reshape(len(numbers), -1), labels
