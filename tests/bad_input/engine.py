"""Valid calls of the engine: checks, networks, training and what goes with them."""

import numpy as np
import torch
from bad_input.calls import call, room

from lib.networks import Dense, Transformer
from lib.training import half_squared_error

POINTS = np.array([[1.0, 0.5], [0.2, -1.0], [0.3, 0.4]])
TARGETS = np.array([[1.0], [0.0], [0.5]])
OUTPUTS = torch.tensor(POINTS)
LABELS = torch.tensor([0, 1, 1])
DENSE = Dense((2, 3, 1))
SHAPE = "called by initialize, with the shapes that the network itself names"

EXEMPT = {
    **{f"lib.networks.{name}.variance": SHAPE for name in ("Network", "LeNet", "SmallResNet")},
    "lib.networks.Dense.masks": "called by lib.training.train, which has checked what comes in",
}
INITIALIZE = {"seed": 0, "members": 2, "dtype": torch.float32, "device": "cpu"}

CALLS = {
    **room(
        "networks",
        Dense=call(
            widths=(2, 3, 1), activation="relu", dropout=0.1, also={"widths": ((2, 1), (2, 0, 1), (2, 1.5, 1)), "dropout": (1.0,)}
        ),
        Committee=call(inputs=2, units=3, activation="relu"),
        Convolutional=call(inputs=1, outputs=1, units=9, convolutions=2, channels=2, kernel=3, activation="relu"),
    ),
    "lib.networks.Network.initialize": call(
        on=DENSE, gain=1.0, **INITIALIZE, opaque="dtype", may={"seed": "zero"}, also={"gain": ([1.0] * 3, 0.0, -1.0)}
    ),
    "lib.networks.Network.layers": call(on=DENSE, layers=0, may={"layers": "zero"}, also={"layers": (1, (0, 1))}),
    "lib.networks.LeNet": call(outputs=10),
    "lib.networks.SmallResNet": call(
        channels=2,
        kernel=3,
        point=(3, 8, 8),
        outputs=2,
        gain=0.5,
        positive="gain",
        also={"kernel": (2,), "point": ((3, 8), (3, 6, 8))},
    ),
    "lib.networks.Transformer": call(tokens=5, length=4, width=8, heads=2, also={"heads": (3,)}),
    "lib.networks.Transformer.initialize": call(on=Transformer(5, 4, 8, 2), **INITIALIZE, opaque="dtype", may={"seed": "zero"}),
    **room(
        "training.schedules",
        cosine=call(steps=10.0, until=0.5, positive="steps until", also={"until": (1.5,)}),
        piecewise=call(steps=[0.0, 5.0], factors=[0.0, 1.0], also={"factors": ([0.0, -1.0],), "steps": ([5.0, 0.0],)}),
        warm_up=call(steps=5, may={"steps": "fraction"}),
    ),
    **room(
        "training",
        half_squared_error=call(outputs=OUTPUTS, targets=OUTPUTS, may={"outputs": "nan inf deeper", "targets": "nan inf deeper"}),
        cross_entropy=call(outputs=OUTPUTS, labels=LABELS, may={"outputs": "nan inf longer deeper"}),
        log_steps=call(steps=10, count=3),
        train=call(
            network=DENSE,
            parameters=DENSE.initialize(0, 2),
            inputs=POINTS,
            targets=TARGETS,
            learning_rate=0.1,
            steps=2,
            optimizer="sgd",
            momentum=0.5,
            nesterov=True,
            betas=(0.9, 0.99),
            weight_decay=0.1,
            batch_size=2,
            schedule=None,
            draw=None,
            loss=half_squared_error,
            metrics={},
            observe=None,
            test=(POINTS, TARGETS),
            record=[0, 2],
            layers=(0,),
            stop_below=0.0,
            stop_when=None,
            seed=0,
            positive="learning_rate",
            may={"parameters": "nan inf", "layers": "empty scalar longer", "seed": "zero", "stop_below": "inf"},
            also={
                "network": ("dense", None),
                "loss": ("mse", None),
                "metrics": ("accuracy", half_squared_error),
                "schedule": (0.5,),
                "draw": (np.zeros(3),),
                "observe": ("all",),
                "momentum": (1.0, -0.1),
                "betas": ((0.9, 1.0), (0.9,)),
                "weight_decay": (-0.1, [0.1] * 3),
                "stop_when": (0.5,),
                "batch_size": (4,),
                "record": ([0, 3], [2, 0], [0.5]),
                "test": ((POINTS,), (POINTS, TARGETS[:2])),
                "seed": ([0, 1, 2],),
            },
            opaque="network draw loss metrics observe schedule stop_when",
        ),
    ),
}
