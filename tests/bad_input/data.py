"""Valid calls of the data sets."""

import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
from bad_input.calls import call, room
from PIL import Image

from lib.data import Source
from lib.hierarchy import RandomHierarchy

SIGMA = np.array([[1.0, 0.3], [0.3, 2.0]])
HIERARCHY = RandomHierarchy(2, 2, 2, 2, 2)
RULES = HIERARCHY.rules(0)
SOURCE = Source("none", "NO_SUCH_VARIABLE", {"file": "0"}, {})


def archive(**files):
    """Pack files, with / for __ in their names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def saved(write):
    packed = io.BytesIO()
    write(packed)
    return packed.getvalue()


BATCH = pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 1]})
BATCHES = archive(**{"cifar-10-batches-py__test_batch": BATCH})
JPEGS = archive(**{"test__airplane__0000.jpg": saved(lambda file: Image.new("RGB", (32, 32)).save(file, "jpeg"))})
LABELS = saved(lambda file: np.save(file, np.array([0])))

EXEMPT = {
    "lib.data.Source": "a table of this library's own; fetch refuses what does not fit it",
    "lib.data.mnist": "takes a flag",
    "lib.data.cifar10": "takes flags",
    "lib.data.main": "is the command: it prints what is wrong with its words and returns 1",
}

CALLS = {
    **room(
        "data",
        two_points=call(input_distance=1.0, target_distance=0.5, also={"input_distance": (-1.0,), "target_distance": (-1.0,)}),
        blobs=call(side=3, pixels=2, also={"side": (1,), "pixels": (1,)}),
        folder=call(path=Path("anywhere")),
        mirror=call(address="https://example.org", may={"address": "unknown"}, also={"address": ("",)}),
        download=call(address="https://example.org", may={"address": "unknown"}, also={"address": ("",)}),
        npm=call(package="a", inside="b", may={"package": "unknown", "inside": "unknown"}),
        place=call(source=SOURCE),
        fetch=call(source=SOURCE, names=(), also={"names": (("no such",),)}, opaque="names"),
        read_idx=call(data=b"\0\0\x08\1\0\0\0\2ab", also={"data": (b"", b"\0\0\x08\1\0\0\0\3ab", b"junk and more")}),
    ),
    **room(
        "cifar",
        read_batches=call(archive=BATCHES, train=False, also={"archive": (b"", b"junk", archive())}),
        read_jpegs=call(archive=JPEGS, labels=LABELS, train=False, also={"archive": (b"", archive()), "labels": (b"", b"junk")}),
    ),
    **room(
        "signals",
        nlgp=call(seed=0, samples=3, n=4, xi=(2.0, 1.0), gain=3.0, positive="xi gain", may={"seed": "zero"}),
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
        symmetric_field=call(seed=0, samples=3, n=4, xi=(2.0, 1.0), kind="arcsine", positive="xi", may={"seed": "zero"}),
    ),
    "lib.hierarchy.RandomHierarchy": call(
        classes=2, features=2, symbols=2, branches=2, levels=2, also={"branches": (1,), "features": (3,)}
    ),
    "lib.hierarchy.RandomHierarchy.rules": call(on=HIERARCHY, seed=0, may={"seed": "zero"}),
    "lib.hierarchy.RandomHierarchy.derive": call(
        on=HIERARCHY,
        rules=RULES,
        numbers=[0, 1],
        also={"rules": (RULES[:1],), "numbers": ([-1], [16], [0.5])},
        may={"numbers": "longer"},
    ),
    "lib.hierarchy.RandomHierarchy.draw": call(
        on=HIERARCHY, seed=0, rules=RULES, train=2, test=3, may={"seed": "zero"}, also={"train": (16,), "rules": (RULES[:1],)}
    ),
    **room(
        "modular",
        modular=call(p=5, operation="division", also={"p": (6, 1)}),
        one_hot_pairs=call(p=5, operation="division", also={"p": (6, 1)}),
        split=call(seed=0, count=5, first=2, may={"seed": "zero"}, also={"first": (5,), "count": (1,)}),
    ),
}
