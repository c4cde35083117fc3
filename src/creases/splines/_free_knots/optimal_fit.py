"""The best continuous piecewise-linear fit with a given number of pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._schema import BOOL
from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_arguments, check_choice, check_count, check_vector
from creases.errors import InputError
from creases.splines._free_knots.branch_and_bound import MAX_SAMPLES, BranchAndBound, Proof, separate_lines_bound
from creases.splines._free_knots.constrained_fit import Constraints, Shape, check_constraints, search_constrained
from creases.splines._free_knots.grid_search import TIE_TOLERANCE, descend_best, initial_grid, refine_knots, search_grid
from creases.splines._samples import Samples, merge_samples
from creases.splines._spline import Pieces, Spline, anchors

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


def slope_statistics(
    function: Pieces, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None, *, are_joined: bool
) -> SlopeStatistics:
    """Return the statistics of the slopes and knots of a function that was fitted to samples.

    Knots are parameters as well: the function is linearised in all of them (the delta method).
    """
    from scipy.stats import t

    inputs = check_vector(x, "x")
    w = np.ones(len(inputs)) if weights is None else check_vector(weights, "weights", len(inputs))
    residual = function(inputs) - check_vector(y, "y", len(inputs))
    k = function.count
    design, to_slopes = (_joined if are_joined else _separate)(function, inputs)
    freedom = int((w > 0).sum()) - design.shape[1]
    variance = float(w @ residual**2 / freedom) if freedom > 0 else np.nan
    covariance, is_known = _covariance(design * np.sqrt(w)[:, None])
    deviations = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", to_slopes, covariance, to_slopes), 0) * variance)
    deviations[(np.abs(to_slopes) @ ~is_known) > 0] = np.nan
    knots = np.sqrt(np.maximum(np.diag(covariance), 0) * variance)
    knots[~is_known] = np.nan
    knots = knots[k + 1 :] if are_joined else np.full(k - 1, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = function.slopes / deviations
    p_values = 2 * t.sf(np.abs(ratios), max(freedom, 1))
    return SlopeStatistics(function.slopes, deviations, ratios, p_values, knots, freedom, variance)


def _joined(function: Pieces, x: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives (n, 2 k) by value, first slope, slope changes and knots, and slopes as sums of these."""
    center = x.mean()
    past = x[:, None] > function.knots
    ramps = np.where(past, x[:, None] - function.knots, 0.0)
    k = function.count
    design = np.column_stack([np.ones_like(x), x - center, ramps, -function.jumps * past])
    return design, np.column_stack([np.zeros(k), np.tri(k), np.zeros((k, k - 1))])


def _separate(function: Pieces, x: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives (n, 2 k) by the values and slopes of separate lines, and slopes as sums of these."""
    which = np.searchsorted(function.knots, x)
    member = which[:, None] == np.arange(function.count)
    k = function.count
    return np.column_stack([member, member * (x - x.mean())[:, None]]), np.column_stack([np.zeros((k, k)), np.eye(k)])


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

    pieces: Pieces  #: the function; of a periodic one, one period from the first knot on
    sse: float  #: its weighted sum of squared errors
    grid_sse: float | None  #: the least possible with all knots on the grid; None with conditions or jumps
    lower_bound: float  #: no such function with as many pieces has a smaller error
    is_optimal: bool  #: whether this is proved to be the least error of all, up to rounding
    period: float | None = None
    has_jumps: bool = False  #: whether jumps were allowed
    selection: dict[int, float] | None = None  #: score of each number of pieces, if it was chosen

    @property
    def knots(self) -> Floats:
        """Knots at which the slope may change: at most k - 1, or k in a period."""
        return self.pieces.knots

    def spline(self) -> Spline:
        """Return the function by its breakpoints and delta-slopes."""
        for name, has in (("jumps", self.has_jumps), ("period", self.period is not None)):
            if has:
                raise InputError(name, "not be used for a spline of breakpoints", hint="use the fit's pieces")
        return self.pieces.spline()

    def statistics(self, x: ArrayLike, y: ArrayLike, *, weights: ArrayLike | None = None) -> SlopeStatistics:
        """Return standard errors and p-values of the slopes, for the samples that were fitted.

        Knots are treated as estimated too (the delta method: the function is linearised in knots and values), so
        that there are 2 k parameters. Errors are taken to be independent, with variances inversely proportional to
        the weights. Conditions on the fit are not taken into account, nor that the number of pieces was chosen;
        for periodic fits there are no standard errors (NaN).

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
        statistics = slope_statistics(self.pieces, x, y, weights, are_joined=not self.has_jumps)
        if self.period is None:
            return statistics
        nothing = np.full(self.pieces.count, np.nan)
        return replace(
            statistics,
            standard_errors=nothing,
            t_values=nothing,
            p_values=nothing,
            knot_standard_errors=np.full(len(self.knots), np.nan),
        )

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values at x, in the shape of x."""
        if self.period is None:
            return self.pieces(x)
        start = self.knots[0]
        return self.pieces(start + (np.asarray(x, np.float64) - start) % self.period)


@dataclass(frozen=True, eq=False)
class _Options:
    """What all fits of one call share."""

    grid: ArrayLike | None
    polish: bool
    max_nodes: int
    conditions: Constraints
    jumps: bool

    def n_parameters(self, pieces: int) -> int:
        """Return the number of values and knots of a fit."""
        return 3 * pieces - 1 if self.jumps else 2 * pieces


@check_arguments(polish=BOOL)
def optimal_fit(
    x: ArrayLike,
    y: ArrayLike,
    pieces: int | Criterion,
    *,
    weights: ArrayLike | None = None,
    grid: ArrayLike | None = None,
    polish: bool = True,
    max_nodes: int = 2_000_000,
    slopes: tuple[float, float] | None = None,
    shape: Shape | None = None,
    through: ArrayLike | None = None,
    period: float | None = None,
    min_length: float = 0.0,
    jumps: bool = False,
    max_pieces: int = 10,
) -> OptimalFit:
    """Return the continuous piecewise-linear function with at most ``pieces`` pieces and the least squared error.

    Knots are first chosen on a grid, where the result is a global optimum: a dynamic program over (piece, knot) keeps,
    as a lower envelope of quadratics, the least error for every value at the knot. The knots then leave the grid, and a
    branch and bound looks for anything better: an optimum is one of finitely many structures, in which every knot lies
    on a sample, or where two separate best fits happen to cross, or is one of two that make a jump between two samples
    (see Notes). If that search ends within ``max_nodes``, the fit is a proved global optimum. A network of H units
    computes every such function with H pieces (H - 1 knots).

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
    grid
        Where knots may lie before they are polished; the least and largest x are added, and entries beyond them are
        dropped. By default all distinct x, or 600 of them, evenly spaced by rank.
    polish
        Whether knots may leave the grid.
    max_nodes
        Largest number of nodes of the branch and bound, of which about ten million take a second. It is used for up to
        500 distinct x; 0 skips it.
    slopes
        The smallest and the largest slope: ``(0, np.inf)`` for an increasing function.
    shape
        ``"convex"`` or ``"concave"``.
    through
        Points (m, 2) through which the function passes.
    period
        The function repeats itself after so much, and has k pieces and k knots in a period.
    min_length
        The smallest length of a piece, in units of x.
    jumps
        Whether the function may jump at knots. The best such fit is found by a dynamic program.
    max_pieces
        The largest number of pieces that ``"bic"`` and ``"cv"`` consider.

    Returns
    -------
    OptimalFit
        The function, its error, and a lower bound on the error of any other.

    Notes
    -----
    ``slopes``, ``through``, ``min_length``, and ``shape`` or ``period``, can be combined; ``jumps`` only with
    ``slopes`` and ``min_length``. If the optimum without conditions does not satisfy them, the knots are found by a
    local search from several starts, with values that solve a quadratic program at each step: ``is_optimal`` is False,
    and ``lower_bound`` is that without conditions.

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
    conditions = check_constraints(slopes, shape, through, period, min_length)
    _check_jumps(jumps, conditions, grid)
    options = _Options(grid, polish, check_count(max_nodes, "max_nodes", least=0), conditions, jumps)
    places, values = check_vector(x, "x"), check_vector(y, "y", np.size(x))
    w = np.ones(len(places)) if weights is None else check_vector(weights, "weights", len(places))
    if not isinstance(pieces, str):
        return _fit(places, values, w, check_count(pieces, "pieces"), options)
    check_choice(pieces, ("bic", "cv"), "pieces")
    merge_samples(places, values, w)  # checks them
    scores = score_pieces(
        places,
        values,
        w,
        lambda x, y, w, k: _fit_if_possible(x, y, w, k, options),
        criterion=pieces,
        max_pieces=check_count(max_pieces, "max_pieces"),
        n_parameters=options.n_parameters,
    )
    best = min(scores, key=lambda k: scores[k])
    return replace(_fit(places, values, w, best, options), selection=scores)


def _check_jumps(jumps: bool, conditions: Constraints, grid: ArrayLike | None) -> None:
    """Refuse what cannot be combined with jumps."""
    others = {
        "shape": conditions.shape,
        "through": conditions.through,
        "period": conditions.period,
        "grid": grid,
    }
    for name, value in others.items():
        if jumps and value is not None:
            raise InputError(name, "be used without jumps", hint="with jumps, only slopes and min_length can be set")


def _fit_if_possible(x: Floats, y: Floats, w: Floats, pieces: int, options: _Options) -> tuple[Any, float]:
    """Return a fit and its error, which is infinite where so many pieces cannot satisfy the conditions."""
    try:
        fit = _fit(x, y, w, pieces, options)
    except InputError as error:
        if error.param not in ("pieces", "min_length"):
            raise
        return (lambda at: np.full(len(at), np.inf)), np.inf
    return fit, fit.sse


def _fit(x: Floats, y: Floats, w: Floats, pieces: int, options: _Options) -> OptimalFit:
    """Return the best fit with a given number of pieces."""
    conditions = options.conditions
    if conditions.period is not None and len(x):
        x = x.min() + (x - x.min()) % conditions.period
    data = merge_samples(x, y, w)
    if len(data.x) == 1:
        if conditions.has_any:
            raise InputError("x", "have at least two different values for a fit with conditions", "one")
        constant = Pieces(np.zeros(0), np.zeros(1), data.y)
        return OptimalFit(constant, data.within, data.within, data.within, True, None, options.jumps)
    if options.jumps:
        function, error, is_exact = fit_with_jumps(data, pieces, conditions.scale(data))
        sse = error * data.size + data.within
        bound = sse if is_exact else min(separate_lines_bound(data, pieces) * data.size + data.within, sse)
        return OptimalFit(function, sse, None, bound, is_exact, None, True)
    free = _fit_freely(data, pieces + (conditions.period is not None), options)
    if not conditions.has_any:
        return free
    return _fit_with_conditions(data, pieces, options, free)


def _fit_with_conditions(data: Samples, pieces: int, options: _Options, free: OptimalFit) -> OptimalFit:
    """Return the best fit found that satisfies the conditions; ``free`` is the best without them."""
    conditions = options.conditions
    if conditions.hold(free.pieces, data):
        return replace(free, grid_sse=None)
    length = conditions.period or data.width
    pieces = min(pieces, len(data.x) - 1 + (0 if conditions.through is None else len(conditions.through)))
    if pieces * conditions.min_length > length * (1 + 1e-12):
        raise InputError("min_length", f"leave room for {pieces} pieces in {length:.6g}", f"{conditions.min_length}")
    start = (free.knots - data.x[0]) / data.width
    grid = initial_grid(data, options.grid)
    knots, values = search_constrained(data, pieces, conditions.scale(data), [start], grid, polish=options.polish)
    if conditions.period is None:
        function = data.join(knots, values)
        assert function is not None
    else:
        function = data.join_periodic(knots, values, conditions.period)
    sse = data.error(function)
    return OptimalFit(function, sse, None, min(free.lower_bound, sse), False, conditions.period)


def _fit_freely(data: Samples, pieces: int, options: _Options) -> OptimalFit:
    """Return the best continuous fit without conditions."""
    knots, pieces = initial_grid(data, options.grid), min(pieces, len(data.x) - 1)
    trials, least = search_grid(data, knots, min(pieces, len(knots) - 1))
    best = best_on_grid = next(function for function in map(data.fit, trials) if function is not None)
    proof = Proof(None, 0.0, True)
    if least > TIE_TOLERANCE * data.total:
        best, proof = _leave_grid(data, knots, trials, best, pieces, options.max_nodes if options.polish else None)
    sse = data.error(best)
    bound = min(proof.bound * data.size + data.within, sse)
    return OptimalFit(best, sse, data.error(best_on_grid), bound, proof.is_complete)


def _leave_grid(
    data: Samples, grid: Floats, trials: list[Floats], best: Pieces, pieces: int, max_nodes: int | None
) -> tuple[Pieces, Proof]:
    """Return the best fit with knots anywhere, or the best on the grid if ``max_nodes`` is None, and a proof.

    The search needs a good fit to start from. A few descents usually give the optimum; only if the search is cut short
    is it worthwhile to look for better ones.
    """
    if pieces == 1:
        return best, Proof(None, _scaled_error(data, best), True)
    refinable = max_nodes is not None and len(trials[0]) > 2
    are_distinct = bool((np.diff(data.t) > 0).all())  # not if some x differ by less than the rounding of their range
    if len(data.t) > MAX_SAMPLES or not are_distinct:
        best = _better(data, best, refine_knots(data, grid, trials)) if refinable else best
        return best, Proof(None, separate_lines_bound(data, pieces), False)
    search = BranchAndBound(data, pieces)
    for improve in (descend_best, refine_knots):
        if refinable:
            best = _better(data, best, improve(data, grid, trials))
        proof = search.prove(_scaled_error(data, best), max_nodes or 0)
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


#: With more samples than this, jumps lie between as many groups of neighbours.
MAX_GROUPS = 2500


def fit_with_jumps(data: Samples, pieces: int, conditions: Constraints) -> tuple[Pieces, float, bool]:
    """Return the function, its error (scaled), and whether that is the least of all: not where samples were grouped.

    Jumps lie half-way between samples, and a function has the value of its left piece there.
    """
    from creases.splines._free_knots.optimal_kernel import best_cuts

    ends = np.linspace(0, len(data.t), min(len(data.t), MAX_GROUPS) + 1).astype(np.int64)
    edges = np.concatenate([[0.0], (data.t[ends[1:-1] - 1] + data.t[ends[1:-1]]) / 2, [1.0]])
    sums = data.cumulative_sums()[ends]
    cuts = best_cuts(sums, edges, pieces, *conditions.slopes, conditions.min_length)
    if not len(cuts):
        raise InputError("min_length", "be at most the range of x", f"{conditions.min_length * data.width}")
    starts = np.concatenate([[0], cuts[:-1]])
    lines = np.array([_line(data, ends[a], ends[b], conditions) for a, b in zip(starts, cuts, strict=True)])
    with np.errstate(over="ignore"):
        slopes = lines[:, 2] * (data.height / data.width)
    if not np.isfinite(slopes).all():
        raise InputError("x", "have a range wide enough that slopes fit into float64", hint="scale x up or y down")
    last, first = data.x[ends[cuts[:-1]] - 1], data.x[ends[cuts[:-1]]]
    knots = last + (first - last) / 2
    centers, means = data.x[0] + lines[:, 0] * data.width, data.mean + data.height * lines[:, 1]
    function = Pieces(knots, slopes, means + slopes * (anchors(knots) - centers))
    return function, float(lines[:, 3].sum()), len(data.t) <= MAX_GROUPS


def _line(data: Samples, begin: int, end: int, conditions: Constraints) -> tuple[float, float, float, float]:
    """Return center, mean, slope and error of the best line of some samples, without the rounding of sums."""
    t, u, w = data.t[begin:end], data.u[begin:end], data.w[begin:end]
    center, mean = float(w @ t / w.sum()), float(w @ u / w.sum())
    spread = float(w @ (t - center) ** 2)
    slope = float(np.clip(w @ ((t - center) * (u - mean)) / spread if spread > 0 else 0.0, *conditions.slopes))
    return center, mean, slope, float(w @ (mean + slope * (t - center) - u) ** 2)


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
