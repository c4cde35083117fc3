"""Numbers for the judges of chapter 3 of the dissertation."""

from __future__ import annotations

import numpy as np
from altered_numbers import FAILS, STORED, as_printed, far_off


def swapped(numbers):
    """ReLU and leaky ReLU for each other."""
    return {**numbers, "ReLU": numbers["leaky"], "leaky": numbers["ReLU"]}


def lowest(rate, name="ReLU"):
    """The same lowest rate at all sizes."""
    return lambda numbers: {
        **numbers,
        name: {**numbers[name], "min": np.full_like(numbers[name]["min"], rate, float)},
    }


def means(rate):
    """The same mean rate of ReLU networks at all sizes."""
    return lambda numbers: {**numbers, "ReLU": {**numbers["ReLU"], "mean": np.full((5, 9), rate)}}


def often_everywhere(numbers):
    """ReLU networks that often succeed, also on the hardest class."""
    return {**numbers, "ReLU": {**numbers["ReLU"], "mean": np.full((5, 9), 0.9), "min": np.full((5, 9), 0.8)}}


def from_width_five(numbers):
    row = [0.0 if width < 5 else 0.4 for width in numbers["widths"]]
    return {**numbers, "ReLU": {**numbers["ReLU"], "min": [row, *numbers["ReLU"]["min"][1:]]}}


def deeper_is_worse(numbers):
    return {**numbers, "ReLU": {**numbers["ReLU"], "min": numbers["ReLU"]["min"][::-1]}, "depths": [2, 1, 3, 4, 5]}


def with_rows_and_loss(numbers):
    printed = as_printed(numbers)
    printed["by loss"]["mean"]["8/3"] = [0.389, 0.36, 0.42]
    return printed


def other(kind, **more):
    """Other numbers of one kind of functions."""
    return lambda numbers: {**numbers, kind: {**numbers[kind], **more}}


def never_printed(numbers):
    return {digits: {**own, "printed ends": dict.fromkeys(own["printed ends"], 0)} for digits, own in numbers.items()}


ENTROPY_BEST = {"swaps": [-0.1, 0, 0], "degree": [0, 0, 0], "influence": [0.1, 0, 0], "entropy": [-0.9, 0, 0]}


FUNCTIONS = {
    "linearity/section-3.3.2-root": (STORED, {"largest ratio to sqrt(n)": 9.0}),
    "linearity/section-1.1.3-average": (STORED, {"means": [1, 1.1, 1.2]}),
    "linearity/section-3.1-perceptron": ({"at 2^n": 9}, {"p": 1e-9}),
    "linearity/section-3.1-normal-form": (STORED, FAILS),
    "linearity/section-3.1-bias": (STORED, lambda numbers: {**numbers, "rows": numbers["rows"][::-1]}),
    "linearity/section-3.1-width": (STORED, FAILS),
    "linearity/equation-3.5": ({"as printed": [[1, 1.0, 1.0]]}, STORED),
    "linearity/equation-3.6": (STORED, FAILS),
    "linearity/theorem-3.3.1": (STORED, FAILS),
    "linearity/section-A.5": (STORED, FAILS),
    "linearity/section-3.3.1-width-2": (STORED, FAILS),
    "linearity/section-3.3.1-cases": (as_printed, STORED),
    "linearity/section-3.3.1-classes": (STORED, far_off),
    "linearity/table-3.1": (STORED, far_off),
    "linearity/figure-3.1": (STORED, {"2": [1, 3]}),
    "linearity/figure-3.2": (STORED, {"classes": [1785]}),
    "linearity/section-3.3.1-parity": (STORED, far_off),
}


NETWORKS = {
    "linearity/lemma-A.2.1": (STORED, FAILS),
    "linearity/equation-A.14": ({"as printed": 0.0}, STORED),
    "linearity/theorem-3.3.2": (STORED, FAILS),
    "linearity/section-A.2-proof": ({"printed": 0.1}, STORED),
    "linearity/section-3.3.2-nodes": ({"changes": [1, 2, 3], "leaky": [0, 1, 2], "ReLU": [0, 1, 2]}, STORED),
    "linearity/figure-3.3": (STORED, {"right": {"wide": False, "deep": True}}),
    "linearity/theorem-3.3.3": (STORED, FAILS),
    "linearity/section-A.3-places": ({"furthest from i / w^l": 0.0}, STORED),
    "linearity/equation-A.21": ({"as printed": [0.0]}, STORED),
    "linearity/theorem-3.3.4": (STORED, FAILS),
    "linearity/section-3.3.3-example": ({"a <= 0": {"at": [-4, 2], "gradient": 0.0, "loss": 0.0}}, STORED),
    "linearity/section-3.3.3-equations": ({"from descent": 0.0}, STORED),
    "linearity/section-3.3.3-regions": (STORED, {"regions": 64}),
    "linearity/section-3.3.3-steady": (STORED, FAILS),
    "linearity/section-3.3.3-symmetry": ({"differ": {"w_1 negated": 0}}, STORED),
    "linearity/section-3.4.1-freedom": (STORED, {"dimensions": {"1": 3}}),
    "linearity/section-3.4.1-losses": (STORED, {"losses": {"0": 22, "4": 14}}),
    "linearity/table-3.2": (with_rows_and_loss, far_off),
}


TRAINING = {
    "linearity/section-3.4.2-invariance": (STORED, {"classes": {"6": {"successes": [0, 99], "p": 1e-9}}}),
    "linearity/figure-3.5": (STORED, swapped),
    "linearity/section-3.4.2-shallow": (from_width_five, lowest(0.4)),
    "linearity/section-3.4.2-narrow": (means(0.05), often_everywhere),
    "linearity/section-3.4.2-width-2": (STORED, lowest(0.1)),
    "linearity/section-3.4.2-3x2": (STORED, lowest(0.0)),
    "linearity/section-3.4.2-layers": (STORED, lowest(0.5)),
    "linearity/section-3.4.2-leaky": (STORED, swapped),
    "linearity/section-3.4.2-minimal": (STORED, lowest(0.0, "leaky")),
    "linearity/section-3.3.2-hypothesis": (
        lambda numbers: {**numbers, "counted": {**numbers["counted"], "networks": 3000.0}},
        STORED,
    ),
    "linearity/table-3.3": (as_printed, {"ReLU": {"278": 40, "27030": 1}}),
    "linearity/section-3.4.2-unbalanced": (STORED, {"not for leaky": 0}),
    "linearity/section-3.4.2-requirements": (other("hardest", degree=[3] * 20), other("hardest", degree=[1] * 20)),
    "linearity/section-3.4.2-five-bits": ({"seconds": 1e9}, {"operations": 1e6}),
    "linearity/figure-3.6": (STORED, {"leaky": ENTROPY_BEST}),
    "linearity/figure-3.7": (STORED, lambda numbers: {**numbers, "parity": np.ones_like(numbers["parity"], float)}),
    "linearity/section-3.4.3-random": (
        STORED,
        lambda numbers: {**numbers, "random": np.ones_like(numbers["random"], float)},
    ),
    "linearity/figure-3.8": (STORED, other("random", right=1024.0)),
    "linearity/figure-3.9": (STORED, other("random", rate=[1.0] * 6)),
    "linearity/section-3.5-entropy": (STORED, {"entropy with points right": [-0.9, 0.1]}),
    "linearity/section-3.4.3-expected": (as_printed, STORED),
    "linearity/section-3.4.3-maxima": (
        {
            "bits": [2, 3],
            "entropy": [2.0, 3.0],
            "entropy of OR": [2.0, 3.0],
            "degree": [2.0, 3.0],
            "influence": [2.0, 3.0],
        },
        STORED,
    ),
}


PRUNING = {
    "linearity/table-3.4": ({"cells": 9, "same width": 9, "only printed": 0, "only here": 0}, {"same width": 0}),
    "linearity/table-3.4-shares": (as_printed, STORED),
    "linearity/table-3.5": (
        other("6", **{"least units": 5, "printed ends": {"2 2 2": 4, "2 3": 2}}),
        never_printed,
    ),
    "linearity/section-3.4.4-one-layer": (other("4", **{"one layer": 0}), other("4", **{"one layer": 6})),
    "linearity/section-3.4.4-rates": (as_printed, far_off),
    "linearity/section-3.4.4-sub-networks": (as_printed, far_off),
    "linearity/section-3.4.4-15x4": (as_printed, far_off),
    "linearity/figure-3.10": (STORED, {"successful of 20": 20}),
    "linearity/figure-3.11": (as_printed, far_off),
    "linearity/figure-3.12": (as_printed, far_off),
}


CASES = FUNCTIONS | NETWORKS | TRAINING | PRUNING


#: Another network than the one drawn.
IN_KIND = {"linearity/figure-3.10"}
