"""Chapter 2 of the dissertation, Theorem 2.2.1: one hidden layer approximates continuous functions on a cube.

The theorem is about every function and every error. It is tried for some of each: hidden units are drawn at random, and
their outgoing weights fitted by least squares, with four times as many units until the error is small enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from creases._typing import Floats
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale, derive_seed

#: Continuous functions of points (p, m) of the unit cube, by the number of inputs m; most of them have kinks.
FUNCTIONS: dict[int, dict[str, Callable[[Floats], Floats]]] = {
    1: {
        "|x - 1/3|": lambda x: np.abs(x[:, 0] - 1 / 3),
        "sqrt x": lambda x: np.sqrt(x[:, 0]),
        "sin 6 pi x": lambda x: np.sin(6 * np.pi * x[:, 0]),
    },
    2: {
        "max(x, y)": lambda x: np.max(x, axis=1),
        "distance from the middle": lambda x: np.linalg.norm(x - 0.5, axis=1),
        "sin 2 pi x sin 2 pi y": lambda x: np.prod(np.sin(2 * np.pi * x), axis=1),
    },
}

#: Activation functions as the theorem has them: continuous, bounded, not constant.
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda z: np.asarray(expit(z)),
    "clipped line": lambda z: np.clip(z, 0, 1),
    "sine": np.sin,
}

STEEPNESS = {1: 20.0, 2: 10.0}  #: deviation of the units' weights, by the number of inputs
SIDE = {1: 2001, 2: 71}  #: points on a side of the grid on which the largest error is taken
UNITS = (10, 40, 160, 640, 2560)  #: of the hidden layer
SAMPLES = 6  #: points for each unit that outgoing weights are fitted to

#: Errors to come below, by scale.
ERRORS: dict[Scale, tuple[float, ...]] = {"quick": (0.3, 0.1), "full": (0.3, 0.1, 0.03)}


def largest_error(m: int, function: str, activation: str, units: int, *, seed: int) -> float:
    """Return the largest error on a grid of a network with random hidden units and fitted outgoing weights."""
    rng = np.random.default_rng(seed)
    w = STEEPNESS[m] * rng.normal(size=(units, m))
    b = -(w * rng.random((units, m))).sum(axis=1)  # the unit is 0 at a point of the cube
    f, sigma = FUNCTIONS[m][function], ACTIVATIONS[activation]
    x = np.concatenate([rng.random((SAMPLES * units, m)), _grid(m, 2)])
    v = np.linalg.lstsq(sigma(x @ w.T + b), f(x), rcond=1e-10)[0]
    grid = _grid(m, SIDE[m])
    return float(np.abs(sigma(grid @ w.T + b) @ v - f(grid)).max())


def _grid(m: int, side: int) -> Floats:
    axes = np.meshgrid(*[np.linspace(0, 1, side)] * m)
    return np.stack(axes, axis=-1).reshape(-1, m)


def measure_approximation(scale: Scale) -> Numbers:
    """Measure the largest errors of all functions with all activations, until they are below the least of ERRORS."""
    least, cases = ERRORS[scale][-1], []
    for m, functions in FUNCTIONS.items():
        for i, function in enumerate(functions):
            for k, activation in enumerate(ACTIVATIONS):
                errors: list[float] = []
                for units in UNITS:
                    errors.append(largest_error(m, function, activation, units, seed=derive_seed(m, i, k, units)))
                    if errors[-1] < least:
                        break
                cases.append({"function": function, "activation": activation, "errors": errors})
    return {"units": list(UNITS), "limits": list(ERRORS[scale]), "cases": cases}


def judge_approximation(numbers: Numbers) -> Judgement:
    """Judge Theorem 2.2.1: every function comes below every error that was tried."""
    words = []
    for limit in numbers["limits"]:
        needed = [_units_below(case, limit, numbers["units"]) for case in numbers["cases"]]
        if None in needed:
            case = numbers["cases"][needed.index(None)]
            text = f"{case['function']} with {case['activation']} units stays {min(case['errors']):.2g} off"
            return Judgement("disagrees", f"{text} with up to {numbers['units'][-1]} units, not below {limit}")
        words.append(f"{limit} with {min(needed)} to {max(needed)} units")
    functions, activations = ({case[name] for case in numbers["cases"]} for name in ("function", "activation"))
    text = f"{len(functions)} functions of one and two inputs, {len(activations)} bounded activations: errors below "
    return Judgement("agrees", f"{text}{', '.join(words)}, the outgoing weights fitted and the others random")


def _units_below(case: dict[str, Any], limit: float, units: list[int]) -> Any:
    """Return the least number of units with an error below a limit; None if there is none."""
    return next((n for n, error in zip(units, case["errors"], strict=False) if error < limit), None)


def picture_approximation(numbers: Numbers) -> Picture:
    """Picture the largest error by the number of units, clipped lines."""
    curves = [
        Curve(case["function"], numbers["units"][: len(case["errors"])], case["errors"])
        for case in numbers["cases"]
        if case["activation"] == "clipped line"
    ]
    return Picture(curves=curves, x="units, clipped lines", y="largest error", log=True)


CLAIMS = [
    Claim(
        "linearity/theorem-2.2.1",
        "Theorem 2.2.1",
        "Networks of one hidden layer approximate every continuous function on a cube arbitrarily well.",
        measure=measure_approximation,
        judge=judge_approximation,
        picture=picture_approximation,
        full="a minute of a core",
    ),
]
