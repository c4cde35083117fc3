"""Section 4.2.1 of the dissertation: circle against annulus by loss, leak, batch size and normalising.

100 networks of three units in each of 36 settings, Adam with learning rate 0.01 for 1000 epochs over 1000 samples of
their own; a network succeeds when it classifies 95 % of them right (Tables 4.2 and 4.3). The result that
``stored_table("shells_hyperparameters")`` gives is that of::

    python -m creases_reproduction.linearity.shells_hyperparameters --scale full

What the source does not say is taken as torch has it: initial weights, the loss on logits, and -1 and 1 as the values
to reach with the squared error. "Up to 1000 epochs" may mean that training stops at success: ``ever`` counts networks
that had 95 % right at a look after every 20 epochs, ``successes`` those that have it in the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from creases import lab, problems
from creases_reproduction.experiment import ResultTable, Scale, check_scale, derive_seed, run_as_program
from creases_reproduction.linearity.printed_radii import PRINTED_RADII
from creases_reproduction.statistics import add_rates

SAMPLES, LR, ENOUGH = 1000, 0.01, 0.95
QUICK_EPOCHS = {10: 100, 100: 300, 1000: 700}  #: by batch size
EVERY = 20  #: epochs from one look at the share right to the next

#: Table 4.2: successes of 100 by loss, leak, batch size and whether inputs are normalised (no, yes).
PRINTED = {
    ("mse", 0.0, 10): (45, 62),
    ("mse", 0.0, 100): (38, 52),
    ("mse", 0.0, 1000): (29, 37),
    ("mse", 0.01, 10): (85, 88),
    ("mse", 0.01, 100): (64, 64),
    ("mse", 0.01, 1000): (50, 42),
    ("mse", 0.1, 10): (84, 94),
    ("mse", 0.1, 100): (57, 58),
    ("mse", 0.1, 1000): (47, 37),
    ("bce", 0.0, 10): (47, 69),
    ("bce", 0.0, 100): (48, 61),
    ("bce", 0.0, 1000): (42, 56),
    ("bce", 0.01, 10): (83, 91),
    ("bce", 0.01, 100): (74, 82),
    ("bce", 0.01, 1000): (53, 61),
    ("bce", 0.1, 10): (84, 90),
    ("bce", 0.1, 100): (74, 73),
    ("bce", 0.1, 1000): (59, 63),
}

#: Table 4.3: the mean number of successes over all other settings.
PRINTED_MEANS: dict[str, dict[Any, int]] = {
    "loss": {"mse": 57, "bce": 67},
    "normalise": {True: 66, False: 59},
    "leak": {0.0: 49, 0.01: 70, 0.1: 68},
    "batch": {10: 77, 100: 62, 1000: 48},
}


def shells_hyperparameters(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Train networks in all settings.

    Parameters
    ----------
    scale
        "full" is the dissertation's; "quick" has 16 networks instead of 100, and 100 to 700 epochs instead of 1000, the
        more the larger the batches.

    Returns
    -------
    Measured
        A row for each setting: loss, leak, batch, normalise, trials, successes, ever, printed (of 100), rate, low,
        high.
    """
    check_scale(scale)
    trials = 100 if scale == "full" else 16
    rows = []
    for (loss, leak, size), printed in PRINTED.items():
        for normalise in (False, True):
            key = derive_seed(seed, loss == "bce", round(1000 * leak), size, normalise)
            epochs = 1000 if scale == "full" else QUICK_EPOCHS[size]
            end, ever = _successes(loss, leak, size, normalise, trials, epochs, key)
            rows.append((loss, leak, size, normalise, trials, end, ever, printed[normalise]))
    names = ["loss", "leak", "batch", "normalise", "trials", "successes", "ever", "printed"]
    about = {"scale": scale, "seed": str(seed)}
    return ResultTable(add_rates(pd.DataFrame(rows, columns=names)), about)


def averages(result: ResultTable, *, draws: int = 2000) -> pd.DataFrame:
    """Return Table 4.3.

    Mean rates for each value of each hyper-parameter, with 95 % intervals, beside the printed ones.

    The settings are all there are, only the trainings are a sample: intervals are those of successes drawn anew,
    binomially with the rates found.
    """
    table = result.table
    again = np.random.default_rng(0).binomial(table["trials"], table["rate"], (draws, len(table))) / table[
        "trials"
    ].to_numpy(np.float64)
    rows = []
    for name, values in PRINTED_MEANS.items():
        for value, printed in values.items():
            part = (table[name] == value).to_numpy()
            low, high = np.quantile(again[:, part].mean(axis=1), [0.025, 0.975])
            rows.append((name, str(value), table["rate"][part].mean(), low, high, printed / 100))
    return pd.DataFrame(rows, columns=["parameter", "value", "rate", "low", "high", "printed"])


def _successes(
    loss: Any, leak: float, size: int, normalise: bool, trials: int, epochs: int, seed: int
) -> tuple[int, int]:
    """Return networks that have enough samples right in the end, and that ever had, of one setting."""
    part = [
        problems.get("circle_annulus", n=SAMPLES, seed=seed + k, radii=PRINTED_RADII, standardize=normalise)
        for k in range(trials)
    ]
    X, y = np.stack([item.X for item in part]), np.stack([item.y for item in part])
    batch, moments = lab.Batch.initial(trials, [2, 3, 1], seed=seed, leak=leak), None
    ever = right = np.zeros(trials, bool)
    for begun in range(0, epochs, EVERY):
        done = lab.train(
            batch,
            X,
            2.0 * y - 1 if loss == "mse" else y,
            epochs=min(EVERY, epochs - begun),
            loss="squared_error" if loss == "mse" else "binary_cross_entropy",
            lr=LR,
            batch_size=size if size < SAMPLES else None,
            seed=seed + 10_000 * begun + np.arange(trials),
            moments=moments,
        )
        batch, moments = done.batch, done.moments
        right = _share_right(batch, X, y) >= ENOUGH
        ever = ever | right
    return int(right.sum()), int(ever.sum())


def _share_right(batch: lab.Batch, X: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return share of samples (B,) whose output has the sign of their class."""
    return np.asarray(((batch.outputs(X)[..., 0] > 0) == (y == 1)).mean(axis=1))


if __name__ == "__main__":
    run_as_program(shells_hyperparameters, "linearity.shells_hyperparameters", __doc__)
