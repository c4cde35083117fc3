"""Units that grow one fold at a time on what the other stages leave, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import Reason
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows
from creases.tables._stages.units import UnitBasis, spread_inputs, unit_knots

if TYPE_CHECKING:
    from creases.growth import GrownUnits

#: Rows that units grow on at least and at most.
LEAST_ROWS, MOST_ROWS = 100, 5_000

#: Units of the trial that shows whether folds pay: one alone often does not, where two do.
TRIAL_UNITS = 2

#: A unit does not read inputs whose weights, times their deviations, are below this share of its largest.
SMALL_SHARE = 0.05


def grow_units_of_folds(
    rows: Rows, folds: Sequence[tuple[Rows, Rows]], fits: Sequence[Fit], inputs: Inputs
) -> tuple[list[UnitBasis], list[UnitBasis]] | None:
    """Return units beside the fit of each fold, as trained without its held-out rows, and as trained on all rows.

    They grow on what the fits leave of rows that these have not seen, and read columns as they are, not spread evenly,
    so that creases can be told in the units of the columns. None if the first few do not pay.
    """
    curves = fits[0].basis.curves
    knots = tuple(each[[0, -1]] if len(each) > 1 else each for each in unit_knots(rows.X, rows.copies, curves, inputs))
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

    def beside(fit: Fit, weights: Floats, biases: Floats) -> UnitBasis:
        return UnitBasis.from_rows(rows.X, rows.weight, fit.basis, knots, weights, biases, reasons)

    own = [beside(fit, *read_columns(*units)) for fit, units in zip(fits, grown.without, strict=True)]
    return own, [beside(fit, weights, biases) for fit in fits]


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
        scores = np.concatenate([fits[max(k, 0)](part.X) for k, part in parts])
        fold = np.repeat([k for k, _ in parts], [len(part) for _, part in parts])
        rows = Rows(n_classes=folds[0][0].n_classes, **dict(zip(names, stacked, strict=True)))
        return cls(rows, scores, fold, len(folds))

    def draw(self, count: int) -> _Rest:
        """Return so many of the rows, drawn at random; all if there are fewer."""
        chosen = np.sort(np.random.default_rng(0).permutation(len(self.rows))[:count])
        return _Rest(self.rows[chosen], self.scores[chosen], self.fold[chosen], self.n_folds)

    def pays(self, knots: tuple[Floats, ...], used: Bools) -> bool:
        """Return whether held-out rows confirm the first units."""
        return len(self.grow(knots, used, TRIAL_UNITS).b) > 0

    def grow(self, knots: tuple[Floats, ...], used: Bools, max_units: int | None = None) -> GrownUnits:
        """Grow units of some of the inputs; the first fold judges them."""
        from creases.growth import grow_units  # imports torch

        is_class = self.rows.n_classes > 0
        folds = [np.flatnonzero(self.fold == k) for k in range(self.n_folds)]
        return grow_units(
            spread_inputs(self.rows.X, knots)[:, used],
            self.rows.y[:, 0].astype(np.int64) if is_class else self.rows.y,
            task="classification" if is_class else "regression",
            offset=self.scores,
            weight=self.rows.weight,
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
