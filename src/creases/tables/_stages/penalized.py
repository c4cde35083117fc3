"""Penalized fits of linear combinations of functions, every block with a penalty that the rows choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from creases._typing import Floats, Ints
from creases.tables._stages.basis import Basis
from creases.tables._stages.constraints import project

#: Penalties stay between these, and grow or fall by at most these factors in a step.
LEAST, LARGEST = 1e-3, 1e7
FALL, RISE = 10.0, 100.0

#: Steps at most; effective numbers of parameters and scores that change by less than these end the fit.
STEPS, FREEDOM_CHANGE, SCORE_CHANGE = 25, 0.05, 0.02

#: Penalties are chosen on at most so many rows: more do not change them.
PENALTY_ROWS = 20_000

#: Numbers of a matrix of functions that are kept between steps; above, rows are taken in blocks of this many numbers.
KEEP = 20_000_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to fit to, with what they are to give."""

    X: Floats  #: (n, d) encoded
    y: Floats  #: (n, m) standardized targets, or one column of class numbers
    weight: Floats  #: (n,) with mean 1
    n_classes: int  #: 0 for a regression

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def __getitem__(self, rows: Ints) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.weight[rows], self.n_classes)

    @property
    def n_scores(self) -> int:
        """Numbers that a model returns for a row: targets, one logit of two classes, or one for each of more classes."""
        return self.y.shape[1] if self.n_classes == 0 else 1 if self.n_classes == 2 else self.n_classes

    @property
    def targets(self) -> Floats:
        """(n, m) What the means of the scores are to be: values or class indicators."""
        if self.n_classes == 0:
            return self.y
        return self.y == 1.0 if self.n_classes == 2 else self.y == np.arange(self.n_classes)

    def means(self, scores: Floats) -> Floats:
        """Return the expected targets (n, m) of scores (n, m)."""
        if self.n_classes == 0:
            return scores
        if self.n_classes == 2:
            return 1 / (1 + np.exp(-scores))
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def losses(self, scores: Floats) -> Floats:
        """Return each row's squared error or log loss (n,)."""
        if self.n_classes == 0:
            return ((scores - self.y) ** 2).mean(axis=1)
        if self.n_classes == 2:
            return np.logaddexp(0, np.where(self.y[:, 0] == 1, -scores[:, 0], scores[:, 0]))
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), self.y[:, 0].astype(int)]

    def start(self) -> Floats:
        """Return the best constant scores (m,)."""
        mean = np.average(self.targets, axis=0, weights=self.weight)
        if self.n_classes == 0:
            return mean
        mean = mean.clip(1e-4, 1 - 1e-4)
        return np.log(mean / (1 - mean)) if self.n_classes == 2 else np.log(mean) - np.log(mean).mean()


@dataclass(frozen=True, eq=False)
class Fit:
    """A model: ``offset + basis(X) @ weights``."""

    basis: Basis
    weights: Floats  #: (p, m)
    offset: Floats  #: (m,)
    penalties: Floats  #: (blocks,)
    effective: Floats  #: (blocks,) effective numbers of parameters
    noise: float  #: variance of the residuals; 1 for classes
    covariance: tuple[Floats, ...] = ()  #: (p, p) of the weights of each score

    @property
    def freedom(self) -> float:
        """Effective number of parameters."""
        return float(self.effective.sum())

    def __call__(self, X: Floats) -> Floats:
        """Return the scores (n, m) of rows X (n, d)."""
        return np.concatenate([self.offset + F @ self.weights for F in _functions(self.basis, X)])


def _functions(basis: Basis, X: Floats) -> Iterator[Floats]:
    size = max(KEEP // len(basis.penalty), 1)
    for start in range(0, max(len(X), 1), size):
        yield basis(X[start : start + size])


def fit_penalized(basis: Basis, rows: Rows, limits: Floats | None = None) -> Fit:
    """Fit weights of the functions of a basis by maximum likelihood, each block of them shrunk by a penalty of its own.

    A penalty is the one that makes the penalized weights as large as rows say: the generalized Fellner-Schall update of
    restricted maximum likelihood (Wood, Fasiolo 2017), one for each Newton step. A block that says nothing gets a penalty
    without end: a curve becomes straight, a plane disappears. The products of ``limits`` (k, p) with the weights of the
    basis' first p functions are not negative.
    """
    sample = rows
    if len(rows) > PENALTY_ROWS:
        sample = rows[np.random.default_rng(0).permutation(len(rows))[:PENALTY_ROWS]]
    p, n_blocks = len(basis.penalty), int(basis.blocks.max()) + 1
    rows_of_limits = np.zeros((0, p)) if limits is None else np.pad(limits, ((0, 0), (0, p - limits.shape[1])))
    start = Fit(basis, np.zeros((p, rows.n_scores)), rows.start(), np.ones(n_blocks), np.zeros(n_blocks), 1.0)
    fit = _iterate(basis, sample, start, rows_of_limits, choose=True)
    return fit if sample is rows else _iterate(basis, rows, fit, rows_of_limits, choose=False)


def _iterate(basis: Basis, rows: Rows, fit: Fit, limits: Floats, *, choose: bool) -> Fit:
    blocks, own = basis.blocks, basis.penalty
    n_blocks = int(blocks.max()) + 1
    ranks = np.bincount(blocks, minlength=n_blocks).astype(float)
    kept = list(_functions(basis, rows.X)) if len(rows) * len(own) <= KEEP else None
    parts = lambda: kept if kept is not None else _functions(basis, rows.X)  # noqa: E731
    weights, offset, penalties, noise = fit.weights, fit.offset, fit.penalties, fit.noise
    scores = np.concatenate([offset + F @ weights for F in parts()])
    is_square = rows.n_classes == 0
    targets, before, covariance = rows.targets, fit.effective, ()
    grams = None
    for step in range(STEPS if choose else 1 if is_square else 4):
        means = rows.means(scores)
        residuals = (targets - means) * rows.weight[:, None]
        if grams is None or not is_square:
            grams = _grams(parts(), _curvatures(rows, means), len(own))
        gradient, at = np.zeros_like(weights), 0
        for F in parts():
            gradient += F.T @ residuals[at : at + len(F)]
            at += len(F)
        shrink = penalties[blocks] * own
        move, shift = np.zeros_like(weights), np.zeros_like(offset)
        sizes, effective, covariance = np.zeros(n_blocks), np.zeros(n_blocks), []
        for c, (gram, mean, total) in enumerate(zip(*grams, strict=True)):
            inverse = invert(gram + np.diag(shrink))
            pull = residuals[:, c].sum()
            move[:, c] = inverse @ (gradient[:, c] - mean * pull - shrink * weights[:, c])
            if len(limits):
                move[:, c] = project(weights[:, c] + move[:, c], inverse, limits) - weights[:, c]
            shift[c] = pull / total - mean @ move[:, c]
            effective += (ranks - penalties * np.bincount(blocks, np.diag(inverse) * own, n_blocks)).clip(1e-6)
            sizes += np.bincount(blocks, own * (weights[:, c] + move[:, c]) ** 2, n_blocks)
            covariance.append(inverse)
        change = np.concatenate([shift + F @ move for F in parts()])
        length = _step_length(rows, scores, change, weights, move, shrink)
        weights, offset, scores = weights + length * move, offset + length * shift, scores + length * change
        settled = bool(np.abs(effective - before).max() < FREEDOM_CHANGE)
        before = effective
        if is_square:
            rest = max(rows.weight.sum() - float(effective.sum()) / len(offset) - 1, 1.0)
            noise = max(float(rows.weight @ rows.losses(scores)) / rest, 1e-12)
        if choose:
            penalties = (noise * effective / np.maximum(sizes, 1e-300)).clip(
                np.maximum(LEAST, penalties / FALL), np.minimum(LARGEST, penalties * RISE)
            )
            if settled and length * np.abs(change).max() < SCORE_CHANGE:
                break
    return Fit(basis, weights, offset, penalties, before, noise, tuple(noise * each for each in covariance))


def _curvatures(rows: Rows, means: Floats) -> Floats:
    """Return the weights (n, m) of the rows in a Newton step, for classes of each score by itself.

    With more than two classes the scores act on each other; by the factor the steps are exact where all are as likely.
    """
    if rows.n_classes == 0:
        return np.repeat(rows.weight[:, None], means.shape[1], axis=1)
    factor = 1.0 if rows.n_classes == 2 else rows.n_classes / (rows.n_classes - 1)
    return np.maximum(means * (1 - means), 1e-6) * rows.weight[:, None] * factor


def _grams(parts: list[Floats] | Iterator[Floats], curvatures: Floats, p: int) -> tuple[list[Floats], list[Floats], list[float]]:
    """Return centred Gram matrices (p, p), means (p,) and totals of the functions under each score's weights (n,)."""
    m = curvatures.shape[1]
    same = m > 1 and bool((curvatures[:, 1:] == curvatures[:, :1]).all())
    grams, sums = [np.zeros((p, p)) for _ in range(1 if same else m)], np.zeros((p, m))
    at = 0
    for F in parts:
        part = curvatures[at : at + len(F)]
        at += len(F)
        sums += F.T @ part
        for c in range(len(grams)):
            scaled = F * np.sqrt(part[:, c])[:, None]
            grams[c] += scaled.T @ scaled
    totals = curvatures.sum(axis=0)
    means = [sums[:, c] / totals[c] for c in range(m)]
    grams = [grams[0] if same else grams[c] for c in range(m)]
    centred = [grams[c] - totals[c] * np.outer(means[c], means[c]) for c in range(m)]
    for gram in centred:
        gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram)  # functions may depend on each other
    return centred, means, totals.tolist()


def prediction_grams(fit: Fit, rows: Rows) -> list[Floats]:
    """Return, for each score, the matrix (p, p) whose quadratic form is how much a change of weights changes predictions."""
    curvatures = _curvatures(rows, rows.means(fit(rows.X)))
    return _grams(_functions(fit.basis, rows.X), curvatures, len(fit.weights))[0]


def invert(A: Floats) -> Floats:
    """Return the inverse of a positive definite matrix (p, p)."""
    L = np.linalg.cholesky(A)
    inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False, overwrite_b=True)
    return inverse.T @ inverse


def _step_length(rows: Rows, scores: Floats, change: Floats, weights: Floats, move: Floats, shrink: Floats) -> float:
    """Return 1, halved while the penalized loss would grow."""
    if rows.n_classes == 0:
        return 1.0

    def loss(length: float) -> float:
        squares = (shrink[:, None] * (weights + length * move) ** 2).sum()
        return float(rows.weight @ rows.losses(scores + length * change) + squares / 2)

    length, before = 1.0, loss(0.0)
    while length > 1e-2 and loss(length) > before + 1e-9 * abs(before):
        length /= 2
    return length
