"""Penalized fits of linear combinations of functions, every block with a penalty that the rows choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri
from scipy.optimize import nnls

from creases._typing import Floats, Ints
from creases.tables._stages.basis import CurveBasis, HiddenUnits
from creases.tables._stages.pairs import PurePair
from creases.tables._stages.rows import Rows, RowSource


@dataclass(frozen=True, eq=False)
class Basis:
    """The functions of encoded rows whose weighted sum is a model: of single columns, then of pairs, then units."""

    curves: CurveBasis
    planes: tuple[PurePair, ...] = ()
    units: HiddenUnits | None = None

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the functions of each plane are, and then those of the units if there are any."""
        sizes = [len(self.curves.penalty), *map(len, self.planes), *([len(self.units)] if self.units else [])]
        ends = np.cumsum(sizes).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def blocks(self) -> Ints:
        """(p,) The number of each function's penalty: those with the same number are shrunk alike.

        Each plane has one, and all units have one.
        """
        sizes = [place.stop - place.start for place in self.places]
        first = self.curves.blocks.max() + 1
        return np.append(self.curves.blocks, first + np.repeat(np.arange(len(sizes)), sizes))

    @cached_property
    def penalty(self) -> Floats:
        """(p,) The function's own factor of its penalty."""
        penalty = self.curves.penalty
        return np.append(penalty, np.ones(self.places[-1].stop - len(penalty) if self.places else 0))

    def __call__(self, X: Floats, last: tuple[Basis, Floats] | None = None) -> Floats:
        """Return the functions (n, p) at rows X (n, d); those of ``last``, a basis with its functions, are there."""
        before, G = last if last is not None and last[0].curves is self.curves else (None, np.zeros((0, 0)))
        F = self.curves(X) if before is None else G[:, : len(self.curves.penalty)]
        known = {} if before is None else dict(zip(before.planes, before.places, strict=False))
        planes = [G[:, known[plane]] if plane in known else plane(X, F) for plane in self.planes]
        units = [self.units(X)] if self.units else []
        return np.concatenate([part.T for part in (F, *planes, *units)]).T if self.places else F


# Shapes of curves that hold by construction: rising, falling, convex.

#: Slopes of a rising curve are at least this, relative to the norm of weights: rounding cannot turn them.
MARGIN = 1e-9

Shape = Literal["", "rising", "falling", "straight", "convex"]


def shape_rows(basis: Basis, shapes: Sequence[Shape]) -> Floats:
    """Return the matrix (k, p) whose product with weights (p,), slopes or their changes, must not be negative.

    A rising column may be in planes: each of them may take its share of the slope of the column's curve, however the
    other column is.
    """
    curves, rows = basis.curves, []
    for j, shape in enumerate(shapes):
        if shape not in ("rising", "falling", "convex") or j not in curves.lines:
            continue
        knots = curves.all_knots(j)
        slopes = np.zeros((len(knots) - 1, len(basis.penalty)))
        slopes[:, np.flatnonzero(curves.feature == j)] = curves.slopes_of(j, knots)
        if shape == "convex":
            rows.append(np.diff(slopes, axis=0))
            continue
        sign = 1.0 if shape == "rising" else -1.0
        rows += [sign * slopes, sign * _plane_slopes(basis, j)]
    return np.concatenate(rows) if rows else np.zeros((0, len(basis.penalty)))


def _plane_slopes(basis: Basis, j: int) -> Floats:
    """Return rows (k, p) whose products with the weights are slopes of planes along feature j, a number.

    To each is added a share of the slope of the feature's curve, so that the sum of all parts rises where none of
    the products is negative. Units do not read features with a shape.
    """
    curves, p = basis.curves, len(basis.penalty)
    own = np.flatnonzero(curves.feature == j)
    readers = [pair for pair in zip(basis.planes, basis.places, strict=False) if j in pair[0].hinges.knots]
    rows = [np.zeros((0, p))]
    for plane, place in readers:
        knots = np.unique(np.concatenate([curves.all_knots(j), plane.hinges.knots[j]]))
        slopes = curves.slopes_of(j, knots)
        families = plane.hinges.slope_patterns(j, knots)
        share = 1.0 / (len(readers) * len(families))
        for is_member, patterns in families:
            for slope, pattern in zip(slopes, patterns, strict=True):
                row = np.zeros((len(pattern), p))
                row[:, own] = share * slope
                row[:, place] = (pattern * curves.span[j] - is_member * (slope @ plane.margin[own])) / plane.scale
                rows.append(row)
    return np.concatenate(rows)


def project(weights: Floats, inverse: Floats, rows: Floats) -> Floats:
    """Return the feasible weights (p,) nearest to weights (p,) in the norm of a matrix with this inverse (p, p).

    Its dual is a problem of non-negative least squares in the multipliers of the rows (k, p): least distance
    programming (Lawson, Hanson 1974), for any number of rows, which may depend on each other.
    """
    scale = 1 / np.linalg.norm(rows, axis=1).clip(1e-300)
    rows = rows * scale[:, None]
    least = MARGIN - rows @ weights
    if (least <= 0).all():
        return weights
    step = rows @ np.linalg.cholesky(inverse)  # (k, p)
    size = float(np.abs(least).max())
    A = np.vstack([step.T, least[None] / size])
    last = np.zeros(len(A))
    last[-1] = 1.0
    multipliers, _ = nnls(A, last, maxiter=10 * A.shape[1])
    rest = last - A @ multipliers
    return np.asarray(weights + inverse @ (rows.T @ multipliers) * (size / rest[-1]))


#: Penalties stay between these, and grow or fall by at most these factors in a step.
LEAST, LARGEST = 1e-3, 1e7
FALL, RISE = 10.0, 100.0

#: Steps at most; effective numbers of parameters and scores that change by less than these end the fit.
STEPS, FREEDOM_CHANGE, SCORE_CHANGE = 12, 0.05, 0.02

#: Share by which curvatures must change for the sums of products under them to be taken again: a step goes by the exact
#: gradient in any case, and comes to the same end.
CURVATURE_CHANGE = 0.02

#: Steps that all rows of a larger table get at last, unless errors are squared: one is exact then.
LAST_STEPS = 2

#: How strongly lines are held near those of a fit that they imitate, as a fraction of the rows' weight.
NEAR = 1e-4

#: Numbers of a matrix of functions that are kept between steps; above, rows are taken in blocks of fewer numbers.
KEEP, BLOCK = 25_000_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Fit:
    """A model: ``offset + basis(X) @ weights``."""

    basis: Basis
    weights: Floats  #: (p, m)
    offset: Floats  #: (m,)
    penalties: Floats  #: (blocks,)
    effective: Floats  #: (blocks,) effective numbers of parameters
    noise: float  #: variance of the residuals, in units of the family's own; 1 for classes
    covariance: tuple[Floats, ...]  #: (p, p) of the weights of each score

    @property
    def freedom(self) -> float:
        """Effective number of parameters."""
        return float(self.effective.sum())

    def __call__(self, rows: Rows) -> Floats:
        """Return the scores (n, m) of rows."""
        return _Functions(self.basis, rows).apply(self.weights, self.offset)


class _Functions:
    """The functions of a basis at rows: in blocks, which are kept if they are small."""

    def __init__(self, basis: Basis, rows: Rows) -> None:
        self._basis, self._X = basis, rows.X
        self._size = max(BLOCK // len(basis.penalty), 1)
        self._kept: Floats | None = None
        if len(rows) * len(basis.penalty) <= KEEP:
            self._size, self._kept = max(len(rows), 1), rows.functions(basis)

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        for start in range(0, len(self._X), self._size):
            part = slice(start, start + self._size)
            yield part, self._basis(self._X[part]) if self._kept is None else self._kept

    def apply(self, weights: Floats, offset: Floats) -> Floats:
        """Return the weighted sums (n, m) of the functions."""
        scores = np.empty((len(self._X), len(offset)))
        for part, F in self:
            scores[part] = offset + F @ weights
        return scores

    def gradient(self, residuals: Floats) -> Floats:
        """Return the sums (p, m) of the functions times residuals (n, m)."""
        gradient = np.zeros((len(self._basis.penalty), residuals.shape[1]))
        for part, F in self:
            gradient += F.T @ residuals[part]
        return gradient

    def grams(self, curvatures: Floats) -> list[_Gram]:
        """Return the second moments of the functions under the weights (n, m) of each score."""
        return center_moments(*self.moments(curvatures))

    def moments(self, curvatures: Floats) -> tuple[Floats, Floats, Floats]:
        """Return sums of squares (1 or m, p, p), of functions (m, p) and of weights (m,), for weights (n, m).

        Where all scores have the same weights, so are their squares.
        """
        p, m = len(self._basis.penalty), curvatures.shape[1]
        is_same = bool((curvatures == curvatures[:, :1]).all())
        squares, sums = np.zeros((1 if is_same else m, p, p)), np.zeros((m, p))
        for part, F in self:
            sums += curvatures[part].T @ F
            for square, weight in zip(squares, curvatures[part].T, strict=False):
                is_constant = bool((weight == weight[:1]).all())
                scaled = F if is_constant else F * np.sqrt(weight)[:, None]
                square += (scaled.T @ scaled) * (weight[0] if is_constant and len(weight) else 1.0)
        return squares, sums, curvatures.sum(axis=0)


@dataclass(frozen=True, eq=False)
class _Gram:
    """Second moments of functions under weights of rows."""

    matrix: Floats  #: (p, p) centred
    mean: Floats  #: (p,)
    total: float


def center_moments(squares: Floats, sums: Floats, totals: Floats) -> list[_Gram]:
    """Return the centred moments of each score: see :meth:`_Functions.moments`."""
    grams = []
    for c, total in enumerate(totals.tolist()):
        mean = sums[c] / total
        matrix = squares[c if len(squares) == len(totals) else 0] - np.outer(total * mean, mean)
        matrix[np.diag_indices_from(matrix)] += 1e-9 * np.trace(matrix) / len(matrix)  # functions may be dependent
        grams.append(_Gram(matrix, mean, total))
    return grams


def fit_penalized(
    basis: Basis, rows: Rows, shapes: Sequence[Shape], *, start: Fit | None = None, n_steps: int = STEPS
) -> Fit:
    """Fit weights of the functions of a basis by maximum likelihood, each block of them shrunk by a penalty of its own.

    A penalty is the one that makes the penalized weights as large as rows say: the generalized Fellner-Schall update of
    restricted maximum likelihood (Wood, Fasiolo 2017), one for each of at most ``n_steps`` Newton steps. A block that
    says nothing gets a penalty without end: a curve becomes straight, a plane disappears. Features keep their shapes.
    Steps go from ``start``, a fit of the first functions of the basis.
    """
    limits = shape_rows(basis, shapes)
    first = _first_fit(basis, rows, start)
    if len(limits):  # the nearest weights whose products with limits are not negative
        first = replace(
            first, weights=np.stack([project(each, np.eye(len(each)), limits) for each in first.weights.T], 1)
        )
    return _take_steps(first, rows, limits, n_steps)


def refit(fit: Fit, rows: RowSource, shapes: Sequence[Shape]) -> tuple[Fit, Floats]:
    """Return a fit of the same functions and penalties to all rows, and the means (p,) of the functions over them.

    The rows are only read in sums over blocks, in a fixed order: they may be more than fit into memory, and read by
    several processes. Squared errors take one Newton step, which is exact, other losses at most ``LAST_STEPS``.
    """
    limits = shape_rows(fit.basis, shapes)
    sums = rows.sum(partial(_step_sums, fit, None))
    is_quadratic = rows.family.is_quadratic
    for _ in range(1 if is_quadratic else LAST_STEPS):
        target, roots = _newton_target(fit, center_moments(*sums.moments), sums.gradient, sums.pulls, limits)
        target = replace(target, effective=target.effective * rows.freedom)
        if is_quadratic:
            fit = target
            break
        before, length = sums.loss + _penalty(fit, fit), 1.0
        while True:
            after = _between(fit, target, length)
            sums = rows.sum(partial(_step_sums, after, fit))
            if length <= 1e-2 or sums.loss + _penalty(after, fit) <= before + 1e-9 * abs(before):
                break
            length /= 2
        fit = after
        if sums.change < SCORE_CHANGE:
            break
    covariance = tuple(fit.noise * (root.T @ root) for root in roots)
    return replace(fit, covariance=covariance), sums.functions / sums.weight


@dataclass(frozen=True, eq=False)
class _StepSums:
    """What a Newton step needs of rows: sums, which add up over blocks."""

    moments: tuple[Floats, Floats, Floats]  #: see :meth:`_Functions.moments`
    gradient: Floats  #: (p, m)
    pulls: Floats  #: (m,) sums of residuals
    functions: Floats  #: (p,) sums of the functions
    weight: float
    loss: float
    change: float  #: the largest change of a score since the step before

    def __add__(self, other: _StepSums) -> _StepSums:
        squares, more = self.moments[0], other.moments[0]
        if len(squares) != len(more):  # all scores happened to have the same weights in one of the blocks
            squares, more = (np.repeat(each, len(self.pulls) // len(each), axis=0) for each in (squares, more))
        return _StepSums(
            (squares + more, self.moments[1] + other.moments[1], self.moments[2] + other.moments[2]),
            self.gradient + other.gradient,
            self.pulls + other.pulls,
            self.functions + other.functions,
            self.weight + other.weight,
            self.loss + other.loss,
            max(self.change, other.change),
        )


def _step_sums(fit: Fit, before: Fit | None, rows: Rows) -> _StepSums:
    """Return the sums over rows for a step from a fit, and how much its scores differ from those of the fit before."""
    functions = _Functions(fit.basis, rows)
    scores = functions.apply(fit.weights, fit.offset)
    residuals = rows.pulls(scores) * rows.weight[:, None]
    change = 0.0
    if before is not None and len(scores):
        change = float(np.abs(functions.apply(fit.weights - before.weights, fit.offset - before.offset)).max())
    return _StepSums(
        functions.moments(rows.curvatures(scores)),
        functions.gradient(residuals),
        residuals.sum(axis=0),
        functions.gradient(rows.weight[:, None])[:, 0],
        float(rows.weight.sum()),
        float(rows.weight @ rows.potentials(scores)),
        change,
    )


def _between(fit: Fit, target: Fit, length: float) -> Fit:
    """Return what is a fraction of the way from a fit to its Newton target."""
    return replace(
        target,
        weights=fit.weights + length * (target.weights - fit.weights),
        offset=fit.offset + length * (target.offset - fit.offset),
    )


def _penalty(fit: Fit, by: Fit) -> float:
    """Return the penalty of a fit's weights, by the penalties of another."""
    shrink = by.penalties[fit.basis.blocks] * fit.basis.penalty
    return float(shrink @ (fit.weights**2).sum(axis=1)) / 2


def _first_fit(basis: Basis, rows: Rows, start: Fit | None) -> Fit:
    """Return the fit to begin with: another one's functions that the basis has too, the others 0.

    Lines of a wide table begin with a penalty as if all had the same effect, so that they do not fit noise.
    """
    p, n_blocks = len(basis.penalty), int(basis.blocks.max()) + 1
    weights, penalties, effective = np.zeros((p, rows.n_scores)), np.ones(n_blocks), np.zeros(n_blocks)
    lines = basis.curves.lines
    penalties[basis.blocks[: len(lines)]] = len(lines) if basis.curves.is_wide else 1
    if start is None:
        return Fit(basis, weights, rows.start(), penalties, effective, 1.0, ())
    if start.basis.curves is basis.curves:
        ours, theirs = np.arange(len(start.weights)), np.arange(len(start.weights))
    else:
        _, ours, theirs = np.intersect1d(lines, start.basis.curves.lines, return_indices=True)
    weights[ours] = start.weights[theirs]
    blocks, first = np.unique(basis.blocks[ours], return_index=True)
    penalties[blocks] = start.penalties[start.basis.blocks[theirs[first]]]
    effective[blocks] = start.effective[start.basis.blocks[theirs[first]]]
    return Fit(basis, weights, start.offset, penalties, effective, start.noise, ())


def _take_steps(fit: Fit, rows: Rows, limits: Floats, n_steps: int) -> Fit:
    """Take Newton steps, each with an update of the penalties."""
    functions = _Functions(fit.basis, rows)
    scores = functions.apply(fit.weights, fit.offset)
    grams: list[_Gram] = []
    curvatures = np.zeros_like(scores)
    for _ in range(n_steps):
        residuals = rows.pulls(scores) * rows.weight[:, None]
        if not rows.family.is_quadratic or not grams:
            before, curvatures = curvatures, rows.curvatures(scores)
            if not grams or np.abs(curvatures - before).sum() > CURVATURE_CHANGE * before.sum():
                grams = functions.grams(curvatures)
            else:
                curvatures = before
        target, roots = _newton_target(fit, grams, functions.gradient(residuals), residuals.sum(axis=0), limits)
        target = replace(target, effective=target.effective * rows.freedom)
        change = functions.apply(target.weights - fit.weights, target.offset - fit.offset)
        length = _step_length(rows, scores, change, fit, target)
        scores = scores + length * change
        after = _between(fit, target, length)
        if rows.family.has_noise:
            rest = max(rows.weight.sum() - after.freedom / rows.n_scores - 1, 1.0)
            after = replace(after, noise=max(rows.noise(scores) * float(rows.weight.sum()) / rest, 1e-12))
        is_settled = np.abs(after.effective - fit.effective).max() < FREEDOM_CHANGE
        sizes = np.bincount(fit.basis.blocks, fit.basis.penalty * (target.weights**2).sum(axis=1), len(after.penalties))
        low, high = np.maximum(LEAST, after.penalties / FALL), np.minimum(LARGEST, after.penalties * RISE)
        penalties = np.asarray((after.noise * after.effective / np.maximum(sizes, 1e-300)).clip(low, high))
        fit = replace(after, penalties=penalties)
        if is_settled and length * np.abs(change).max() < SCORE_CHANGE:
            break
    return replace(fit, covariance=_covariance(after, roots))


def _covariance(fit: Fit, roots: Sequence[Floats]) -> tuple[Floats, ...]:
    """Return the covariances (p, p) of the weights of each score, that which comes from the penalties included.

    Rows leave the logarithms of penalties uncertain, by the inverse of their expected information: half the squared
    norms of the blocks of ``I - sqrt(S) H sqrt(S)``, S the penalties and H the inverse of the penalized Hessian. To it
    comes what is known without rows, that they are between ``LEAST`` and ``LARGEST``. A weight follows a logarithm by
    ``-H S w`` (Wood, Pya, Saefken 2016, section 4).
    """
    blocks = fit.basis.blocks
    member = np.zeros((len(blocks), len(fit.penalties)))
    member[np.arange(len(blocks)), blocks] = 1.0
    shrink = fit.penalties[blocks] * fit.basis.penalty
    root = np.sqrt(shrink)
    known = np.diag(np.full(len(fit.penalties), 12 / np.log(LARGEST / LEAST) ** 2))
    inverses = [root.T @ root for root in roots]
    for H in inverses:
        known += member.T @ (np.eye(len(blocks)) - root[:, None] * H * root) ** 2 @ member / 2
    of_logs, result = invert(known), []
    for H, weights in zip(inverses, fit.weights.T, strict=True):
        moves = H @ (member * (shrink * weights)[:, None])
        result.append(fit.noise * H + moves @ of_logs @ moves.T)
    return tuple(result)


def _newton_target(
    fit: Fit, grams: list[_Gram], gradient: Floats, pulls: Floats, limits: Floats
) -> tuple[Fit, list[Floats]]:
    """Return where the quadratic model of the penalized loss is least, and roots of its inverse Hessian by score."""
    blocks, own = fit.basis.blocks, fit.basis.penalty
    n_blocks = len(fit.penalties)
    shrink = fit.penalties[blocks] * own
    ranks = np.bincount(blocks, minlength=n_blocks)
    weights, offset, effective, roots = fit.weights.copy(), fit.offset.copy(), np.zeros(n_blocks), []
    for c, gram in enumerate(grams):
        hessian = gram.matrix.copy()
        hessian[np.diag_indices_from(hessian)] += shrink
        root = root_of_inverse(hessian)
        move = root.T @ (root @ (gradient[:, c] - gram.mean * pulls[c] - shrink * weights[:, c]))
        if len(limits):
            move = project(weights[:, c] + move, root.T @ root, limits) - weights[:, c]
        weights[:, c] += move
        offset[c] += pulls[c] / gram.total - gram.mean @ move
        variances = np.einsum("pq,pq->q", root, root)
        effective += (ranks - fit.penalties * np.bincount(blocks, variances * own, n_blocks)).clip(1e-6)
        roots.append(root)
    return replace(fit, weights=weights, offset=offset, effective=effective), roots


def _step_length(rows: Rows, scores: Floats, change: Floats, fit: Fit, target: Fit) -> float:
    """Return 1, halved while the penalized loss would grow."""
    if rows.family.is_quadratic:
        return 1.0

    def loss(length: float) -> float:
        return float(rows.weight @ rows.potentials(scores + length * change)) + _penalty(
            _between(fit, target, length), fit
        )

    length, before = 1.0, loss(0.0)
    while length > 1e-2 and loss(length) > before + 1e-9 * abs(before):
        length /= 2
    return length


def prediction_forms(fit: Fit, rows: Rows) -> list[Floats]:
    """Return, for each score, the quadratic form (p, p) of how much a change of weights changes predictions."""
    functions = _Functions(fit.basis, rows)
    curvatures = rows.curvatures(functions.apply(fit.weights, fit.offset))
    hold = np.diag(line_hold(fit.basis, rows))
    return [gram.matrix + hold for gram in functions.grams(curvatures)]


def line_hold(basis: Basis, rows: Rows) -> Floats:
    """Return a small penalty (p,) of lines: there may be more of them than rows."""
    hold = np.zeros(len(basis.penalty))
    hold[: len(basis.curves.lines)] = NEAR * rows.weight.sum()
    return hold


def imitate(fit: Fit, basis: Basis, rows: Rows, shapes: Sequence[Shape]) -> Fit:
    """Return the sum of other functions whose predictions for rows are nearest to those of a fit.

    Lines that rows cannot tell apart stay near those of the fit, and features keep their shapes.
    """
    scores, functions = fit(rows), _Functions(basis, rows)
    curvatures = rows.curvatures(scores)
    limits = shape_rows(basis, shapes)
    offset = (curvatures * scores).sum(axis=0) / curvatures.sum(axis=0)
    gradient = functions.gradient(curvatures * (scores - offset))
    near, hold = np.zeros((len(basis.penalty), rows.n_scores)), line_hold(basis, rows)
    _, ours, theirs = np.intersect1d(basis.curves.lines, fit.basis.curves.lines, return_indices=True)
    near[ours] = fit.weights[theirs]
    weights = np.zeros_like(near)
    for c, gram in enumerate(functions.grams(curvatures)):
        inverse = invert(gram.matrix + np.diag(hold))
        weights[:, c] = inverse @ (gradient[:, c] + hold * near[:, c])
        if len(limits):
            weights[:, c] = project(weights[:, c], inverse, limits)
        offset[c] -= gram.mean @ weights[:, c]
    n_blocks = int(basis.blocks.max()) + 1
    return Fit(basis, weights, offset, np.ones(n_blocks), np.zeros(n_blocks), fit.noise, ())


def root_of_inverse(A: Floats) -> Floats:
    """Return R (p, p), lower: ``R.T @ R`` is the inverse of a matrix that is positive definite up to rounding."""
    ridge = 0.0
    factor, failed = dpotrf(A, lower=1)
    while failed and ridge < 1.0:
        ridge = max(10 * ridge, 1e-9)
        size = ridge * max(float(np.abs(np.diag(A)).max()), 1e-9)
        factor, failed = dpotrf(A + size * np.eye(len(A)), lower=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.asarray(dtrtri(factor, lower=1, overwrite_c=1)[0])


def invert(A: Floats) -> Floats:
    """Return the inverse of a matrix (p, p) that is positive definite up to rounding, or of one a little larger."""
    lower, _ = dlauum(root_of_inverse(A), lower=1, overwrite_c=1)  # above the diagonal it is 0, as the root is
    inverse = lower + lower.T
    inverse[np.diag_indices_from(inverse)] = np.diag(lower)
    return np.asarray(inverse)
