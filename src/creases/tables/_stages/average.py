"""The mean of fits of folds: the mean of curves is a curve, the mean of planes a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.tables._stages.basis import Basis
from creases.tables._stages.pairs import PairHinges, PlaneBasis
from creases.tables._stages.penalized import Fit
from creases.tables._stages.units import UnitBasis


def average_fits(fits: Sequence[Fit], max_planes: int) -> Fit:
    """Return the mean of fits with the same curves, whose planes and units may differ.

    The planes that say most are kept, and the units of all fits, those that the fits share once. Standard errors are
    the mean of those of the fits.
    """
    curves = fits[0].basis.curves
    p, n_blocks = len(curves.penalty), int(curves.blocks.max()) + 1
    weights = [np.mean([fit.weights[:p] for fit in fits], axis=0)]
    effective = np.mean([fit.effective[:n_blocks] for fit in fits], axis=0)
    basis: Basis = curves
    planes = _planes(fits)
    if planes:
        chosen = sorted(planes.values(), key=lambda each: -float(np.square(each.weights).sum()))[:max_planes]
        basis = PlaneBasis(
            curves,
            tuple(each.pair for each in chosen),
            tuple(each.source.margins[each.place] for each in chosen),
            tuple(each.source.offsets[each.place] for each in chosen),
            tuple(each.source.scales[each.place] for each in chosen),
        )
        weights += [each.weights / len(fits) for each in chosen]
        effective = np.append(effective, [each.effective / len(fits) for each in chosen])
    units = [(each, fit) for fit in fits if isinstance(each := fit.basis, UnitBasis)]
    own = [fit.weights[-len(each.biases) :] / len(fits) for each, fit in units]
    if units and all(each.weights is units[0][0].weights for each, _ in units):  # the same units in all folds
        basis = replace(units[0][0], base=basis)
        own = [np.sum(own, axis=0)]
    elif units:
        names = ("weights", "biases", "mean", "deviation")
        arrays: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each, _ in units]) for name in names}
        basis = UnitBasis(basis, units[0][0].knots, **arrays)  # units that were trained together have no reasons
    if units:
        weights += own
        effective = np.append(effective, np.mean([fit.effective[-1] for fit in fits]))
    return Fit(
        basis,
        np.concatenate(weights),
        np.mean([fit.offset for fit in fits], axis=0),
        np.ones(len(effective)),
        effective,
        float(np.mean([fit.noise for fit in fits])),
        tuple(np.mean([fit.covariance[c][:p, :p] for fit in fits], axis=0) for c in range(len(fits[0].offset))),
    )


class _MeanPlane:
    """What all fits say of a pair: sums of the weights (h, m) of its hinges and of effective parameters."""

    def __init__(self, source: PlaneBasis, place: int, m: int) -> None:
        self.source, self.place, self.pair = source, place, source.pairs[place]
        self.weights: Floats = np.zeros((len(self.pair.first), m))
        self.effective = 0.0


def _planes(fits: Sequence[Fit]) -> dict[PairHinges, _MeanPlane]:
    result: dict[PairHinges, _MeanPlane] = {}
    for fit in fits:
        basis = fit.basis.base if isinstance(fit.basis, UnitBasis) else fit.basis
        if isinstance(basis, PlaneBasis):
            at, block = len(basis.curves.penalty), int(basis.curves.blocks.max()) + 1
            for k, pair in enumerate(basis.pairs):
                plane = result.setdefault(pair, _MeanPlane(basis, k, fit.weights.shape[1]))
                plane.weights += fit.weights[at : at + len(pair.first)]
                plane.effective += float(fit.effective[block + k])
                at += len(pair.first)
    return result
