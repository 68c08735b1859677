"""Valid calls of the experiments, of stored runs and sweeps, of claims and figures."""

from pathlib import Path

import numpy as np
import torch
import xarray as xr
from bad_input.calls import call, room
from matplotlib.figure import Figure
from sweep_functions import wave

from lib.claims import at_least
from lib.experiments.two_point import Setting
from lib.networks import Dense
from lib.results import Run
from lib.sweeps import Sweep

NO_BOOK = Path("/no/such/book")
ROWS = np.array([[1.0, 0.0], [0.6, 0.8]])
SIGNALS = [[1.0, 0.2], [0.3, -0.2], [-1.0, 0.4], [0.4, 1.0]]
SAMPLES, LABELS = np.array([[1.0, 0.5, 0.2], [0.3, -0.2, 1.0], [-1.0, 0.4, 0.1]]), np.array([1.0, 0.0, 1.0])
WEIGHTS = {"weight1": torch.ones(1, 2, 2), "weight2": torch.ones(1, 1, 2)}
SMALL = Setting(units=3, hidden_layers=2, epochs=2)
NETWORK = Dense((2, 3, 1), bias=False)
RUN = Run("topic/experiment", wave, "row", {"one": {"tau": [0.1]}})
SWEEP = Sweep("topic/plane", wave, {"tau": [0.1]}, [0])
GROWN = xr.Dataset(attrs={"members": 2, "wanted": 3})
FOUND = xr.Dataset(
    {name: (("trial", "step"), [[1.0, 0.8, 0.7, 0.65, 0.6]]) for name in ("dh2", "dy2", "loss")}
    | {"w": (("trial", "step"), [[0.4, 0.2, 0.1, 0.05, 0.02]])},
    {"trial": [0], "step": [0, 1, 2, 3, 4]},
)
WATCHED = xr.Dataset({f"{seen}_{one}": ("between", [1.0, 0.5]) for seen in ("speed", "along", "force") for one in "hy"})
MAPS = xr.Dataset(
    {name: (("step", "output", "unit"), [[[1.0, 2.0]], [[2.0, 1.5]]]) for name in ("dh", "d_y")}
    | {name: (("step", "output"), [[value], [value]]) for name, value in (("dy", 0.1), ("wanted", 1.0))},
    {"step": [0, 1]},
).assign(dh=(("step", "unit"), [[1.0, 2.0], [2.0, 1.5]]))
DISTANCES = xr.Dataset({"distance2": (("point", "other"), np.ones((4, 4)))})
CURVE = xr.DataArray([0.1, 0.5, 1.0], {"step": [0, 1, 2]})
ERRORS = xr.DataArray([0.5, 0.2, 0.1], {"points": [10, 20, 40]})
STAMPED = xr.Dataset(attrs={"device": "CPU", "seconds": 60, "versions": "torch 2"})

RECORD = "a record of what a function has found"
LEDGER = "reads the records that lib.claims has written into a notebook"

EXEMPT = {
    "lib.provenance.code": "takes what computes a stored run",
    "lib.provenance.device_name": "takes what resolve_device has returned",
    "lib.results.read": "takes a run that `load` or the store has checked",
    "lib.results.Run.settings_of": "takes labels of the run's pieces",
    "lib.store.limit": "takes what the command line has read",
    "lib.store.measure": "takes the runs of the command line",
    "lib.store.plan": "takes the runs of the command line",
    "lib.provenance.syntax": "takes what Python's own parser returns",
    "lib.provenance.versions": "takes names of packages, which Python looks up",
    "lib.claims.Claim": RECORD,
    "lib.moving.Moving": RECORD,
    "lib.claims.as_table": LEDGER,
    "lib.claims.cells": LEDGER,
    "lib.claims.measured_text": LEDGER,
    "lib.claims.rivals_text": LEDGER,
    "lib.claims.bound_text": LEDGER,
    "lib.claims.bound": LEDGER,
    "lib.claims.collect": LEDGER,
    "lib.experiments.two_point.Setting.network": "hands its sizes to the network, which refuses them",
    "lib.experiments.two_point.Setting.train": "called by experiments, which have checked what comes in",
    "lib.experiments.two_point.Setting.batches": "called by experiments with the number of points that they have",
    "lib.experiments.two_point_maps.maps": "tests/experiments give it a network and points",
    "lib.experiments.images.states": "an observer, called by lib.training.train",
}

MNIST = "needs the digits; tests/experiments run it"
TRAINS = "trains for seconds; tests/experiments run it"
LATE = "a network that has not fitted after a step gives infinity"

CALLS = {
    **room(
        "experiments.two_point",
        Setting=call(
            architecture="dense",
            activation="relu",
            gain=1.0,
            learning_rate=0.1,
            epochs=2,
            units=3,
            hidden_layers=2,
            optimizer="sgd",
            positive="gain learning_rate",
        ),
        dynamics=call(
            setting=SMALL,
            trials=1,
            every=1,
            input_distance=1.0,
            target_distance=0.5,
            seed=0,
            device="cpu",
            may={"seed": "zero"},
        ),
        fit=call(found=FOUND, input_distance=1.0, target_distance=0.5, positive="input_distance", also={"found": (FOUND.dh2,)}),
        final_distance=call(
            setting=SMALL, input_distances=(1.0,), target_distances=(0.5, 1.0), seed=0, device="cpu", may={"seed": "zero"}
        ),
        xor=call(setting=SMALL, trials=1, seed=0, device="cpu", may={"seed": "zero"}),
        merging=call(found=DISTANCES, also={"found": (FOUND,)}),
        blobs=call(setting=SMALL, side=2, trials=1, seed=0, device="cpu", may={"seed": "zero"}),
        mnist=call(
            setting=SMALL, images=64, shown=2, records=1, trials=1, seed=0, device="cpu", may={"seed": "zero"}, untried=MNIST
        ),
    ),
    **room(
        "experiments.two_point_maps",
        assumption=call(
            setting=SMALL,
            trials=1,
            records=1,
            centred=False,
            all_layers=False,
            input_distance=1.0,
            target_distance=0.5,
            seed=0,
            device="cpu",
            may={"seed": "zero"},
        ),
        motion=call(found=MAPS, also={"found": (FOUND,)}),
        among=call(
            setting=SMALL, task="xor", trials=1, records=1, pairs=2, images=64, seed=0, device="cpu", may={"seed": "zero"}
        ),
        assessed=call(
            found=WATCHED,
            input_distance=1.0,
            positive="input_distance",
            also={"found": (FOUND,)},
        ),
    ),
    "lib.experiments.two_point.Setting.with_adam": call(on=SMALL, learning_rate=0.1, epochs=3, positive="learning_rate"),
    **room(
        "experiments.piecewise_linear",
        sphere=call(rng=np.random.default_rng(0), count=2, dimension=3, opaque="rng"),
        relu_network=call(w=ROWS, a=[1.0, -1.0], inputs=ROWS),
        balanced_student=call(rng=np.random.default_rng(0), units=4, dimension=3, opaque="rng", also={"units": (3,)}),
        students=call(
            tau=[0.5, 1.0],
            delta=[0.1, 0.2],
            seed=[0, 1],
            learning_rate=0.1,
            steps=1,
            record=[0, 1],
            dimension=3,
            units=2,
            teachers=1,
            points=4,
            device="cpu",
            positive="tau learning_rate",
            may={"tau": "scalar", "delta": "scalar", "seed": "scalar", "record": "none"},
        ),
        teacher=call(seed=0, dimension=3, neurons=2, may={"seed": "zero"}),
        distances=call(
            tau=0.5,
            delta=0.1,
            seed=0,
            steps=1,
            record=[0, 1],
            device="cpu",
            positive="tau",
            may={"seed": "zero", "record": "none"},
            untried=TRAINS,
        ),
    ),
    **room(
        "experiments.images",
        unbalance=call(
            parameters=WEIGHTS, alpha=2.0, first="weight1", last="weight2", positive="alpha", may={"parameters": "nan inf"}
        ),
        unpack=call(network=NETWORK, theta=torch.ones(9), may={"theta": "nan inf deeper"}),
        digits=call(count=2, train=False, untried=MNIST),
        lenet=call(
            alphas=[1.0],
            members=1,
            images=64,
            epochs=1,
            batch_size=32,
            learning_rate=0.1,
            optimizer="sgd",
            records=1,
            probe=2,
            tested=2,
            seed=0,
            device="cpu",
            positive="alphas learning_rate",
            may={"alphas": "longer", "seed": "zero"},
            untried=MNIST,
        ),
        first_filters=call(
            alphas=[1.0],
            members=1,
            pictures="mnist",
            images=64,
            channels=2,
            kernel=3,
            epochs=1,
            batch_size=32,
            learning_rate=0.1,
            looked_at=2,
            seed=0,
            device="cpu",
            positive="alphas learning_rate",
            may={"alphas": "longer", "seed": "zero"},
            untried=MNIST,
        ),
    ),
    **room(
        "experiments.gated_linear",
        twins=call(steps=400, pairs=2),
        gates_to_rest=call(
            kind="nlgp",
            neurons=1,
            xi=(2.0, 1.0),
            gain=3.0,
            learning_rate=0.1,
            steps=400,
            cooling=1,
            batch=2,
            sites=4,
            trials=1,
            pairs=2,
            seed=0,
            device="cpu",
            positive="gain learning_rate",
            may={"seed": "zero"},
        ),
        behind_own_gates=call(weights=[[1.0, 0.5]], inputs=SIGNALS, labels=[1.0, 0.0, 1.0, 0.0]),
        around=call(
            weights=[[1.0, 0.5]], inputs=SIGNALS, labels=[1.0, 0.0, 1.0, 0.0], share=1.0, window=0.1, positive="share window"
        ),
        descend=call(
            weights=[[1.0, 0.5, 0.1, 0.2]],
            record=[0, 1],
            learning_rate=0.1,
            batch=2,
            xi=(2.0, 1.0),
            gain=3.0,
            seed=0,
            positive="learning_rate gain",
            may={"seed": "zero", "weights": "longer"},
        ),
    ),
    **room(
        "experiments.localization",
        signals=call(
            kind="nlgp",
            sites=4,
            xi=(2.0, 1.0),
            gain=3.0,
            batch=2,
            seed=0,
            targets=(1.0, 0.0),
            positive="gain",
            may={"seed": "zero"},
        ),
        receptive_fields=call(
            kind="nlgp",
            neurons=1,
            xi=(2.0, 1.0),
            gain=3.0,
            activation="relu",
            targets=(1.0, 0.0),
            learning_rate=0.1,
            steps=1,
            batch=2,
            sites=4,
            trials=1,
            records=1,
            record=np.array([0, 1]),
            seed=0,
            device="cpu",
            positive="gain learning_rate xi",
            may={"seed": "zero"},
        ),
        predicted_field=call(inputs=SAMPLES, labels=LABELS, may={"inputs": "longer"}),
        scores=call(inputs=SAMPLES, labels=LABELS, w=np.eye(3)),
    ),
    **room(
        "experiments.grokking",
        transformers=call(
            alpha=[1.0],
            tau=[1.0],
            seeds=[0],
            steps=1,
            every=1,
            p=3,
            operation="division",
            fraction=0.5,
            device="cpu",
            positive="alpha tau",
            may={"alpha": "longer", "tau": "longer", "seeds": "longer"},
            also={"fraction": (1.5, -0.5)},
        ),
        transformer_clocks=call(
            alpha=[1.0],
            tau=[1.0],
            seed=[0],
            steps=1,
            looks=1,
            p=3,
            operation="division",
            fraction=0.5,
            weight_decay=0.1,
            device="cpu",
            positive="alpha tau",
            may={"alpha": "longer", "tau": "longer", "seed": "longer"},
            also={"fraction": (1.5, -0.5), "weight_decay": (-1.0,)},
            untried=LATE,
        ),
        two_layer_clocks=call(
            alpha=[1.0],
            scale=[1.0],
            seed=[0],
            steps=1,
            looks=1,
            p=3,
            operation="division",
            width=2,
            device="cpu",
            positive="alpha scale",
            may={"alpha": "longer", "scale": "longer", "seed": "longer"},
            untried=LATE,
        ),
        two_layers=call(
            alpha=[1.0],
            scale=[1.0],
            seeds=[0],
            steps=1,
            every=1,
            p=3,
            operation="division",
            width=2,
            device="cpu",
            positive="alpha scale",
            may={"alpha": "longer", "scale": "longer", "seeds": "longer"},
        ),
        steps_until=call(accuracies=CURVE, threshold=0.5, also={"accuracies": (ERRORS,)}),
    ),
    **room(
        "experiments.hierarchies",
        learning_curves=call(
            points=[4],
            alpha=[1.0],
            seeds=[0],
            features=2,
            epochs=5,
            test=3,
            device="cpu",
            positive="alpha",
            may={"points": "longer", "alpha": "longer", "seeds": "longer"},
        ),
        strings_needed=call(error=ERRORS, level=0.3, also={"error": (CURVE,)}),
        initial_weights=call(
            alpha=[1.0], seeds=[0], network=NETWORK, positive="alpha", may={"alpha": "longer", "seeds": "longer"}
        ),
    ),
    **room(
        "results",
        Run=call(
            name="topic/experiment",
            function=wave,
            dimension="row",
            pieces={"one": {}},
            source={"steps": 10},
            may={"name": "unknown", "dimension": "unknown", "source": "empty"},
        ),
        Growing=call(
            sweep=SWEEP,
            source={"networks": 10},
            dimension="scale",
            together=2,
            may={"source": "empty", "dimension": "unknown"},
        ),
        load=call(run=RUN, untried="reads a stored run"),
        count=call(found=GROWN, also={"found": (FOUND,)}),
        describe=call(found=STAMPED, also={"found": (FOUND,)}),
    ),
    "lib.results.Run.settings": call(on=RUN, label="one"),
    "lib.store.store": call(
        run=RUN,
        device="cpu",
        shard_size=1,
        part=None,
        most=None,
        until=1.0,
        opaque="part most until",
        untried="computes for hours",
    ),
    **room(
        "sweeps",
        Sweep=call(
            name="topic/plane",
            function=wave,
            grid={"tau": [0.1]},
            seeds=[0],
            fixed={"steps": 2},
            may={"name": "unknown", "grid": "empty"},
            also={"name": ("", "/absolute"), "fixed": ("x", None, {"steps": wave})},
            opaque="fixed",
        ),
        cluster=call(workers=1, scheduler=None, untried="starts processes; tests/sweeps do", opaque="scheduler"),
        run=call(sweep=SWEEP, folder=NO_BOOK, shard_size=1, errors="raise", may={"folder": "text"}, untried=TRAINS),
    ),
    **room(
        "claims",
        Bound=call(low=0.0, high=1.0, also={"high": (-1.0,)}, may={"high": "inf"}),
        at_least=call(low=0.5, may={"low": "inf"}),
        at_most=call(high=0.5, may={"high": "inf"}),
        near=call(value=1.0, tolerance=0.1, also={"tolerance": (-0.1,)}, may={"tolerance": "inf"}),
        check=call(
            id="chapter/name",
            statement="it holds",
            source="Eq. 1",
            measured=1.0,
            expected=at_least(0.5),
            rivals={"nothing": 0.2},
            printed=0.1,
            verdict="corrected",
            why="",
            untried="shows its line in a notebook; tests/test_claims.py does",
            may={"statement": "unknown", "source": "unknown", "why": "unknown", "measured": "nan inf", "printed": "nan inf"},
            also={"id": ("Upper/Case",), "rivals": ({"": 0.2}, {"nothing": np.nan}, {"nothing": "much"})},
            opaque="rivals",
        ),
        settled=call(curve=np.array([0.0, 1.0, 1.0, 1.0]), share=0.1, stretch=0.2, times=np.arange(4.0), also={"share": (0, 1)}),
    ),
    "lib.claims.Bound.holds": call(on=at_least(0.5), value=1.0, may={"value": "nan inf"}),
    "lib.claims.Bound.share": call(on=at_least(0.5), value=1.0, may={"value": "nan inf"}),
    "lib.claims.Bound.shown": call(on=at_least(0.5), value=1.0, may={"value": "nan inf"}),
    **room(
        "style",
        sequence=call(count=3),
        diverging=call(count=3),
        label_panels=call(axes=[Figure().subplots()], may={"axes": "empty"}),
    ),
    "lib.moving.figure": call(
        fig=Figure(),
        update=print,
        values=[0.0, 1.0],
        label="time",
        alt="a curve",
        start=0.0,
        format="{:g}",
        opaque="update",
        also={"start": (0.5,), "values": ([1.0],), "label": ("",), "alt": (" ",)},
        may={"values": "longer", "label": "unknown", "alt": "unknown", "format": "unknown"},
        untried="draws; tests/test_moving.py does",
    ),
    "lib.moving.plane": call(
        fig=Figure(),
        update=print,
        values=[0.0, 1.0],
        others=[0.0, 1.0],
        labels=("time", "scale"),
        alt="a curve",
        start=(0.0, 1.0),
        formats=("{:g}", "{:g}"),
        opaque="update",
        also={"start": ((0.5, 0.0),), "others": ([1.0],), "labels": (("time", ""), ("time",)), "alt": (" ",)},
        may={"values": "longer", "others": "longer", "alt": "unknown"},
        untried="draws; tests/test_moving.py does",
    ),
    **room(
        "provenance",
        resolve_device=call(device="cpu"),
        stamp=call(profile="quick", device="cpu", seed=0, may={"seed": "zero"}),
    ),
}
