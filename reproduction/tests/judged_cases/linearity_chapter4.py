"""Numbers for the judges of chapter 4 of the dissertation."""

from __future__ import annotations

from math import sqrt

from altered_numbers import FAILS, STORED, as_printed, far_off


def relu_best(numbers):
    for one in numbers["rows"]:
        if one["what"] == "leak 0.0":
            one.update(measured=1.0, low=1.0, high=1.0)
    return numbers


def squares(numbers):
    for one in numbers["rows"]:
        one["measured"] = one["printed"] - 0.1
    return numbers


def as_many(numbers):
    """Networks with little error are as many in all dimensions."""
    parts = {name: part for name, part in numbers.items() if name.endswith("0.95")}
    return {**numbers, **{name: {**part, "rate": [0.7] * len(part["rate"])} for name, part in parts.items()}}


def either(*rates):
    """Shares of networks that end with one of the two shapes, by dimension."""
    return lambda numbers: {
        name: part if name == "dimensions" else {**part, "either": list(rates)} for name, part in numbers.items()
    }


def more_exact(numbers):
    return {**numbers, "leak 0, 0.9999": {**numbers["leak 0, 0.9999"], "rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}}


CASES = {
    "linearity/section-4-width": (STORED, FAILS),
    "linearity/section-4-sufficient": (STORED, FAILS),
    "linearity/figure-4.1": (STORED, {"boundary": [0.5]}),
    "linearity/figure-4.3": (STORED, {"counts": {"4 corners": 3, "5 corners": 1}}),
    "linearity/equation-4.1": (as_printed, far_off),
    "linearity/figure-4.4": (STORED, {"longest over shortest side": [1.5, 1.4, 1.3, 1.2, 1.1]}),
    "linearity/figure-4.5": (STORED, {"octahedron": [8, 12, 6]}),
    "linearity/section-4.1.3-two": (
        {"3": [[6, 8, "hyperoctahedron"], [12, 14, "expanded simplex"]], "4": []},
        {"3": [[6, 8, "hyperoctahedron"], [10, 12, "between"]], "4": []},
    ),
    "linearity/equation-4.6": (STORED, FAILS),
    "linearity/table-4.1": (as_printed, far_off),
    "linearity/equation-4.13": ({"hyperoctahedron over expanded simplex": [1.2, sqrt(2)]}, STORED),
    "linearity/equation-4.16": ({"printed and with the power over true": [[2, 1.0, 1.0]]}, STORED),
    "linearity/equation-4.17": ({"(4.17) over 2^(n/2)": [0.9, 1.0]}, {"(4.17) over 2^(n/2)": [0.9, 5.0]}),
    "linearity/equation-4.20": (STORED, far_off),
    "linearity/section-4.2.1-areas": (as_printed, STORED),
    "linearity/table-4.2": (as_printed, far_off),
    "linearity/table-4.3": (as_printed, far_off),
    "linearity/section-4.2.1-trends": (as_printed, relu_best),
    "linearity/section-4.2.1-best": (
        STORED,
        {"best": [["leak 0.0", 0.1], ["loss mse", 0.2], ["loss bce", 0.3], ["batch 10", 0.4], ["batch 1000", 0.9]]},
    ),
    "linearity/figure-4.6": (STORED, squares),
    "linearity/figure-4.7": (
        lambda numbers: {**numbers, **{f"largest{end}": numbers[f"mean{end}"] for end in ("", "_low", "_high")}},
        STORED,
    ),
    "linearity/figure-4.8": (as_many, more_exact),
    "linearity/section-4.2.2-consistent": (either(0.6, 0.62, 0.58), either(0.6, 0.4, 0.35)),
}


#: The figure's numbers are not in the text.
IN_KIND = {"linearity/figure-4.8"}
