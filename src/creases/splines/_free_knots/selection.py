"""Choose the number of pieces by the Bayesian information criterion or by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from creases._typing import Floats

Criterion = Literal["bic", "cv"]

#: Number of folds of cross-validation.
FOLDS = 5

#: Fits a function to samples x, y with weights and a number of pieces: the function of x, and its squared error.
Fit = Callable[[Floats, Floats, Floats, int], tuple[Callable[[Floats], Floats], float]]


def score_pieces(
    x: Floats,
    y: Floats,
    w: Floats,
    fit: Fit,
    *,
    criterion: Criterion,
    max_pieces: int,
    n_parameters: Callable[[int], int],
) -> dict[int, float]:
    """Return the score of each number of pieces, smaller being better.

    ``"bic"`` is ``n log(error / n) + p log n`` with p parameters, knots included. ``"cv"`` is the mean squared error on
    held-out samples: every fifth in the order of x, in turn.
    """
    order = np.argsort(x, kind="stable")
    order = order[w[order] > 0]
    x, y, w = x[order], y[order], w[order]
    scores: dict[int, float] = {}
    n = len(x)
    floor = 1e-24 * float(w @ (y - w @ y / w.sum()) ** 2) + 1e-300
    for pieces in range(1, max_pieces + 1):
        size = n if criterion == "bic" else n - -(-n // FOLDS)
        if pieces > 1 and size <= n_parameters(pieces):
            break
        if criterion == "cv":
            scores[pieces] = _cross_validate(x, y, w, fit, pieces)
            continue
        error = fit(x, y, w, pieces)[1]
        scores[pieces] = n * float(np.log(max(error, floor) / n)) + n_parameters(pieces) * float(np.log(n))
        if error <= floor:  # more pieces do not help
            break
    return scores


def _cross_validate(x: Floats, y: Floats, w: Floats, fit: Fit, pieces: int) -> float:
    error = 0.0
    for fold in range(min(FOLDS, len(x))):
        held_out = np.arange(len(x)) % FOLDS == fold
        if held_out.all():
            continue
        function = fit(x[~held_out], y[~held_out], w[~held_out], pieces)[0]
        error += float(w[held_out] @ (function(x[held_out]) - y[held_out]) ** 2)
    return error / float(w.sum())
