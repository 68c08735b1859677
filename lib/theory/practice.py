"""Counts that go with the practice experiments of "Get rich quick" (Kunin et al., 2024, figure 5)."""

# --- random hierarchy model


def rule_count(classes: int, features: int, symbols: int, levels: int) -> int:
    """Return how many rules a random hierarchy model has, m·n_c + (L − 1)·m·v.

    Parameters
    ----------
    classes, features, symbols, levels : n_c, m, v and L, positive integers

    Raises
    ------
    ValueError
        If a size is no positive integer.

    Source: appendix, "Random Hierarchy Model".
    """
    _check_sizes(classes=classes, features=features, symbols=symbols, levels=levels)
    return features * classes + (levels - 1) * features * symbols


def string_count(classes: int, features: int, branches: int, levels: int) -> int:
    r"""Return how many strings a random hierarchy model makes, :math:`n_c\,m^{1 + s + \dots + s^{L-1}}`.

    One choice of m for each symbol that is replaced: one at the top, s below it, and so on.

    Parameters
    ----------
    classes, features, branches, levels : n_c, m, s and L, positive integers

    Raises
    ------
    ValueError
        If a size is no positive integer.

    Source: Cagnetta et al. (2024); 131,072 at the sizes of Kunin et al.
    """
    _check_sizes(classes=classes, features=features, branches=branches, levels=levels)
    return classes * features ** sum(branches**level for level in range(levels))


def sample_complexity(classes: int, features: int, levels: int) -> int:
    r"""Return the order of the number of strings that a deep network needs, :math:`n_c\,m^L`.

    Parameters
    ----------
    classes, features, levels : n_c, m and L, positive integers

    Raises
    ------
    ValueError
        If a size is no positive integer.

    Source: Cagnetta et al. (2024), for deep networks without scaled layers; an order of magnitude, without its factor.
    """
    _check_sizes(classes=classes, features=features, levels=levels)
    return classes * features**levels


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not (size >= 1 and size % 1 == 0):
            raise ValueError(f"{name} is {size}: want a positive integer")
