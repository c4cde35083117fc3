"""The fewest bends that leave a model's predictions within its own standard error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._stages.basis import CurveBasis
from creases.tables._stages.knots import round_knots
from creases.tables._stages.pairs import Purifier
from creases.tables._stages.penalized import Basis, Fit, invert, prediction_forms
from creases.tables._stages.rows import Rows

#: Effective parameters of a block that is as good as none.
NEGLIGIBLE = 0.02

#: Lines above which those without an effect are left out early.
MANY_LINES = 100

#: By how much leaving out bends may change the predictions, in multiples of their variance.
TOLERANCE = 0.03


def eliminate(fit: Fit, rows: Rows) -> Bools:
    """Return which functions (p,) of a fit remain.

    They go one by one, each time the one without which the other functions can keep the predictions best (backward
    elimination in the norm of the predictions), while these change in all by less than a fraction, ``TOLERANCE``, of
    their own variance. The line of a number goes if none of its bends, and no plane that reads it, is left; one stays.
    """
    mask = _live_functions(fit.basis, fit.effective)
    chosen = np.flatnonzero(mask)
    inverses = np.stack([invert(gram[np.ix_(chosen, chosen)]) for gram in prediction_forms(fit, rows)])  # (m, q, q)
    variances = np.einsum("mpp->mp", inverses).copy()
    weights = fit.weights[chosen].T.copy()  # (m, q)
    kept = np.ones(len(chosen), bool)
    needs = _needed_lines(fit.basis, chosen)
    readers = needs.sum(axis=0)  # that are kept
    is_line = chosen < len(fit.basis.curves.lines)
    left = TOLERANCE * fit.noise * fit.freedom
    gone = np.empty_like(inverses)  # (m, k, q) what the k functions that went have taken from the inverses: products
    for k in range(len(chosen)):
        is_last = is_line & ((kept & is_line).sum() == 1)  # a basis has a line
        can_go = np.flatnonzero(kept & ~is_last & (readers == 0))
        if not len(can_go):
            break
        costs = (weights[:, can_go] ** 2 / variances[:, can_go].clip(1e-300)).sum(axis=0)
        least = int(can_go[costs.argmin()])
        left -= float(costs.min())
        if left < 0:
            break
        column = inverses[:, least] - (gone[:, None, :k, least] @ gone[:, :k])[:, 0]
        pivot = column[:, least, None].clip(1e-300)
        weights -= column * (weights[:, least, None] / pivot)
        gone[:, k] = column / np.sqrt(pivot)
        variances -= gone[:, k] ** 2
        kept[least] = False
        readers -= needs[least]
    mask[chosen] = kept
    return mask


def _needed_lines(basis: Basis, chosen: Ints) -> Bools:
    """Return whether each of the chosen functions (q, q), by row, needs each other: the lines of what it reads.

    Levels of a category stay together: each needs itself. Bends of a circle do not need its line, which bends too.
    """
    curves = basis.curves
    is_round = curves.is_circle[curves.feature] & (np.arange(len(curves.feature)) >= len(curves.lines))
    readers = [np.array([] if rounded else [j], np.int64) for j, rounded in zip(curves.feature, is_round, strict=True)]
    for plane in basis.planes:
        readers += [curves.with_gaps(plane.hinges.features)] * len(plane)
    readers += [np.zeros(0, np.int64)] * (len(basis.penalty) - len(readers))
    line = np.where(chosen < len(curves.lines), curves.lines[np.minimum(chosen, len(curves.lines) - 1)], -1)
    needs = np.stack([np.isin(line, readers[k]) for k in chosen.tolist()])
    is_alone = (line >= 0) & (curves.groups[line] < 0)
    needs[is_alone, is_alone] = False
    return needs


def _live_functions(basis: Basis, effective: Floats) -> Bools:
    """Return which functions (p,) have an effect, by the effective parameters of their blocks.

    The lines of a feature that bends or that a plane reads stay, and at least one line.
    """
    mask = effective[basis.blocks] > NEGLIGIBLE
    curves, n_lines = basis.curves, len(basis.curves.lines)
    read = [curves.feature_of_bend[mask[n_lines : len(curves.penalty)]]]
    for plane, place in zip(basis.planes, basis.places, strict=False):
        read += [curves.with_gaps(plane.hinges.features)] if mask[place].any() else []
    mask[:n_lines] |= np.isin(curves.lines, np.concatenate(read))
    if not mask[:n_lines].any():
        mask[effective[basis.blocks[:n_lines]].argmax()] = True
    return mask


def drop_idle_functions(fits: Sequence[Fit], rows: Rows) -> list[Fit]:
    """Return fits of the same curves without the bends of features whose curves are straight in all of them.

    Of very many lines, those without an effect in any of them go too.
    """
    basis, n_lines = fits[0].basis, len(fits[0].basis.curves.lines)
    live = _live_functions(basis, np.max([fit.effective for fit in fits], axis=0))
    live[:n_lines] |= n_lines <= MANY_LINES
    kept = np.flatnonzero(live)
    few = Basis(_select_curves(basis.curves, rows, live, keep_knots=True))
    blocks = np.unique(basis.blocks[kept])
    return [
        replace(
            fit,
            basis=few,
            weights=fit.weights[kept],
            penalties=fit.penalties[blocks],
            effective=fit.effective[blocks],
            covariance=tuple(each[np.ix_(kept, kept)] for each in fit.covariance),
        )
        for fit in fits
    ]


def _select_curves(curves: CurveBasis, rows: Rows, mask: Bools, *, keep_knots: bool = False) -> CurveBasis:
    """Return the lines, hinges and ramps of a mask (p,), knots at round numbers unless they are kept as they are."""
    n_lines = len(curves.lines)
    bends, n_hinges = mask[n_lines : len(curves.penalty)], curves.n_hinges
    features, knots, ramps = curves.feature_of_bend, [], {}
    for j, dense in enumerate(curves.knots):
        inner = dense[1:-1][bends[:n_hinges][features[:n_hinges] == j]]
        inner = inner if keep_knots else round_knots(inner, dense)
        knots.append(np.concatenate([dense[:1], inner, dense[-1:]]))
        ramps[j] = curves.ramps[j][bends[n_hinges:][features[n_hinges:] == j]]
    lines = curves.lines[mask[:n_lines]]
    options: dict[str, Any] = {"ramps": ramps, "lines": lines, "is_circle": curves.is_circle, "gaps": curves.gaps}
    return CurveBasis.from_rows(rows.X, rows.weight, knots, curves.groups, **options)


def select_functions(basis: Basis, rows: Rows, mask: Bools) -> Basis:
    """Return the functions of a mask (p,) as a basis, knots at round numbers."""
    few = _select_curves(basis.curves, rows, mask)
    chosen = [np.flatnonzero(mask[place]) for place in basis.places]
    pairs = [plane.hinges.select(kept) for plane, kept in zip(basis.planes, chosen, strict=False) if len(kept)]
    units = basis.units.select(chosen[-1]) if basis.units and len(chosen[-1]) else None
    return Basis(few, tuple(map(Purifier(rows, few), pairs)), units)
