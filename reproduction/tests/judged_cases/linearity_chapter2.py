"""Numbers for the judges of chapter 2 of the dissertation."""

from __future__ import annotations

from altered_numbers import FAILS, STORED, as_printed


def no_nearer(n):
    """Pruned networks that are as far from their originals as independent ones."""
    stranger = n["independent"]["original, small"]
    return {**n, "same": dict.fromkeys(n["same"], stranger)}


def stuck(n):
    """One function that no number of units brings below the least error."""
    return {**n, "cases": [{**n["cases"][0], "errors": [0.2] * len(n["units"])}, *n["cases"][1:]]}


#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "linearity/section-2.1.1-convergence": (STORED, FAILS),
    "linearity/theorem-2.1.1": (STORED, FAILS),
    "linearity/theorem-2.1.2": (STORED, {"others": []}),
    "linearity/theorem-2.1.3": (STORED, FAILS),
    "linearity/equation-2.11": ({"as printed": 0.0}, STORED),
    "linearity/equation-2.23": (STORED, {"largest difference": 0.1}),
    "linearity/theorem-2.2.1": (STORED, stuck),
    "linearity/theorem-2.3.1": (STORED, lambda n: {**n, "errors": {"a step": [0.3] * len(n["layers"])}}),
    "linearity/figure-2.3": (STORED, {"rectangles": [10, 20, 40], "sigmoid": [0.3] * 3, "relu": [0.3] * 3}),
    "linearity/theorem-2.3.2": (STORED, FAILS),
    "linearity/equation-2.26": ({"regions": 12}, STORED),
    "linearity/equation-2.27": (STORED, FAILS),
    "linearity/equation-2.28": (STORED, {"ratios": {"1 inputs, 2 layers": [1.0, 2.0, 4.0]}}),
    "linearity/section-2.3.2-order": (as_printed, STORED),
    "linearity/section-2.3.2-same": (STORED, FAILS),
    "linearity/theorem-2.3.3": (STORED, FAILS),
    "linearity/section-2.3.5-pruned": (STORED, no_nearer),
    "linearity/section-2.3.8-lines": (STORED, {"power": 2.0}),
    "linearity/section-2.3.8-dimension": (STORED, {"powers": [1.0, 1.0, 1.0]}),
}

#: Judged for one input only.
IN_KIND = {"linearity/theorem-2.3.1"}
