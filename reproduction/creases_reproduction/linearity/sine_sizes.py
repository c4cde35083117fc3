"""Section 5.3 of the dissertation: sine on [-pi, pi] by width and depth (Table 5.1, Fig. 5.4 and 5.5).

Rectangular networks, torch's initial weights, 100 equally spaced points, full-batch gradient descent with step 0.1 on
the mean squared error for 200 epochs; a start succeeds when the error is then below 0.45 (0 has 0.5). The source counts
starts until the first success; here many starts give the rate of success itself. The result that
``stored_table("sine_sizes")`` gives is that of::

    python -m creases_reproduction.linearity.sine_sizes --scale full
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np
import pandas as pd
from torch import nn

import creases
from creases import lab
from creases._typing import Floats
from creases_reproduction.experiment import ResultTable, Scale, check_scale, derive_seed, run_as_program
from creases_reproduction.statistics import add_rates

EPOCHS, MORE, LR, ENOUGH = 200, 1000, 0.1, 0.45
STARTS = 1000  #: the source gives up after so many

#: Table 5.1: starts until the first success, a row for each width 1 to 10, a column for each depth 1 to 10; 0 is "-".
PRINTED = (
    (1, 1, 3, 4, 1, 18, 51, 333, 0, 0),
    (1, 1, 1, 2, 1, 3, 14, 54, 39, 392),
    (1, 1, 1, 1, 1, 5, 2, 13, 7, 502),
    (1, 1, 1, 1, 1, 2, 2, 33, 76, 0),
    (1, 1, 1, 1, 1, 1, 2, 6, 50, 599),
    (1, 1, 1, 1, 1, 1, 2, 6, 70, 112),
    (1, 1, 1, 1, 1, 1, 3, 9, 55, 444),
    (1, 1, 1, 1, 1, 1, 1, 3, 2, 428),
    (1, 1, 1, 1, 1, 1, 1, 1, 30, 0),
    (1, 1, 1, 1, 1, 1, 1, 5, 91, 171),
)


@dataclass(frozen=True, eq=False)
class SineNetworks:
    """One trained network for each size (Fig. 5.5)."""

    table: pd.DataFrame  #: width, depth, start (of the first success, 0: none), mse, regions in [-pi, pi]
    models: dict[tuple[int, int], nn.Sequential]  #: by width and depth, in float64


def sine_sizes(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Return rates of success for each size, beside Table 5.1.

    Parameters
    ----------
    scale
        "full" has widths and depths 1 to 10 with 2000 starts each; "quick" widths 1, 5, 10 and depths 1, 5, 10 with 40.

    Returns
    -------
    Measured
        A row for each width and depth: trials, successes, printed (0: more than 1000), rate, low, high, and
        ``agrees``: whether the printed number of starts is within the central 95 % of what a rate from low to high
        gives.
    """
    check_scale(scale)
    sizes, trials = (range(1, 11), 2000) if scale == "full" else ((1, 5, 10), 40)
    rows = []
    for width in sizes:
        for depth in sizes:
            done = _trained(width, depth, trials, derive_seed(seed, width, depth))
            rows.append((width, depth, trials, int((done.losses < ENOUGH).sum()), PRINTED[width - 1][depth - 1]))
    table = add_rates(pd.DataFrame(rows, columns=["width", "depth", "trials", "successes", "printed"]))
    agrees = [_agrees(*row) for row in zip(table["printed"], table["low"], table["high"], strict=True)]
    return ResultTable(table.assign(agrees=agrees), {"scale": scale, "seed": str(seed)})


def sine_networks(scale: Scale = "quick", *, seed: int = 0) -> SineNetworks:
    """Return the first network of each size that succeeds, trained for 1000 more epochs (Fig. 5.5).

    "full" has widths 1, 2, 3, 5, 10 and depths 1, 2, 3, 5, 7; "quick" leaves out some.
    """
    check_scale(scale)
    widths, depths = ((1, 2, 3, 5, 10), (1, 2, 3, 5, 7)) if scale == "full" else ((2, 10), (1, 3))
    x = np.linspace(-pi, pi, 100)
    rows, models = [], {}
    for width in widths:
        for depth in depths:
            done = _trained(width, depth, STARTS, derive_seed(seed, width, depth))
            succeeded = np.flatnonzero(done.losses < ENOUGH)
            if not len(succeeded):
                rows.append((width, depth, 0, np.nan, 0))
                continue
            start = succeeded[:1]
            end = lab.train(
                done.batch[start], x[:, None], np.sin(x), epochs=MORE, loss="squared_error", optimizer="sgd", lr=LR
            )
            model = end.batch.module(0)
            regions = creases.line(creases.read(model, (1,)), [-pi], [pi]).count
            rows.append((width, depth, int(start[0]) + 1, float(end.losses[0]), regions))
            models[width, depth] = model
    return SineNetworks(pd.DataFrame(rows, columns=["width", "depth", "start", "mse", "regions"]), models)


def failed_starts(*, width: int, depth: int, starts: int, seed: int = 0) -> dict[str, int | str]:
    """Count, of the starts of one size that fail, how many end as a constant function, and how many had a dead layer.

    A layer is dead where all its units are off at every sample, so that nothing in front of it gets a gradient.
    """
    x = np.linspace(-pi, pi, 100)[:, None]
    begun = lab.Batch.initial(starts, [1, *[width] * depth, 1], seed=derive_seed(seed, width, depth))
    done = _trained(width, depth, starts, derive_seed(seed, width, depth))
    failed = np.flatnonzero(done.losses >= ENOUGH)
    values = done.batch.outputs(x)[failed]
    dead = 0
    for k in failed:
        net = creases.read(begun.module(int(k)), (1,))
        on = net.sides(x).reshape(len(x), depth, width).any(axis=(0, 2))
        dead += not on.all()
    return {
        "size": f"{width}x{depth}",
        "starts": starts,
        "failed": len(failed),
        "constant": int((np.ptp(values, axis=1) < 1e-3).sum()),
        "dead": int(dead),
    }


def interpolation_error(lines: int) -> float:
    """Return mean squared error on [-pi, pi] of the function that is sine at lines + 1 equally spaced points.

    Linear between.

    0.5, 0.0661 and 0.00097 for 1, 3 and 9 lines (Fig. 5.4): the integral of the squared error over each line, exactly.
    """
    knots = np.linspace(-pi, pi, lines + 1)
    a, b = knots[:-1], knots[1:]
    slope = np.diff(np.sin(knots)) / np.diff(knots)
    constant = np.sin(a) - slope * a

    def antiderivative(x: Floats) -> Floats:  # of (sin x - s x - c)^2
        line = slope * x + constant
        return np.asarray(
            x / 2
            - np.sin(2 * x) / 4
            - 2 * (slope * np.sin(x) - line * np.cos(x))
            + slope**2 * x**3 / 3
            + slope * constant * x**2
            + constant**2 * x
        )

    return float((antiderivative(b) - antiderivative(a)).sum() / (2 * pi))


def _trained(width: int, depth: int, trials: int, seed: int) -> lab.TrainingResult:
    x = np.linspace(-pi, pi, 100)
    batch = lab.Batch.initial(trials, [1, *[width] * depth, 1], seed=seed)
    return lab.train(batch, x[:, None], np.sin(x), epochs=EPOCHS, loss="squared_error", optimizer="sgd", lr=LR)


def _agrees(printed: int, low: float, high: float) -> bool:
    """Return whether some rate p in the interval has P(N <= printed) and P(N >= printed) at least 2.5 %.

    N starts needed.
    """
    if printed == 0:  # more than 1000
        return (1 - low) ** STARTS >= 0.025
    return 1 - (1 - high) ** printed >= 0.025 and (1 - low) ** (printed - 1) >= 0.025


if __name__ == "__main__":
    run_as_program(sine_sizes, "linearity.sine_sizes", __doc__)
