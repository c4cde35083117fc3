"""TINY's units from a sample: from float32 products where float64 ones confirm them, which takes half the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from creases.grow import ranks
from creases.grow.first_order.entry import rows
from creases.grow.first_order.observe import Seen
from creases.grow.first_order.optimal import Units, agreed, joined, parted, solved
from creases.grow.first_order.products import gram, working
from creases.grow.first_order.reach import Reach
from creases.grow.first_order.slopes import values
from creases.grow.first_order.statistics import Statistics, chunks, features, paired

_OFF = 2e-6  # error of float32 sums, as seen by the units found from them, from which on float64 is taken
_SMALLEST, _LARGEST = 1e-24, 1e24  # mean squares beyond which products leave the range of float32


def best_units(reach: Reach, seen: Sequence[Seen], aims: Sequence[Seen], sums: Statistics, **options: Any) -> Units:
    """The optimal units (:func:`solved`) that go with the goals of ``aims``: V_proj, or V_goal.

    For float32 on a CPU, products b_{l-1} b_{l-1}' and v b_{l-1}' are taken in float32 at first, and only sums are in
    float64. Of the units found, values at all samples are then taken in float64: how far their second moments are from
    what they should be tells how good the sums were in the directions that matter (rounding errors of weak directions
    show as units that are too good to be true). Where that is good enough, the best units within their span are exact
    to second order in the error (Rayleigh-Ritz); otherwise all is done again in float64, ``sums.features`` too.
    """
    dtype = working(aims[0].entering)
    if dtype == torch.float32 and not _in_range(reach, seen, sums):
        exactly(reach, seen, sums)
        dtype = torch.float64
    units = _solved(reach, aims, sums, dtype, options)
    if dtype == torch.float64 or not len(units.values):
        return units
    refined, off = _refined(reach, aims, units, sums.count)
    if off <= _OFF:
        return refined
    exactly(reach, seen, sums)
    return _solved(reach, aims, sums, torch.float64, options)


def exactly(reach: Reach, seen: Sequence[Seen], sums: Statistics) -> None:
    """Take n S anew, with products in float64, where they were not."""
    if working(seen[0].entering) == torch.float32:
        sums.features.copy_(features(reach, seen))


def _solved(
    reach: Reach, aims: Sequence[Seen], sums: Statistics, dtype: torch.dtype, options: dict[str, Any]
) -> Units:
    pairs = {path: part / sums.count for path, part in paired(reach, aims, dtype).items()}
    return agreed(solved(sums.features / sums.count, pairs, **options))


def _refined(reach: Reach, aims: Sequence[Seen], units: Units, n: Tensor) -> tuple[Units, float]:
    """The best units within the span of those found, and by how much the moments of those found are off."""
    a = units.alpha / units.values.sqrt()  # a' S a should be 1, and a' N the rows of lambda v'
    square = a.new_zeros(len(a.T), len(a.T))
    pairs = {path: torch.zeros_like(columns) for path, columns in units.omega.items()}
    for batch in aims:
        for part in chunks(reach, batch):
            z = values(reach, batch.entering[part], a)
            square += gram(rows(z))
            for entry in reach.entries:
                path = entry.link.path
                pairs[path] += entry.paired(reach.linear(z), entry.goals(batch.goals[path][part]))
    ranks.total([square, *pairs.values()])
    square, moments = square / n, joined(pairs) / n
    error = joined(units.omega) * units.values.sqrt()[:, None] - moments
    off = max(float((square - torch.eye(len(square)).to(square)).abs().max()), float(error.abs().max() / units.values[0]))
    root, failed = torch.linalg.cholesky_ex(square)
    if int(failed) or not off <= _OFF:
        return units, float("inf")
    u, lambdas, vh = torch.linalg.svd(torch.linalg.solve_triangular(root, moments, upper=False), full_matrices=False)
    size = lambdas.sqrt()
    alpha = (a @ torch.linalg.solve_triangular(root.T, u, upper=True)) * size
    return replace(units, alpha=alpha, omega=parted(vh * size[:, None], pairs), values=lambdas), off


def _in_range(reach: Reach, seen: Sequence[Seen], sums: Statistics) -> bool:
    """Whether float32 products are far from overflow, and from underflow but for inputs that are always 0."""
    squares = sums.features.diagonal() / sums.count
    weak = squares < _SMALLEST
    if not bool((squares < _LARGEST).all()) or not _SMALLEST < sums.mean_goal < _LARGEST:
        return False
    lost = torch.zeros((), dtype=torch.float64)
    if bool(weak.any()):
        parts = (reach.features(one.entering[at], torch.float32) for one in seen for at in chunks(reach, one))
        lost += any(bool(part[:, weak].any()) for part in parts)
    ranks.total([lost])
    return not bool(lost)
