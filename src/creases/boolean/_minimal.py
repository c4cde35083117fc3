"""The least width at which training finds a network for a function, beside the width at which one can be built.

Settings of section 3.4 of source 002: all points of {-1, 1}^n in each step, Adam on the binary cross-entropy, weights
from the He-Kaiming normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from creases import lab
from creases._typing import Ints
from creases._validation import check_count
from creases.boolean._functions import Functions, all_inputs, check_bits, truth_table
from creases.boolean._swaps import swaps
from creases.boolean.intervals._broken_lines import check_leak
from creases.boolean.intervals._deep import layers_needed
from creases.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class MinimalWidths:
    """What trainings of F functions at growing widths have shown."""

    functions: tuple[int, ...]
    widths: tuple[int, ...]  #: tried, increasing
    trials: int  #: networks trained for each function and width
    successes: Ints  #: (F, widths) networks that had all points right; -1 where a smaller width had some already
    built: Ints  #: (F,) width at which a network can be built (swaps and the depth say so), 0 for constants

    @property
    def found(self) -> Ints:
        """(F,) least width at which training has succeeded at least once; 0: at none that was tried."""
        solved = self.successes > 0
        return np.where(solved.any(axis=1), np.array([*self.widths, 0])[solved.argmax(axis=1)], 0)

    def frame(self) -> pd.DataFrame:
        """One row for each function and width tried: successes, rate and its 95 % Wilson interval."""
        import pandas as pd
        from scipy.stats import binomtest

        rows = []
        for i, j in np.argwhere(self.successes >= 0):
            count = int(self.successes[i, j])
            interval = binomtest(count, self.trials).proportion_ci(method="wilson")
            rows.append((self.functions[i], self.widths[j], count, count / self.trials, interval.low, interval.high))
        return pd.DataFrame(rows, columns=["function", "width", "successes", "rate", "low", "high"])


def minimal_width(
    f: Functions,
    n: int,
    *,
    depth: int = 1,
    leak: float = 0.0,
    widths: Sequence[int] | None = None,
    trials: int = 100,
    epochs: int = 4000,
    lr: float = 0.025,
    seed: int = 0,
) -> MinimalWidths:
    """Train networks of growing width on functions of n bits, until each is solved at least once.

    A training that fails proves nothing; one success shows that the width suffices.

    Parameters
    ----------
    f
        One function or many (F,); all that are not solved yet are trained in one call.
    n
        Number of bits, at most 6.
    depth
        Hidden layers.
    leak
        Slope of the bends on their negative side; 0 for ReLU.
    widths
        Units of each hidden layer to try; unless given, 1 up to the largest at which a network can be built.
    trials, epochs, lr
        Networks of each function and width, steps that each has at most, and Adam's learning rate.
    seed
        A function's outcome depends on it, on the function and on the shape, and on no other function.

    Examples
    --------
    >>> result = minimal_width([0b1000, 0b0110], 2, trials=20, epochs=500)  # and, xor
    >>> result.found.tolist(), result.built.tolist()
    ([1, 2], [1, 2])
    """
    n = check_bits(n, 6, "swaps can be found, which say what can be built")
    depth, trials, leak = check_count(depth, "depth"), check_count(trials, "trials"), check_leak(leak)
    tables = np.atleast_2d(truth_table(f, n))
    if tables.ndim != 2:
        raise InputError(f"f: expected one function or a list of them, got an array of shape {tables.shape[:-1]}")
    functions = tuple(int(one) for one in np.atleast_1d(np.asarray(f, object)))
    built = np.array([_width_built(swaps(one, n).changes, depth, leak) for one in functions], np.int64)
    tried = tuple(range(1, max(1, int(built.max(initial=1))) + 1) if widths is None else widths)
    if not tried or list(tried) != sorted({check_count(width, "widths") for width in tried}):
        raise InputError(f"widths: expected increasing whole numbers of units, got {tried}")
    successes = np.full((len(functions), len(tried)), -1, np.int64)
    for j, width in enumerate(tried):
        left = np.flatnonzero((successes <= 0).all(axis=1))
        if not len(left):
            break
        shape = [n, *[width] * depth, 1]
        seeds = [_seed(seed, functions[i], *shape) for i in left]
        starts = [lab.Batch.initial(trials, shape, seed=one, leak=leak, init="he") for one in seeds]
        done = lab.train(
            lab.Batch.join(starts),
            2 * all_inputs(n) - 1,
            np.repeat(tables[left], trials, axis=0),
            epochs=epochs,
            loss="binary_cross_entropy",
            lr=lr,
            until_accuracy=1.0,
        )
        successes[left, j] = (done.accuracy == 1).reshape(-1, trials).sum(axis=1)
    return MinimalWidths(functions, tried, trials, successes, built)


def _width_built(changes: int, depth: int, leak: float) -> int:
    """The least width with which so many changes of class can be built in so many layers."""
    if changes <= 1:
        return changes
    return next(width for width in range(2, changes + 1) if layers_needed(changes, width, leak=leak) <= depth)


def _seed(*key: Any) -> int:
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
