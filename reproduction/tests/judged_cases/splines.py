"""Numbers for the judges of the lecture on splines."""

from __future__ import annotations

from altered_numbers import STORED

from creases_reproduction.splines.depth import TABLE_2
from creases_reproduction.splines.gans import BOTH, RIDGE, RMSPROP, SGD


def tests(p):
    """Return a change of all p-values of Kolmogorov's tests."""

    def change(numbers):
        part = {name: item for name, item in numbers.items() if name != "draws"}
        return {
            "draws": numbers["draws"],
            **{name: {what: {**test, "p": p} for what, test in item.items()} for name, item in part.items()},
        }

    return change


def drawn_as_printed(numbers):
    return {"rows": {name: {**row, "drawn": row["printed"]} for name, row in numbers["rows"].items()}}


def each(change):
    """Return a change of every part of two levels of keys."""
    return lambda numbers: {
        name: {key: change(name, key, item) for key, item in part.items()} for name, part in numbers.items()
    }


def counts(change):
    """Return a change of the counts of Table 2."""

    def altered(depth, name, spread):
        value = change(depth, TABLE_2[depth][name]) if name != "initial" else spread["mean"]
        return {**spread, "mean": value, "low": value, "high": value}

    return each(altered)


def last(value):
    """Return a change of the final roughness to a function of width and factor."""
    return each(lambda width, kappa, item: {**item, "last": {**item["last"], "mean": value(int(width), float(kappa))}})


def modes(rule, number):
    """Return a change of the modes that a rule of GANs covers, at all times."""

    def change(numbers):
        for name, run in numbers["runs"].items():
            if name.startswith(f"{rule},"):
                run["modes"] = [[number] * len(seeds) for seeds in run["modes"]]
        return numbers

    return change


def kernel_at_lines(numbers):
    return {alpha: {"cubic": item["linear"], "linear": item["cubic"]} for alpha, item in numbers.items()}


def correlation(numbers, final):
    return {target: {d: {**item, "final": final} for d, item in part.items()} for target, part in numbers.items()}


def gaps(low, high):
    """Return a change of the gap that breakpoints which know the data leave."""

    def change(numbers):
        part = {"gap": (low + high) / 2, "low": low, "high": high, "closed": 0.5}
        return {target: {**item, "uniform": part, "curvature": part} for target, item in numbers.items()}

    return change


def same(names, to):
    """Return a change that gives all but one of the methods its numbers."""
    return lambda numbers: {key: {**item, **dict.fromkeys(names, item[to])} for key, item in numbers.items()}


CASES = {
    "splines/conversion": (STORED, {"back": 0.1}),
    "splines/multivariate": (STORED, {"deviation": 0.1}),
    "splines/theorem-1": (STORED, {"kurtosis": {"4": 3.5, "40": 3.0, "400": 2.5}}),
    "splines/density-joint": (STORED, tests(1e-9)),
    "splines/density-mu": (STORED, tests(1e-9)),
    "splines/density-beta": (STORED, tests(1e-9)),
    "splines/theorem-2": (
        STORED,
        lambda n: {**n, "laws": {name: {**law, "mean": 2 * law["printed"]} for name, law in n["laws"].items()}},
    ),
    "splines/theorem-3": (STORED, {"gradient": 0.1}),
    "splines/hessian-gram": (STORED, {"negative": 0.1}),
    "splines/hessian-definite": ({"zeros per unit": 0.0}, {"zeros per unit": 0.5}),
    "splines/hessian-types": (
        lambda n: {**n, "extra": {**n["extra"], "5 b = 0": 1, "complementary patterns": 0}},
        lambda n: {**n, "extra": {**n["extra"], "1 shared pattern": 0}},
    ),
    "splines/hessian-full": (STORED, {"hessian": 0.1}),
    "splines/theorem-5": (STORED, {"beta": 0.1}),
    "splines/theorem-5-gradient": ({"as printed": 1e-15}, STORED),
    "splines/ntk": (STORED, {"function": 0.1}),
    "splines/theorem-3-slice": ({"with a flat part": 0.0, "fourth difference": 1e-15}, {"deviation": 0.1}),
    "splines/theorem-4a": (STORED, {"wrong counts": 1}),
    "splines/theorem-4b": (drawn_as_printed, STORED),
    "splines/figure-11": (STORED, lambda n: {"rows": [{**row, "mean": 1 / row["ratio"]} for row in n["rows"]]}),
    "splines/definition-1": (STORED, {"wrong": 1}),
    "splines/mobility": (STORED, lambda n: {"rows": [n["rows"][1], n["rows"][0]]}),
    "splines/sticking": (STORED, lambda n: {"rows": [{**row, "near": [0.04]} for row in n["rows"]]}),
    "splines/theorem-6": (STORED, {"deviation": 0.5}),
    "splines/kernel-sketch": (STORED, {"deviation": 0.5}),
    "splines/responses": (STORED, {"deviation": {"relu": {"0.02": 0.01, "0.01": 0.01}}}),
    "splines/activations": (STORED, {"distance": {"1": 0.5, "2": 0.5, "3": 0.5}}),
    "splines/corollary-4": (
        lambda n: {width: {**item, "as printed": item["spaced"]} for width, item in n.items()},
        STORED,
    ),
    "splines/regimes": (lambda n: {"100.0": n["10.0"], **n}, kernel_at_lines),
    "splines/table-1": (
        lambda n: {**n, "quadratic": {"torch": n["quadratic"]["uniform"], "uniform": n["quadratic"]["torch"]}},
        STORED,
    ),
    "splines/spiky": (STORED, each(lambda target, name, item: {**item, "mean": 1.0})),
    "splines/smoothness": (last(lambda width, kappa: kappa / width), last(lambda width, kappa: kappa * width)),
    "splines/table-2": (counts(lambda depth, printed: printed), counts(lambda depth, printed: 2 * printed)),
    "splines/curvature": (STORED, lambda n: correlation(n, -1.0)),
    "splines/depth-error": (STORED, each(lambda target, depth, item: {**item, "mean": 1.0, "sd": 0.1})),
    "splines/suboptimal": (STORED, lambda n: {**n, "curves": [{**row, "best": 0.5} for row in n["curves"]]}),
    "splines/relocation": (STORED, same(["relocation"], "descent")),
    "splines/relocation-gap": (STORED, same(["relocated gap"], "plain gap")),
    "splines/radon": ({"as printed": 1.0}, STORED),
    "splines/directions": (
        STORED,
        {"random": [[9.0, 9.0], [8.0, 8.0]], "adversarial": [[12.0, 12.0], [10.0, 10.0]]},
    ),
    "splines/gan-simgd": (STORED, modes(SGD, 25)),
    "splines/gan-ridge": (modes(RIDGE, 25), STORED),
    "splines/gan-preconditioner": (STORED, modes(RMSPROP, 0)),
    "splines/gan-combination": (STORED, modes(BOTH, 0)),
    "splines/initialisation-gap": (gaps(0.0, 1e-9), gaps(1.0, 2.0)),
}

#: Losses in units that are not given, and trainings that are not: the best that can be said is that they agree in kind.
IN_KIND = {"splines/table-1", "splines/spiky", "splines/curvature", "splines/depth-error", "splines/gan-combination"}
