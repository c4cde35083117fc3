"""Hidden units for what curves and planes leave: trained together, or grown one fold at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bools, Floats, Ints
from creases.tables._stages.basis import CurveBasis, HiddenUnits, Reason, spread_inputs
from creases.tables._stages.families import Family
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.knots import spread_knots
from creases.tables._stages.penalized import Basis, Fit
from creases.tables._stages.rows import Rows

if TYPE_CHECKING:
    from creases.growth import GrownUnits


def unit_knots(rows: Rows, curves: CurveBasis, inputs: Inputs) -> tuple[Floats, ...]:
    """Return the knots of each input's transform: spread evenly by a few pieces if it is a number."""
    return tuple(
        spread_knots(rows.X[:, j], rows.copies, curves.knots[j]) if numeric else np.zeros(1)
        for j, numeric in enumerate(inputs.is_numeric)
    )


Singles = NDArray[Any]  #: float32: training needs no more, and takes half the time

#: Rows for each trained unit, and units at least and at most.
ROWS_PER_UNIT, LEAST_UNITS, MOST_UNITS = 50, 8, 128

#: Epochs of training, steps in all at most, rows in each at most, the first rate, and the decay of weights.
EPOCHS, STEPS, BATCH, RATE, DECAY = 60, 4_000, 256, 5e-3, 1e-2


def train_units(rows: Rows, fit: Fit, knots: tuple[Floats, ...], inputs: Inputs, seed: int) -> tuple[Floats, Floats]:
    """Return weights (h, d) and biases (h,) of units, trained on what a fit leaves in rows.

    They start at random and are trained with their outputs by Adam, with a rate that falls to 0 like a cosine.
    """
    rng = np.random.default_rng(seed)
    own = np.flatnonzero(inputs.may_mix)
    U = spread_inputs(rows.X[:, own], [knots[j] for j in own.tolist()])
    varies = U.std(axis=0) > 1e-9
    own, U = own[varies], U[:, varies]
    mean, deviation = U.mean(axis=0), U.std(axis=0)
    Z = ((U - mean) / deviation).astype(np.float32)
    offset = rows.whole(fit(rows)).astype(np.float32)
    n_units = int(np.clip(len(rows) // ROWS_PER_UNIT, LEAST_UNITS, MOST_UNITS))
    d, m = Z.shape[1], offset.shape[1]
    W = rng.normal(size=(d, n_units)) * (2 / max(d, 1)) ** 0.5
    start = [W, np.zeros((n_units, m)), rng.normal(size=n_units) * 0.5, np.zeros(m)]
    whole = np.concatenate([each.ravel() for each in start]).astype(np.float32)
    ends = np.cumsum([each.size for each in start]).tolist()
    parts = zip(np.split(whole, ends[:-1]), start, strict=True)
    parameters: list[Singles] = [part.reshape(each.shape) for part, each in parts]  # which change with the whole
    optimizer = _Adam(whole, ends[1])
    y, weight = rows.y.astype(np.float32), rows.weight.astype(np.float32)[:, None]
    batch = min(BATCH, max(len(rows) // 8, 16))
    n_steps = min(EPOCHS * len(rows) // batch, STEPS)
    order, at = rng.permutation(len(rows)), 0
    for step in range(n_steps):
        if at + batch > len(order):
            order, at = rng.permutation(len(rows)), 0
        part = order[at : at + batch]
        at += batch
        gradients = _gradients(parameters, Z[part], offset[part], y[part], weight[part], rows.family)
        optimizer.step(np.concatenate([each.ravel() for each in gradients]), step / n_steps)
    weights = np.zeros((n_units, len(knots)))
    weights[:, own] = parameters[0].T.astype(np.float64) / deviation
    return weights, parameters[2].astype(np.float64) - weights[:, own] @ mean


def _gradients(
    parameters: list[Singles], Z: Singles, offset: Singles, y: Singles, weight: Singles, family: Family
) -> list[Singles]:
    W, V, b, c = parameters
    hidden = Z @ W
    hidden += b
    np.maximum(hidden, 0.0, out=hidden)
    error = -family.pulls(y, offset + hidden @ V + c).astype(np.float32) * weight / len(Z)
    back = error * V[:, 0] if V.shape[1] == 1 else error @ V.T  # the same, and a product of matrices is slow for one
    back *= hidden > 0
    return [Z.T @ back, hidden.T @ error, back.sum(axis=0), error.sum(axis=0)]


class _Adam:
    """Adam with decoupled decay of the first parameters, those of matrices (Loshchilov, Hutter 2019)."""

    def __init__(self, parameters: Singles, n_decaying: int) -> None:
        self._weights, self._decaying = parameters, parameters[:n_decaying]
        self._mean, self._square = np.zeros_like(parameters), np.zeros_like(parameters)
        self._count = 0

    def step(self, gradient: Singles, progress: float) -> None:
        """Take a step at a fraction of the training."""
        self._count += 1
        rate = RATE * (1 + np.cos(np.pi * progress)) / 2
        scale = rate * (1 - 0.999**self._count) ** 0.5 / (1 - 0.9**self._count)
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient * gradient - self._square)
        self._decaying *= 1 - rate * DECAY
        self._weights -= scale * self._mean / (np.sqrt(self._square) + 1e-8)


# Units that grow one fold at a time on what the other stages leave, each with its reason.

#: Rows that units grow on at least and at most.
LEAST_ROWS, MOST_ROWS = 100, 5_000

#: Units of the trial that shows whether folds pay: one alone often does not, where two do.
TRIAL_UNITS = 2

#: A unit does not read inputs whose weights, times their deviations, are below this share of its largest.
SMALL_SHARE = 0.05


def grow_units_of_folds(
    rows: Rows, folds: Sequence[tuple[Rows, Rows]], fits: Sequence[Fit], inputs: Inputs
) -> tuple[list[Basis], list[Basis]] | None:
    """Return units beside the fit of each fold, as trained without its held-out rows, and as trained on all rows.

    They grow on what the fits leave of rows that these have not seen, and read columns as they are, not spread evenly,
    so that creases can be told in the units of the columns. None if the first few do not pay.
    """
    curves = fits[0].basis.curves
    knots = tuple(each[[0, -1]] if len(each) > 1 else each for each in unit_knots(rows, curves, inputs))
    rest = _Rest.from_folds(folds, fits).draw(MOST_ROWS)
    used = inputs.may_mix & (np.ptp(rest.rows.X, axis=0) > 0)
    if len(rest.rows) < LEAST_ROWS or used.sum() < 2 or not rest.pays(knots, used):
        return None
    grown = rest.grow(knots, used)
    if not len(grown.b):
        return None
    U = spread_inputs(rest.rows.X, knots)
    size = np.abs(grown.W) * U[:, used].std(axis=0)
    is_small = size < SMALL_SHARE * size.max(axis=1, keepdims=True)

    def read_columns(W: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return units of all inputs; those that a unit does not read are at their means for it."""
        weights = np.zeros((len(b), U.shape[1]))
        weights[:, used] = np.where(is_small, 0.0, W)
        return weights, b + np.where(is_small, W, 0.0) @ U[:, used].mean(axis=0)

    weights, biases = read_columns(grown.W, grown.b)
    reasons = tuple(
        _reason(explanation, rest.rows, U @ w + b)
        for explanation, w, b in zip(grown.reasons, weights, biases, strict=True)
    )

    own = [HiddenUnits.from_rows(rows, knots, *read_columns(*units), reasons) for units in grown.without]
    shared = HiddenUnits.from_rows(rows, knots, weights, biases, reasons)
    pairs = zip(fits, own, strict=True)
    return [replace(fit.basis, units=units) for fit, units in pairs], [replace(fit.basis, units=shared) for fit in fits]


@dataclass(frozen=True, eq=False)
class _Rest:
    """Rows and what fits predict for them; those that are held out by a fold, by the fit of this fold."""

    rows: Rows
    scores: Floats  #: (n, m)
    fold: Ints  #: (n,) the fold that holds a row out; -1 where none does
    n_folds: int

    @classmethod
    def from_folds(cls, folds: Sequence[tuple[Rows, Rows]], fits: Sequence[Fit]) -> _Rest:
        """Return the held-out rows of all folds, or all rows where there is only one."""
        parts = [(k, out) for k, (_, out) in enumerate(folds)] + [(-1, folds[0][0])] * (len(folds) == 1)
        names = ("X", "y", "weight", "copies", "numbers")
        arrays = [[getattr(part, name) for _, part in parts] for name in names]
        stacked: list[Any] = [None if each[0] is None else np.concatenate(each) for each in arrays]
        scores = np.concatenate([part.whole(fits[max(k, 0)](part)) for k, part in parts]).round(9)  # growth has ties
        fold = np.repeat([k for k, _ in parts], [len(part) for _, part in parts])
        rows = Rows(family=folds[0][0].family, **dict(zip(names, stacked, strict=True)))
        return cls(rows, scores, fold, len(folds))

    def draw(self, count: int) -> _Rest:
        """Return so many of the rows, drawn at random; all if there are fewer."""
        chosen = np.sort(np.random.default_rng(0).permutation(len(self.rows))[:count])
        return _Rest(self.rows[chosen], self.scores[chosen], self.fold[chosen], self.n_folds)

    def pays(self, knots: tuple[Floats, ...], used: Bools) -> bool:
        """Return whether held-out rows confirm the first units."""
        return len(self.grow(knots, used, TRIAL_UNITS).b) > 0

    def grow(self, knots: tuple[Floats, ...], used: Bools, max_units: int | None = None) -> GrownUnits:
        """Grow units of some of the inputs; the first fold judges them.

        Numbers of other families than the normal one are those of a Newton step: scores that rows would have, with
        weights that their losses have there.
        """
        from creases.growth import grow_units  # imports torch

        is_class = self.rows.n_classes > 0
        curvatures = self.rows.family.curvatures(self.rows.y, self.scores)
        y, weight = self.rows.y, self.rows.weight
        if not is_class and not self.rows.family.is_quadratic:
            y, weight = self.scores + self.rows.pulls(self.scores) / curvatures, weight * curvatures.mean(axis=1)
        folds = [np.flatnonzero(self.fold == k) for k in range(self.n_folds)]
        return grow_units(
            spread_inputs(self.rows.X, knots)[:, used],
            y[:, 0].astype(np.int64) if is_class else y,
            task="classification" if is_class else "regression",
            offset=self.scores,
            weight=weight,
            held=folds[0],
            folds=folds,
            max_units=max_units,
        )


def _reason(explanation: Mapping[str, Any], rows: Rows, side: Floats) -> Reason:
    """Return the reason of a unit whose relu has the input ``side`` (n,) at the rows that it grew on."""
    why = explanation["why"]
    typical, alike = why["instance"], np.array(why["cluster"]["alike"])
    count = len(alike) if rows.numbers is None else len(np.unique(rows.numbers[alike]))
    return Reason(
        row=None if rows.numbers is None else int(rows.numbers[typical]),
        count=count,
        errors=() if rows.n_classes else tuple(-each for each in why["cluster"]["mean_residual"]),
        classes=(why["predicted"], why["true"]) if rows.n_classes else None,
        side=float(side[typical]),
    )
