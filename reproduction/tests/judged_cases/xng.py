"""Numbers for the judges of the XNG slides."""

from __future__ import annotations

from altered_numbers import STORED


def methods(**changes):
    """Change methods of a growth comparison, named with _ for a space."""

    def change(numbers):
        for name, values in changes.items():
            key = "random 2-3-2" if name == "drawn" else f"A {name}"
            numbers["methods"][key] = {**numbers["methods"][key], **values}
        return numbers

    return change


def as_good_as_drawn(numbers):
    drawn = numbers["methods"]["random 2-3-2"]
    return {**numbers, "methods": {name: {**part, "rate": drawn["rate"]} for name, part in numbers["methods"].items()}}


def rules(rate):
    """Change the share of networks that solve their problem by the rule as printed, on all problems."""

    def change(numbers):
        for part in numbers["problems"].values():
            part["A slide-29"].update(rate=rate)
        return numbers

    return change


_LOW = {"loss": 0.0, "error": 0.0, "rate": 0.9, "low": 0.89, "high": 0.91}
_GROWTH = (methods(**{"slide-29": _LOW}), as_good_as_drawn)

CASES = {
    "xng/slide-7": (STORED, {"largest ratio": 1.1}),
    "xng/slide-8": (STORED, methods(gradmax={"loss": 0.0}, fold={"loss": 0.1})),
    "xng/theorem-1": (STORED, {"problems": {"sine": {"mean": 0.4, "least": 0.1, "majority": 0.3}}}),
    "xng/theorem-2": ({"deviation": 1e-15, "bent": 0.0}, {"deviation": 0.1, "bent": 0.0}),
    "xng/proposition-1": (STORED, {"deviation": 1e-3}),
    "xng/observation-1": (STORED, {"more": 0.5}),
    "xng/theorem-3": (STORED, {"crease": 0.1}),
    "xng/lemma-1": (STORED, {"in the span": 0.1}),
    "xng/lemma-2": ({"inactive, as printed": 1e-15}, {"active": 0.5}),
    "xng/theorem-4": (STORED, {"turn": 0.5}),
    "xng/lemma-3": (STORED, {"wrong": 1}),
    "xng/theorem-5": ({"with the bias": 1.0}, {"as printed": 1.0}),
    "xng/lemma-4": (STORED, {"largest_change": {"0.1": 0.8, "0.001": 0.8}}),
    "xng/lemma-5": (STORED, {"zero outgoing weights": 0.1}),
    "xng/slide-26": (STORED, {"change": 0.1}),
    "xng/slide-28": (
        {"right": {"2": 0, "20": 0}, "share": {"2": 0.0, "20": 0.0}},
        {"right": {"2": 60, "20": 30}, "share": {"2": 0.6, "20": 0.3}},
    ),
    "xng/slide-29": (rules(0.9), rules(0.0)),
    "xng/slide-30": (STORED, {"shares": {"sine": 0.0, "circle": 0.0}}),
    "xng/slide-31": (STORED, {"deviation": 0.1}),
    **{f"xng/growth-{name}": _GROWTH for name in ("sine", "quadratic", "circle", "overlapping_quadratic")},
    "xng/slide-36": (
        methods(drawn={"low": 0.05, "high": 0.08}, **{"slide-29": {"low": 0.33, "high": 0.39}}),
        methods(drawn={"rate": 0.9}),
    ),
    "xng/milestone-1": (STORED, {"ratio": 1.0}),
    "xng/milestone-2": (STORED, {"useless": 0.0}),
    "xng/milestone-3": ({"median": 0.3, "least": 0.1, "as good": 0.0}, {"median": 1.0, "least": 1.0, "as good": 1.0}),
}

#: What is said of GradMax's stability has no number that could agree.
IN_KIND = {"xng/slide-8"}
