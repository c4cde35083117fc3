"""Numbers for the judges of the TINY paper."""

from __future__ import annotations

from altered_numbers import STORED

from creases_reproduction.tiny.growth_schedule import BY_STEPS, FIFTEEN, GROWN, LARGE, TWIN

FALL = "fall over sum of lambda^2"


TOGETHER = "left less when chosen together, of |V_goal|^2"


def runs(**changes):
    """Other numbers for runs, by the names' first words."""
    names = {"grown": GROWN, "twin": TWIN, "large": LARGE, "fifteen": FIFTEEN}
    names |= {"optimal": "optimal units", "drawn": "random units"}

    def change(n):
        own = {names[key]: {**n["runs"][names[key]], **value} for key, value in changes.items()}
        return {**n, "runs": {**n["runs"], **own}}

    return change


def constant(name, percent):
    """Accuracies of a run, by seconds and by steps, that are the same at every mark."""

    def change(n):
        changed = {}
        for run in (name, name + BY_STEPS):
            part = dict(n["runs"].get(run, ()))
            for by in ("seconds", "steps") if part else ():
                count = len(part[f"{by} marks"])
                part[f"by {by}"] = [percent] * count
                part[f"intervals by {by}"] = [[percent - 0.1, percent + 0.1]] * count
            changed |= {run: part} if part else {}
        return {**n, "runs": {**n["runs"], **changed}}

    return change


def strengths(name, at_eight, after):
    """Strengths of units that are 1 at the first growth step, in both layers, and some share from the eighth on."""
    return {name: [[1.0] * 7 + [at_eight] + [after] * 7] * 2}


def beside_twins(points):
    """Small grown networks that are better than their twins by some points."""

    def change(n):
        rows = {
            key: {**part, "grown": part["twin"] + points, "difference": [points - 0.1, points + 0.1]}
            for key, part in n["by growth steps"].items()
        }
        return {**n, "by growth steps": rows}

    return change


def failing(name):
    return {name: {"cases": 10, "failed": 1, "best": 0.5, "worst": 1.1}}


def without_effect(n):
    """Losses that do not depend on the size of new units."""
    return {**n, "losses": {name: {**part, "after": [1.0, 2.0]} for name, part in n["losses"].items()}}


#: The architectures are in a picture only.
IN_KIND = {"tiny/figure-9"}

#: By id: numbers as printed, and numbers that contradict.
CASES = {
    "tiny/section-2.2": (STORED, {"improving all": 3}),
    "tiny/definition-3.1": (STORED, lambda n: {**n, "all parameters": n["last layer"]}),
    "tiny/proposition-3.1": (STORED, {"to least squares": 0.1}),
    "tiny/proposition-3.2": (STORED, {"off": 0.1}),
    "tiny/section-3.2-orthogonal": (STORED, {"orthogonal": 0.1}),
    "tiny/equation-11": ({FALL: {"tanh": [1.0, 1.0]}}, STORED),
    "tiny/proposition-3.3": (STORED, {"off": 0.1}),
    "tiny/corollary-1": ({TOGETHER: [0.0, 0.0]}, STORED),
    "tiny/corollary-2": (STORED, {"off": 0.1}),
    "tiny/section-B.3": (STORED, {"off": 0.1}),
    "tiny/equation-9": (
        STORED,
        {"rows": [{"what": "gradient", "printed": 0.0, "measured": 1.0, "low": None, "high": None}]},
    ),
    "tiny/proposition-5.1": (STORED, failing("some units")),
    "tiny/proposition-5.2": (STORED, failing("one unit")),
    "tiny/proposition-5.3": (STORED, failing("one small unit")),
    "tiny/section-3.3": (STORED, without_effect),
    "tiny/section-5-higher": (STORED, {"units by linear correlation": 2}),
    "tiny/section-3.4": (
        {"by samples": [1 / n**0.5 for n in (100, 200, 400, 800, 1600)], "by width": [2, 8**0.5, 4, 32**0.5]},
        {"by samples": [1.0] * 5},
    ),
    "tiny/section-1-alone": (STORED, {"accuracy": [0.1]}),
    "tiny/abstract-accuracy": (constant(GROWN, 99.0), constant(GROWN, 50.0)),
    "tiny/abstract-time": (constant(GROWN, 99.0), constant(LARGE, 96.0)),
    "tiny/figure-5": (constant(GROWN, 99.0), constant(GROWN, 50.0)),
    "tiny/section-4-large": (STORED, runs(large={"steps": 1e6})),
    "tiny/figure-9": (beside_twins(1.0), beside_twins(-5.0)),
    "tiny/figure-6": (constant(GROWN, 99.0), constant(GROWN, 50.0)),
    "tiny/figure-8": (runs(grown={"widths": [222, 71]}), runs(grown={"widths": [10, 90]})),
    "tiny/figure-10": (STORED, constant(FIFTEEN, 99.0)),
    "tiny/figure-11": (strengths("mean lambda^2", 0.01, 0.02), strengths("mean lambda^2", 0.1, 0.01)),
    "tiny/figure-12": (strengths("largest lambda", 0.1, 0.2), strengths("largest lambda", 0.5, 0.1)),
    "tiny/figure-13": (
        lambda n: constant("random units", 5.0)(runs(drawn={"interval": [80.0, 85.0]})(n)),
        lambda n: constant("optimal units", 0.0)(runs(optimal={"accuracy": 1.0})(n)),
    ),
}
