"""Numbers for the judges of chapter 5 of the dissertation."""

from __future__ import annotations

from altered_numbers import FAILS, STORED, as_printed, far_off

from creases_reproduction.linearity.chapter5_piecewise_linear import PRINTED_PIECES

#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "linearity/equation-5.7": (STORED, {"largest relative error inside": 0.1}),
    "linearity/section-5.2-convex": (STORED, FAILS),
    "linearity/figure-5.1": (lambda n: {**n, "J": n["printed J"], "offset": n["printed offset"]}, STORED),
    "linearity/figure-5.2": ({"printed": [-1, 1, 1, -1]}, STORED),
    "linearity/equation-5.13": (as_printed, far_off),
    "linearity/equation-5.14": (
        {"printed b": PRINTED_PIECES},
        lambda n: {**n, "b = (2, 0)": {**PRINTED_PIECES, "10": [3, 3, -2, 0]}},
    ),
    "linearity/figure-5.3": (STORED, {"b = (2, 0)": {"regions": 4}}),
    "linearity/equation-5.15": (STORED, FAILS),
    "linearity/section-5.2-deep": (STORED, FAILS),
    "linearity/section-5.4-equivalent": (STORED, {"largest relative error": 0.1}),
    "linearity/equation-5.22": ({"printed b": {"F": [[0, 0, -1], [1, 1, -1]], "G": [[0, 0, 0], [2, 2, 0]]}}, STORED),
    "linearity/section-5.4-terms": ({"all": [4, 8, 16, 32], "needed": [4, 8, 16, 32]}, {"all": [4, 5, 6, 7]}),
    "linearity/equation-5.25": (STORED, FAILS),
    "linearity/section-5.5-growth": (STORED, {"upper, lower, limit of upper": {"1 input": [[2.0, 0.1, 1.0]]}}),
    "linearity/equation-5.16": (as_printed, far_off),
    "linearity/figure-5.4": (STORED, {"mse": [0.5, 0.5, 0.5]}),
    "linearity/table-5.1": (STORED, lambda n: {**n, "agrees": [False] * len(n["agrees"])}),
    "linearity/section-5.3-depth": (STORED, lambda n: {**n, "rate": n["rate"][::-1]}),
    "linearity/section-5.3-dead": (lambda n: {**n, "dead": n["failed"], "constant": n["failed"]}, {"constant": 0}),
    "linearity/figure-5.5": (STORED, lambda n: {**n, "regions": [1000 // one for one in n["regions"]]}),
}
