"""Networks trained on Boolean functions, by the settings of section 3.4 of the dissertation.

Rectangular networks of width w and depth l see all 2^n points of {-1, 1}^n in each epoch: Adam with learning rate
0.025 on the binary cross-entropy of logits, weights from the He-Kaiming normal distribution. A network stops once it
has all points right, and fails after 4000 epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases import boolean, lab
from creases.errors import InputError

LR, EPOCHS = 0.025, 4000

#: Slopes of the bends on their negative side: ReLU, and the leaky ReLU of the dissertation.
RELU, LEAKY = 0.0, 0.1

#: Measures of a function's complexity by its Fourier coefficients, as :func:`creases.boolean.measures` names them.
FOURIER_METRICS = ("degree", "entropy", "influence")

#: How first weights are drawn.
Start = Literal["he", "torch"]


class Outcome(NamedTuple):
    """What became of the networks of each of k functions."""

    successes: NDArray[np.int64]  #: (k,) networks that have all points right
    right: NDArray[np.float64]  #: (k,) mean share of points right
    epochs: NDArray[np.float64]  #: (k,) mean number of epochs; a network that fails has all of them


def train_on(
    tables: NDArray[Any],
    width: int,
    depth: int,
    *,
    leak: float,
    trials: int,
    seeds: Sequence[int],
    how: Start = "he",
    epochs: int = EPOCHS,
) -> Outcome:
    """Train networks on each of k functions, all in one call.

    Parameters
    ----------
    tables
        Values 0 or 1 of the functions at all points, (k, 2^n).
    leak
        Slope of the bends on their negative side.
    trials, seeds
        Networks of each function, and what each function's are drawn with: its outcome depends on no other's.
    how
        First weights, as :meth:`creases.lab.Batch.initial` draws them: the text's "he", or PyTorch's default "torch".
    """
    k, points = tables.shape
    n = points.bit_length() - 1
    if points != 2**n:
        raise InputError("tables", "have shape (k, 2^n)", f"{tables.shape}")
    if len(seeds) != k:
        raise InputError("seeds", f"have one entry for each of the {k} functions", str(len(seeds)))
    shape = [n, *[width] * depth, 1]
    starts = [lab.Batch.initial(trials, shape, seed=seed, leak=leak, init=how) for seed in seeds]
    done = lab.train(
        lab.Batch.join(starts),
        2 * boolean.all_inputs(n) - 1,
        np.repeat(tables, trials, axis=0),
        epochs=epochs,
        loss="binary_cross_entropy",
        lr=LR,
        until_accuracy=1.0,
    )
    right, spent = np.reshape(done.accuracy, (k, trials)), np.reshape(done.epochs, (k, trials))
    return Outcome((right == 1).sum(axis=1), right.mean(axis=1, dtype=np.float64), spent.mean(axis=1))
