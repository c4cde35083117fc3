"""Section 4.2.2 of the dissertation: ball against shell in dimensions 2 to 8 (Fig. 4.8).

100 networks of n + 1 units in each dimension n, with ReLU and with a leak of 0.01: binary cross-entropy, Adam with
learning rate 0.01 for 100 epochs over 10,000 samples of their own in batches of 100, inputs normalised; counted are
those that classify 95, 98, 99 and 99.99 % of 10,000 further samples right. The result that
``stored_table("shells_dimensions")`` gives is that of (two minutes of one core)::

    python -m creases_reproduction.linearity.shells_dimensions --scale full

The source prints the outcome as a figure without numbers. It tells neither the outer radius, here sqrt(2) times the
inner one as in section 4.2.1, nor the number of epochs: 100 are as many steps as there in batches of 100.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from creases import lab, problems
from creases._typing import Floats
from creases_reproduction.experiment import ResultTable, Scale, check_scale, derive_seed, run_as_program
from creases_reproduction.linearity.printed_radii import printed_radii
from creases_reproduction.statistics import add_rates

THRESHOLDS = (0.95, 0.98, 0.99, 0.9999)
LEAKS = (0.0, 0.01)
LR, BATCH = 0.01, 100


def shells_dimensions(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Train networks in every dimension.

    Parameters
    ----------
    scale
        "full" is the dissertation's; "quick" has dimensions 2, 3 and 5, 8 networks, 1000 samples and 200 epochs.

    Returns
    -------
    Measured
        A row for each dimension, leak and threshold: trials, successes, rate, low, high.
    """
    check_scale(scale)
    dimensions, trials, samples, epochs = (
        (range(2, 9), 100, 10_000, 100) if scale == "full" else ((2, 3, 5), 8, 1000, 200)
    )
    rows = []
    for leak in LEAKS:
        for n in dimensions:
            _, right = train_on_shells(n, leak, trials, samples, epochs, seed=derive_seed(seed, n, round(1000 * leak)))
            rows += [(n, leak, share, trials, int((right >= share).sum())) for share in THRESHOLDS]
    table = pd.DataFrame(rows, columns=["dimension", "leak", "threshold", "trials", "successes"])
    return ResultTable(add_rates(table), {"scale": scale, "seed": str(seed)})


def train_on_shells(
    n: int, leak: float, trials: int, samples: int, epochs: int, *, seed: int
) -> tuple[lab.Batch, Floats]:
    """Return networks of n + 1 units trained each on its own samples.

    And the share (trials,) of new samples they get right.

    Samples to train on have mean 0 and standard deviation 1 on each axis; new ones are moved and scaled alike.
    """
    X, y = _samples(n, trials, samples, seed)
    middle, spread = X.mean(axis=1, keepdims=True), X.std(axis=1, keepdims=True)
    done = lab.train(
        lab.Batch.initial(trials, [n, n + 1, 1], seed=seed, leak=leak),
        (X - middle) / spread,
        y,
        epochs=epochs,
        loss="binary_cross_entropy",
        lr=LR,
        batch_size=BATCH,
        seed=seed + np.arange(trials),
    )
    X, y = _samples(n, trials, samples, seed + 2**32)
    outputs = done.batch.outputs((X - middle) / spread)[..., 0]
    return done.batch, np.asarray(((outputs > 0) == (y == 1)).mean(axis=1))


def _samples(n: int, trials: int, samples: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return samples (trials, samples, n) and their classes, 1 in the ball."""
    part = [
        problems.get("shells", n=samples, d=n, seed=seed + k, radii=printed_radii(n), standardize=False)
        for k in range(trials)
    ]
    return np.stack([item.X for item in part]), np.stack([item.y for item in part])


if __name__ == "__main__":
    run_as_program(shells_dimensions, "linearity.shells_dimensions", __doc__)
