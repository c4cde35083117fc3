"""The best continuous piecewise-linear fit with a given number of pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_choice, check_count, check_vector
from creases.errors import InputError
from creases.splines._free_knots.branch_and_bound import MAX_SAMPLES, BranchAndBound, Proof, separate_lines_bound
from creases.splines._free_knots.constrained_fit import Constraints, Shape, check_constraints, search_constrained
from creases.splines._free_knots.grid_search import TIE_TOLERANCE, initial_grid, refine_knots, search_grid
from creases.splines._samples import Samples, merge_samples
from creases.splines._spline import Pieces, Spline

# Standard errors and p-values of the slopes of a piecewise-linear fit.


@dataclass(frozen=True, eq=False)
class SlopeStatistics:
    """What the data say about the slopes of a fit, for independent errors of one variance.

    NaN stands for what the data do not determine: the slope of a piece with a single sample, or anything if there are
    no more samples than parameters.
    """

    slopes: Floats  #: (k,)
    standard_errors: Floats  #: (k,)
    t_values: Floats  #: (k,) slopes over their standard errors
    p_values: Floats  #: (k,) two-sided, of the hypothesis that a slope is 0
    knot_standard_errors: Floats  #: (k - 1,)
    degrees_of_freedom: int  #: samples minus parameters
    residual_variance: float  #: of a sample with weight 1

    def interval(self, confidence: float = 0.95) -> Floats:
        """Return a confidence interval (k, 2) for each slope."""
        from scipy.stats import t

        if self.degrees_of_freedom < 1:
            return np.full((len(self.slopes), 2), np.nan)
        reach = t.ppf((1 + confidence) / 2, self.degrees_of_freedom) * self.standard_errors
        return np.stack([self.slopes - reach, self.slopes + reach], axis=1)


def slope_statistics(function: Pieces, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None) -> SlopeStatistics:
    """Return the statistics of the slopes and knots of a function that was fitted to samples.

    Knots are parameters as well: the function is linearised in all of them (the delta method), by its derivatives
    (n, 2 k) in the value, the first slope, the slope changes and the knots.
    """
    from scipy.stats import t

    inputs = check_vector(x, "x")
    w = np.ones(len(inputs)) if weights is None else check_vector(weights, "weights", len(inputs))
    residual = function(inputs) - check_vector(y, "y", len(inputs))
    k, past = function.count, inputs[:, None] > function.knots
    ramps = np.where(past, inputs[:, None] - function.knots, 0.0)
    design = np.column_stack([np.ones_like(inputs), inputs - inputs.mean(), ramps, -function.jumps * past])
    to_slopes = np.column_stack([np.zeros(k), np.tri(k), np.zeros((k, k - 1))])
    freedom = int((w > 0).sum()) - design.shape[1]
    variance = float(w @ residual**2 / freedom) if freedom > 0 else np.nan
    covariance, is_known = _covariance(design * np.sqrt(w)[:, None])
    deviations = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", to_slopes, covariance, to_slopes), 0) * variance)
    deviations[(np.abs(to_slopes) @ ~is_known) > 0] = np.nan
    knots = np.sqrt(np.maximum(np.diag(covariance), 0) * variance)
    knots[~is_known] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = function.slopes / deviations
    p_values = 2 * t.sf(np.abs(ratios), max(freedom, 1))
    return SlopeStatistics(function.slopes, deviations, ratios, p_values, knots[k + 1 :], freedom, variance)


def _covariance(design: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the inverse of ``design' design``, and which parameters the data determine."""
    scale = np.linalg.norm(design, axis=0)
    scale[scale == 0] = 1.0
    _, values, rows = np.linalg.svd(design / scale, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(rows) - len(values))])
    good = values > 1e-10 * values.max(initial=1e-300)
    is_known: NDArray[np.bool_] = (np.abs(rows[~good]) < 1e-6).all(axis=0)
    inverse = (rows[good].T / values[good] ** 2) @ rows[good]
    return inverse / np.outer(scale, scale), is_known


@dataclass(frozen=True, eq=False, repr=False)
class OptimalFit(OneLine):
    """A piecewise-linear least-squares fit, and a bound on the error of any other with the same conditions.

    ``lower_bound <= least error of any such fit <= sse <= grid_sse``, up to rounding (1e-12 of the weighted sum of
    squares of y about its mean).
    """

    pieces: Pieces  #: the function
    sse: float  #: its weighted sum of squared errors
    grid_sse: float | None  #: the least possible with all knots on the grid of the x; None with conditions
    lower_bound: float  #: no such function with as many pieces has a smaller error
    is_optimal: bool  #: whether this is proved to be the least error of all, up to rounding
    selection: dict[int, float] | None = None  #: score of each number of pieces, if it was chosen

    @property
    def knots(self) -> Floats:
        """Knots at which the slope may change, at most k - 1."""
        return self.pieces.knots

    def spline(self) -> Spline:
        """Return the function by its breakpoints and delta-slopes."""
        return self.pieces.spline()

    def statistics(self, x: ArrayLike, y: ArrayLike, *, weights: ArrayLike | None = None) -> SlopeStatistics:
        """Return standard errors and p-values of the slopes, for the samples that were fitted.

        Knots are treated as estimated too (the delta method: the function is linearised in knots and values), so
        that there are 2 k parameters. Errors are taken to be independent, with variances inversely proportional to
        the weights. Conditions on the fit are not taken into account, nor that the number of pieces was chosen.

        Examples
        --------
        >>> import numpy as np
        >>> from creases.splines import optimal_fit
        >>> x = np.linspace(0, 2, 41)
        >>> y = np.abs(x - 1) + 0.01 * np.cos(50 * x)
        >>> statistics = optimal_fit(x, y, 2).statistics(x, y)
        >>> statistics.slopes.round(2), bool((statistics.p_values < 1e-6).all())
        (array([-1.,  1.]), True)
        """
        return slope_statistics(self.pieces, x, y, weights)

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values at x, in the shape of x."""
        return self.pieces(x)


def optimal_fit(
    x: ArrayLike,
    y: ArrayLike,
    pieces: int | Criterion,
    *,
    weights: ArrayLike | None = None,
    max_nodes: int = 2_000_000,
    slopes: tuple[float, float] | None = None,
    shape: Shape | None = None,
    through: ArrayLike | None = None,
    max_pieces: int = 10,
) -> OptimalFit:
    """Return the continuous piecewise-linear function with at most ``pieces`` pieces and the least squared error.

    Knots are first chosen on a grid (all distinct x, or 600 of them, evenly spaced by rank), where the result is a
    global optimum: a dynamic program over (piece, knot) keeps, as a lower envelope of quadratics, the least error for
    every value at the knot. The knots then leave the grid, and a branch and bound looks for anything better: an optimum
    is one of finitely many structures, in which every knot lies on a sample, or where two separate best fits happen to
    cross, or is one of two that make a jump between two samples (see Notes). If that search ends within ``max_nodes``,
    the fit is a proved global optimum. A network of H units computes every such function with H pieces (H - 1 knots).

    Parameters
    ----------
    x, y
        Samples (N,) in any order; x may repeat.
    pieces
        The number of pieces k. With fewer than k + 1 distinct x, these are interpolated (repeated ones at their mean)
        by fewer pieces. ``"bic"`` or ``"cv"`` choose it, from 1 to ``max_pieces``: by the Bayesian information
        criterion ``n log(sse / n) + p log n`` with all p parameters, knots included, or by the mean squared error of
        5-fold cross-validation (every fifth sample in the order of x is held out).
    weights
        Non-negative weights (N,), 1 by default: the error is ``sum_n weights_n (f(x_n) - y_n)^2``.
    max_nodes
        Largest number of nodes of the branch and bound, of which about ten million take a second. It is used for up to
        500 distinct x; 0 skips it.
    slopes
        The smallest and the largest slope: ``(0, np.inf)`` for an increasing function.
    shape
        ``"convex"`` or ``"concave"``.
    through
        Points (m, 2) through which the function passes.
    max_pieces
        The largest number of pieces that ``"bic"`` and ``"cv"`` consider.

    Returns
    -------
    OptimalFit
        The function, its error, and a lower bound on the error of any other.

    Notes
    -----
    ``slopes``, ``shape`` and ``through`` can be combined. If the optimum without conditions does not satisfy them, the
    knots are found by a local search from several starts, with values that solve a quadratic program at each step:
    ``is_optimal`` is False, and ``lower_bound`` is that without conditions.

    Let the samples of each piece, and the sign of the change of slope at each knot, be fixed. Two neighbouring lines l
    and r meet between the samples ``x_n`` and ``x_{n+1}`` if and only if ``l - r`` has one sign (or is 0) at ``x_n``
    and the other at ``x_{n+1}``. These conditions are linear, so the best fit solves a convex quadratic program. Take a
    solution for which as many of them as possible are equalities. By the optimality conditions of the program it is
    also the least-squares fit under these equalities alone: lines joined *at samples* into blocks, and nothing else. A
    knot between two blocks lies where their separate fits cross; two knots between the same samples leave both sides
    free. So it suffices to compare all structures of this kind whose blocks cross where they should. The search builds
    them from left to right and drops one as soon as blocks do not cross, or the error so far plus a bound on the rest
    reaches the best error known. That bound keeps every second condition: separate pairs of lines that meet. For more
    than 500 distinct x, ``lower_bound`` is that of separate lines (above 2500, without the samples near the cuts).

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines import optimal_fit
    >>> x = np.linspace(-1, 2, 31)
    >>> fit = optimal_fit(x, np.abs(x - 0.5) - np.maximum(x - 1.234, 0), 3)
    >>> fit.knots.round(6), bool(fit.sse < 1e-20)
    (array([0.5  , 1.234]), True)
    """
    conditions = check_constraints(slopes, shape, through)
    max_nodes = check_count(max_nodes, "max_nodes", least=0)
    places, values = check_vector(x, "x"), check_vector(y, "y", np.size(x))
    w = np.ones(len(places)) if weights is None else check_vector(weights, "weights", len(places))
    if not isinstance(pieces, str):
        return _fit(places, values, w, check_count(pieces, "pieces"), conditions, max_nodes)
    check_choice(pieces, ("bic", "cv"), "pieces")
    merge_samples(places, values, w)  # checks them
    fit = partial(_fit_if_possible, conditions=conditions, max_nodes=max_nodes)
    scores = score_pieces(places, values, w, fit, criterion=pieces, max_pieces=check_count(max_pieces, "max_pieces"))
    best = min(scores, key=lambda k: scores[k])
    return replace(_fit(places, values, w, best, conditions, max_nodes), selection=scores)


def _fit_if_possible(
    x: Floats, y: Floats, w: Floats, pieces: int, conditions: Constraints, max_nodes: int
) -> tuple[Any, float]:
    """Return a fit and its error, which is infinite where so many pieces cannot satisfy the conditions."""
    try:
        fit = _fit(x, y, w, pieces, conditions, max_nodes)
    except InputError as error:
        if error.param != "pieces":
            raise
        return (lambda at: np.full(len(at), np.inf)), np.inf
    return fit, fit.sse


def _fit(x: Floats, y: Floats, w: Floats, pieces: int, conditions: Constraints, max_nodes: int) -> OptimalFit:
    """Return the best fit with a given number of pieces."""
    data = merge_samples(x, y, w)
    if len(data.x) == 1:
        if conditions.has_any:
            raise InputError("x", "have at least two different values for a fit with conditions", "one")
        return OptimalFit(Pieces(np.zeros(0), np.zeros(1), data.y), data.within, data.within, data.within, True)
    free = _fit_freely(data, pieces, max_nodes)
    if not conditions.has_any:
        return free
    if conditions.hold(free.pieces, data):
        return replace(free, grid_sse=None)
    pieces = min(pieces, len(data.x) - 1 + (0 if conditions.through is None else len(conditions.through)))
    start = (free.knots - data.x[0]) / data.width
    function = data.join(*search_constrained(data, pieces, conditions.scale(data), start, initial_grid(data)))
    assert function is not None
    sse = data.error(function)
    return OptimalFit(function, sse, None, min(free.lower_bound, sse), False)


def _fit_freely(data: Samples, pieces: int, max_nodes: int) -> OptimalFit:
    """Return the best continuous fit without conditions."""
    knots, pieces = initial_grid(data), min(pieces, len(data.x) - 1)
    trials, least = search_grid(data, knots, min(pieces, len(knots) - 1))
    best = best_on_grid = next(function for function in map(data.fit, trials) if function is not None)
    proof = Proof(None, 0.0, True)
    if least > TIE_TOLERANCE * data.total:
        best, proof = _leave_grid(data, knots, trials, best, pieces, max_nodes)
    sse = data.error(best)
    bound = min(proof.bound * data.size + data.within, sse)
    return OptimalFit(best, sse, data.error(best_on_grid), bound, proof.is_complete)


def _leave_grid(
    data: Samples, grid: Floats, trials: list[Floats], best: Pieces, pieces: int, max_nodes: int
) -> tuple[Pieces, Proof]:
    """Return the best fit with knots anywhere, and a proof.

    The search needs a good fit to start from. A few descents usually give the optimum; only if the search is cut short
    is it worthwhile to look for better ones.
    """
    if pieces == 1:
        return best, Proof(None, _scaled_error(data, best), True)
    refinable = len(trials[0]) > 2
    are_distinct = bool((np.diff(data.t) > 0).all())  # not if some x differ by less than the rounding of their range
    if len(data.t) > MAX_SAMPLES or not are_distinct:
        best = _better(data, best, refine_knots(data, grid, trials, few=False)) if refinable else best
        return best, Proof(None, separate_lines_bound(data, pieces), False)
    search = BranchAndBound(data, pieces)
    for few in (True, False):
        if refinable:
            best = _better(data, best, refine_knots(data, grid, trials, few=few))
        proof = search.prove(_scaled_error(data, best), max_nodes)
        if proof.knots is not None:
            best = _better(data, best, proof.knots)
        if not refinable or proof.is_complete:
            break
    return best, proof


def _scaled_error(data: Samples, function: Pieces) -> float:
    return max(data.error(function) - data.within, 0.0) / data.size


def _better(data: Samples, function: Pieces, knots: Floats) -> Pieces:
    """Return the better of a function and the fit at other knots."""
    return min((data.fit(knots) or function, function), key=data.error)


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
) -> dict[int, float]:
    """Return the score of each number of pieces, smaller being better.

    ``"bic"`` is ``n log(error / n) + p log n`` with p = 2 k parameters, the values and the knots. ``"cv"`` is the mean
    squared error on held-out samples: every fifth in the order of x, in turn.
    """
    order = np.argsort(x, kind="stable")
    order = order[w[order] > 0]
    x, y, w = x[order], y[order], w[order]
    scores: dict[int, float] = {}
    n = len(x)
    floor = 1e-24 * float(w @ (y - w @ y / w.sum()) ** 2) + 1e-300
    for pieces in range(1, max_pieces + 1):
        size = n if criterion == "bic" else n - -(-n // FOLDS)
        if pieces > 1 and size <= 2 * pieces:
            break
        if criterion == "cv":
            scores[pieces] = _cross_validate(x, y, w, fit, pieces)
            continue
        error = fit(x, y, w, pieces)[1]
        scores[pieces] = n * float(np.log(max(error, floor) / n)) + 2 * pieces * float(np.log(n))
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


def compile_kernels(announce: Callable[[], None]) -> None:
    """Load the kernels of the best fit and of gradient descent in float64, or compile them once per machine.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them.
    """
    from creases._compiled import is_cached
    from creases.lab import Batch
    from creases.splines._coefficients import gradient_descent
    from creases.splines._free_knots import optimal_kernel as kernel

    if not is_cached(kernel):
        announce()
    x = [0.0, 0.1, 0.3, 0.4, 0.7, 0.9, 1.0]
    optimal_fit(x, [0.0, 1.0, 0.0, 0.0, 1.0, 3.0, 1.0], 3, max_nodes=1)  # too few nodes, so that all searches run
    gradient_descent(Batch.initial(1, [1, 1, 1], seed=0, dtype="float64"), x, x, steps=1, lr=0.1)
