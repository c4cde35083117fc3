"""Numbers for the judges of chapter 7 of the dissertation."""

from __future__ import annotations

from altered_numbers import STORED

OWN = "beyond one's own"


ALIKE = {"maps, CKA": 0.9, "maps, cross-entropy": 0.9, "CKA, cross-entropy": 0.9}


UNLIKE = {"maps, CKA": -0.9, "maps, cross-entropy": -0.9, "CKA, cross-entropy": -0.9}


HARD = {OWN: {"dense, sgd": 9.0, "conv, sgd": 9.0, "dense, adamw": 0.1, "conv, adamw": 0.1}}


FAR = {"dense to conv over linear to others": 1.1, "conv among themselves over linear to others": 0.9}


NEAR = {"dense to conv over linear to others": 0.1, "conv among themselves over linear to others": 0.1}


def lost(**groups):
    """Other losses with most clusters, by kind with SGD."""
    own = {f"{kind}, sgd": [loss, loss] for kind, loss in groups.items()}
    return lambda n: {**n, "lost with most": {**n["lost with most"], **own}}


def regions(low, high):
    return lambda n: {**n, "regions": {**n["regions"], "low": low, "high": high}}


def mapped(into, out):
    """Accuracies of coefficients mapped into pretrained networks, and out of them."""

    def change(n):
        *others, last = n["mapped"]
        return {**n, "mapped": [[*row[:-1], into] for row in others] + [[out] * len(others) + last[-1:]]}

    return change


#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "linearity/figure-7.2": (regions(50, 150), {"right with 1, 5, 10 pieces": [0.5, 0.5, 0.5]}),
    "linearity/figure-7.5": (STORED, {"regions": {"2": [4], "20": [3], "100": [2]}}),
    "linearity/figure-7.6": (
        {"left of the variance": [0.01, 0.02], "points of XOR right": [1.0, 1.0]},
        {"left of the variance": [0.9, 0.8], "points of XOR right": [0.5, 0.5]},
    ),
    "linearity/equation-7.7": (STORED, {"CKA, scaling": 0.1}),
    "linearity/equation-7.8": (STORED, {"largest deviation": 0.1}),
    "linearity/section-7.2-overlap": (
        lambda n: {**n, "share": [0.009] * len(n["share"])},
        lambda n: {**n, "share": [0.5] * len(n["share"])},
    ),
    "linearity/figure-7.3": (STORED, {"lost with one, at least": 0.0, "rising": [0, 36]}),
    "linearity/figure-7.4": (lost(dense=2.0), {"lost with one, at least": 0.0, "rising": [0, 36]}),
    "linearity/section-7.2-optimizers": (
        STORED,
        lambda n: {**n, "accuracy": {o: [90.0, 10.0, 80.0] for o in n["accuracy"]}},
    ),
    "linearity/figure-7.7": (STORED, {"dense to conv, SGD": 20.0}),
    "linearity/figure-7.8": (STORED, {"lost to SGD": 30.0}),
    "linearity/figure-7.9": ({"linear to dense gains": [5.0, 5.0]}, {"dense lost to dense, SGD": 20.0}),
    "linearity/section-7.3-imagenet": (mapped(0.1, 0.9), mapped(0.95, 0.9)),
    "linearity/figure-7.10": (NEAR, FAR),
    "linearity/figure-7.11": (NEAR, FAR),
    "linearity/figure-7.12": ({"linear to dense": 0.9}, {"conv, SGD": 0.1}),
    "linearity/figure-7.13": ({"linear to dense": 0.9}, {"conv, SGD": 0.1}),
    "linearity/figure-7.14": (STORED, HARD),
    "linearity/figure-7.16": (STORED, HARD),
    "linearity/section-7.4-mnist": (ALIKE, UNLIKE),
    "linearity/section-7.4-cifar10": (ALIKE, UNLIKE),
}

#: Judged by another network than the source's.
IN_KIND = {"linearity/section-7.3-imagenet"}
