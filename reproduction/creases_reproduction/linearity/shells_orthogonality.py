"""Section 4.2.2 of the dissertation: how orthogonal n random vectors in n dimensions are (Fig. 4.7)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import gammaln

from creases_reproduction.experiment import ResultTable, Scale, check_scale, run_as_program
from creases_reproduction.statistics import mean_interval


def shells_orthogonality(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Return cosines between n Gaussian vectors in n dimensions: mean and largest magnitude, averaged over trials.

    Parameters
    ----------
    scale
        100 trials as in the dissertation; "quick" has n = 2, 4, ..., 32, "full" n = 2, ..., 100.

    Returns
    -------
    Measured
        A row for each n: ``mean`` and ``largest`` with 95 % intervals, and ``formula``, the expected magnitude.
    """
    check_scale(scale)
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(2, 101) if scale == "full" else (2, 4, 8, 16, 32):
        vectors = rng.normal(size=(100, n, n))
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        cosines = np.abs(vectors @ vectors.swapaxes(1, 2))[:, *np.triu_indices(n, 1)]  # (trials, pairs)
        mean, largest = cosines.mean(axis=1), cosines.max(axis=1)
        rows.append((n, mean.mean(), *mean_interval(mean), largest.mean(), *mean_interval(largest), expected_cosine(n)))
    names = ["n", "mean", "mean_low", "mean_high", "largest", "largest_low", "largest_high", "formula"]
    return ResultTable(pd.DataFrame(rows, columns=names), {"scale": scale, "seed": str(seed)})


def expected_cosine(n: int) -> float:
    """Return expected magnitude of the cosine between two random directions of R^n: about sqrt(2 / (pi n))."""
    return float(np.exp(gammaln(n / 2) - gammaln((n + 1) / 2)) / np.sqrt(np.pi))


if __name__ == "__main__":
    run_as_program(shells_orthogonality, "linearity.shells_orthogonality", __doc__)
