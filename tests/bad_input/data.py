"""Valid calls of the data sets."""

import numpy as np
from bad_input.calls import call, room

from lib.data import RandomHierarchy

SIGMA = np.array([[1.0, 0.3], [0.3, 2.0]])
HIERARCHY = RandomHierarchy(2, 2, 2, 2, 2)
RULES = HIERARCHY.rules(0)

EXEMPT = {
    "lib.data.mnist": "takes a flag",
    "lib.data.cifar10": "takes flags",
}

CALLS = {
    **room(
        "data",
        two_points=call(input_distance=1.0, target_distance=0.5, also={"input_distance": (-1.0,), "target_distance": (-1.0,)}),
        blobs=call(side=3, pixels=2, also={"side": (1,), "pixels": (1,)}),
    ),
    **room(
        "data",
        nlgp=call(seed=0, samples=3, n=4, xi=(2.0, 1.0), gain=3.0, dtype="float32", positive="xi gain", may={"seed": "zero"}),
        gaussian_clone=call(
            seed=0,
            samples=3,
            sigma1=SIGMA,
            sigma0=np.eye(2),
            may={"seed": "zero"},
            also={"sigma1": (-SIGMA, SIGMA + np.eye(2, k=1)), "sigma0": (-SIGMA,)},
        ),
        single_pulse=call(
            seed=0,
            samples=3,
            n=10,
            xi=((0.1, 0.2), (0.0, 0.1)),
            may={"seed": "zero"},
            also={"xi": (((0.2, 0.1), (0.0, 0.1)), ((0.1, 0.11), (0.0, 0.1)))},
        ),
        single_pulses=call(n=10, xi=((0.1, 0.2), (0.0, 0.1)), also={"xi": (((0.2, 0.1), (0.0, 0.1)), ((0.1, 0.11), (0.0, 0.1)))}),
        symmetric_field=call(seed=0, samples=3, n=4, xi=(2.0, 1.0), kind="arcsine", positive="xi", may={"seed": "zero"}),
    ),
    "lib.data.RandomHierarchy": call(
        classes=2, features=2, symbols=2, branches=2, levels=2, also={"branches": (1,), "features": (3,)}
    ),
    "lib.data.RandomHierarchy.rules": call(on=HIERARCHY, seed=0, may={"seed": "zero"}),
    "lib.data.RandomHierarchy.derive": call(
        on=HIERARCHY,
        rules=RULES,
        numbers=[0, 1],
        also={"rules": (RULES[:1],), "numbers": ([-1], [16], [0.5])},
        may={"numbers": "longer"},
    ),
    "lib.data.RandomHierarchy.draw": call(
        on=HIERARCHY, seed=0, rules=RULES, train=2, test=3, may={"seed": "zero"}, also={"train": (16,), "rules": (RULES[:1],)}
    ),
    **room(
        "data",
        modular=call(p=5, operation="division", also={"p": (6, 1)}),
        one_hot_pairs=call(p=5, operation="division", also={"p": (6, 1)}),
        split=call(seed=0, count=5, first=2, may={"seed": "zero"}, also={"first": (5,), "count": (1,)}),
    ),
}
