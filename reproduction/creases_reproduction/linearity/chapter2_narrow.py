"""Chapter 2 of the dissertation, Theorem 2.3.1, for one input: networks of width 2 approximate integrable functions.

One unit of each layer carries ``t = max(x + R, 0)``, the other one a function ``y`` of it, which a layer changes to its
maximum or minimum with a line. Lines of slope K and -K by turns make a zigzag through points ``(x_i, v_i)``: a line of
slope K through a point of a K-Lipschitz function is below it to the left, so that ``max`` changes it to the right only,
and likewise ``min`` with slope -K. The last line ends at 0 in R, and K times ``max(x - R, 0)`` is subtracted from it:
the network is 0 outside [-R, R]. The points are those of the largest K-Lipschitz function below the given one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale


class Integrable(NamedTuple):
    """A function of the line, and how it is approximated."""

    value: Callable[[Floats], Floats]
    reach: float  #: R: beyond it the function is 0, or has less than 1e-9 of its integral
    steepness: float | None  #: K; the root of the number of points where the function is not Lipschitz


FUNCTIONS = {
    "exp(-x^2)": Integrable(lambda x: np.exp(-(x**2)), 5.0, 1.0),
    "(1 - 2 x^2) exp(-x^2)": Integrable(lambda x: (1 - 2 * x**2) * np.exp(-(x**2)), 5.0, 3.0),
    "1 where |x| < 1": Integrable(lambda x: (np.abs(x) < 1).astype(float), 2.0, None),
    "max(-log |x|, 0)": Integrable(lambda x: np.maximum(-np.log(np.maximum(np.abs(x), 1e-300)), 0), 2.0, None),
}

#: Numbers of intervals of the zigzag, by scale.
INTERVALS: dict[Scale, tuple[int, ...]] = {"quick": (50, 200), "full": (50, 200, 800, 3200)}

POINTS = 40_000  #: at which an integral is taken
#: Error that the deepest network must come below, as a share of the function's integral, by scale.
SMALL: dict[Scale, float] = {"quick": 0.25, "full": 0.05}


def narrow_network(points: Floats, values: Floats, steepness: float) -> nn.Sequential:
    """Return a network of width 2 that is a zigzag through points, 0 at the first and the last, and 0 beyond.

    Parameters
    ----------
    points, values
        (n + 1,) ascending, from -R to R; neighbours differ by at most ``steepness`` times their distance.
    """
    reach, lines = float(points[-1]), _lines(points, values, steepness)
    layers: list[nn.Module] = [_linear([[1.0], [0.0]], [reach, 0.0]), nn.ReLU()]
    slope, offset, sign = 0.0, 0.0, 1.0  # y = slope t + offset + sign r, where r is the second unit
    for new_sign, new_slope, new_offset in lines:
        change = [new_sign * (slope - new_slope), new_sign * sign]
        layers += [_linear([[1.0, 0.0], change], [0.0, new_sign * (offset - new_offset)]), nn.ReLU()]
        slope, offset, sign = new_slope, new_offset, new_sign
    lift = 1 + float(np.abs(values).max()) + steepness * float(np.diff(points).max())  # y + lift is positive
    layers += [_linear([[1.0, 0.0], [slope, sign]], [-2 * reach, offset + lift]), nn.ReLU()]
    return nn.Sequential(*layers, _linear([[-steepness, 1.0]], [-lift]))


def _lines(points: Floats, values: Floats, steepness: float) -> list[tuple[float, float, float]]:
    """Return the lines of the zigzag in t: 1 for a maximum, -1 for a minimum, with slope and offset."""
    t, lines = points - points[0], []
    for a, b, v, w in zip(t[:-1], t[1:], values[:-1], values[1:], strict=True):
        lines.append((1.0, steepness, float(v - steepness * a)))
        lines.append((-1.0, -steepness, float(w + steepness * b)))
    return [*lines, (1.0, steepness, float(-steepness * t[-1]))]


def _linear(weight: list[list[float]], bias: list[float]) -> nn.Linear:
    layer = nn.Linear(len(weight[0]), len(weight), dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight, dtype=torch.float64))
        layer.bias.copy_(torch.tensor(bias, dtype=torch.float64))
    return layer


def lipschitz_below(values: Floats, step: float) -> Floats:
    """Return the largest values below the given ones, and 0 at both ends, that change by at most a step."""
    below = np.array(values, float)
    below[[0, -1]] = np.minimum(below[[0, -1]], 0)
    for order in (range(1, len(below)), range(len(below) - 2, -1, -1)):
        for i in order:
            below[i] = min(below[i], below[i - order.step] + step)
    return below


@torch.no_grad()
def relative_error(function: Integrable, intervals: int) -> float:
    """Return the integral of the error of a network of width 2, over that of the function."""
    steepness = function.steepness or intervals**0.5
    points = np.linspace(-function.reach, function.reach, intervals + 1)
    values = lipschitz_below(function.value(points), steepness * (points[1] - points[0]))
    values[[0, -1]] = 0.0
    network = narrow_network(points, values, steepness)
    x = 2 * function.reach * ((np.arange(POINTS) + 0.5) / POINTS * 2 - 1)  # twice as far as the network reaches
    exact = function.value(x)
    return float(np.abs(network(torch.from_numpy(x)[:, None])[:, 0].numpy() - exact).sum() / np.abs(exact).sum())


def measure_narrow(scale: Scale) -> Numbers:
    """Measure relative errors by the number of intervals."""
    intervals = list(INTERVALS[scale])
    errors = {name: [relative_error(function, n) for n in intervals] for name, function in FUNCTIONS.items()}
    return {"layers": [2 * n + 3 for n in intervals], "limit": SMALL[scale], "errors": errors}


def judge_narrow(numbers: Numbers) -> Judgement:
    """Judge Theorem 2.3.1 for one input: errors fall with the depth, and become small."""
    layers, errors = numbers["layers"], numbers["errors"]
    words = ", ".join(f"{name} {part[0]:.2f} to {part[-1]:.3f}" for name, part in errors.items())
    words = f"one input, width 2, {layers[0]} to {layers[-1]} hidden layers: integral of the error, relative: {words}"
    falls = all(a > b for part in errors.values() for a, b in pairwise(part))
    if falls and max(part[-1] for part in errors.values()) < numbers["limit"]:
        return Judgement("agrees in kind", f"{words}; networks of more inputs were not built")
    return Judgement("disagrees", f"{words}: they do not become small")


def picture_narrow(numbers: Numbers) -> Picture:
    """Picture relative errors by the number of hidden layers."""
    curves = [Curve(name, numbers["layers"], errors) for name, errors in numbers["errors"].items()]
    return Picture(curves=curves, x="hidden layers of width 2", y="integral of the error, relative", log=True)


CLAIMS = [
    Claim(
        "linearity/theorem-2.3.1",
        "Theorem 2.3.1",
        "Networks of width d + 1 approximate every integrable function of d inputs.",
        measure=measure_narrow,
        judge=judge_narrow,
        picture=picture_narrow,
        full="a minute of a core",
    ),
]
