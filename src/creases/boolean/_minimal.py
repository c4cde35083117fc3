"""The least width at which training finds a network for a function, and the width at which one can be constructed.

Settings are those of section 3.4 of the dissertation: full-batch Adam on all points of {-1, 1}^n, binary cross-entropy,
He normal initialisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._schema import INTEGER, NUMBER, optional, sequence
from creases._typing import Ints
from creases._validation import check_arguments, check_count, check_seed
from creases.boolean._functions import Functions, all_inputs, check_bits, truth_table
from creases.boolean._swaps import swaps
from creases.boolean.intervals._constructions import layers_needed
from creases.boolean.intervals._intervals import check_leak
from creases.errors import InputError
from creases.lab import Batch, train

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class MinimalWidths:
    """Success of training on F functions at increasing widths."""

    functions: tuple[int, ...]
    widths: tuple[int, ...]  #: widths tried, increasing
    trials: int  #: networks trained per function and width
    successes: Ints  #: (F, widths) networks that computed the function; -1 if a smaller width already succeeded
    built: Ints  #: (F,) width at which a network can be constructed, by the swaps and the depth; 0 for constants

    @property
    def trained(self) -> Ints:
        """Least width (F,) at which training succeeded at least once; 0 if at none that was tried."""
        solved = self.successes > 0
        return np.where(solved.any(axis=1), np.array([*self.widths, 0])[solved.argmax(axis=1)], 0)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per function and width tried: successes, rate and its 95 % Wilson interval."""
        import pandas as pd
        from scipy.stats import binomtest

        rows = []
        for i, j in np.argwhere(self.successes >= 0):
            count = int(self.successes[i, j])
            interval = binomtest(count, self.trials).proportion_ci(method="wilson")
            rows.append((self.functions[i], self.widths[j], count, count / self.trials, interval.low, interval.high))
        return pd.DataFrame(rows, columns=["function", "width", "successes", "rate", "low", "high"])


@check_arguments(widths=optional(sequence(INTEGER)), lr=NUMBER, seed=INTEGER)
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
    """Train networks of increasing width on functions of n bits until each function is learned at least once.

    A success shows that the width suffices; failures prove nothing. Settings are those of the dissertation [1]_.

    Parameters
    ----------
    f
        One function or many (F,); all that are not learned yet are trained together.
    n
        Number of bits, at most 6.
    depth
        Number of hidden layers.
    leak
        Slope of the units on their negative side; 0 for ReLU.
    widths
        Units per hidden layer to try; by default 1 up to the largest width at which a network can be constructed.
    trials
        Networks per function and width.
    epochs
        Largest number of steps.
    lr
        Learning rate of Adam.
    seed
        Seed of the initial weights. The outcome of a function does not depend on the other functions.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.

    Examples
    --------
    >>> result = minimal_width([0b1000, 0b0110], 2, trials=20, epochs=500)  # and, xor
    >>> result.trained.tolist(), result.built.tolist()
    ([1, 2], [1, 2])
    """
    n = check_bits(n, 6, "to compute swaps")
    depth, trials, leak = check_count(depth, "depth"), check_count(trials, "trials"), check_leak(leak)
    check_seed(seed)
    tables = np.atleast_2d(truth_table(f, n))
    if tables.ndim != 2:
        raise InputError("f", "be one function or a list of them", f"an array of shape {tables.shape[:-1]}")
    functions = tuple(int(function) for function in np.atleast_1d(np.asarray(f, object)))
    built = np.array([_constructed_width(swaps(function, n).changes, depth, leak) for function in functions], np.int64)
    tried = tuple(range(1, max(1, int(built.max(initial=1))) + 1) if widths is None else widths)
    if not tried or list(tried) != sorted({check_count(width, "widths") for width in tried}):
        raise InputError("widths", "be increasing positive integers", f"{tried}")
    successes = np.full((len(functions), len(tried)), -1, np.int64)
    for j, width in enumerate(tried):
        remaining = np.flatnonzero((successes <= 0).all(axis=1))
        if not len(remaining):
            break
        shape = [n, *[width] * depth, 1]
        seeds = [_derive_seed(seed, functions[i], *shape) for i in remaining]
        starts = [Batch.initial(trials, shape, seed=start, leak=leak, init="he") for start in seeds]
        done = train(
            Batch.join(starts),
            2 * all_inputs(n) - 1,
            np.repeat(tables[remaining], trials, axis=0),
            epochs=epochs,
            loss="binary_cross_entropy",
            lr=lr,
            until_accuracy=1.0,
        )
        successes[remaining, j] = (done.accuracy == 1).reshape(-1, trials).sum(axis=1)
    return MinimalWidths(functions, tried, trials, successes, built)


def _constructed_width(changes: int, depth: int, leak: float) -> int:
    """Return the least width with which ``depth`` layers can make a number of changes of class."""
    if changes <= 1:
        return changes
    return next(width for width in range(2, changes + 1) if layers_needed(changes, width, leak=leak) <= depth)


def _derive_seed(*key: Any) -> int:
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
