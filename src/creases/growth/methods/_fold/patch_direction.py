"""Filters with creases through given patches: directions along which the loss falls most, orthogonal to each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from creases.growth.methods._first_order.consumer import as_rows, convolve
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._fold.patches import Patch

#: Added to the patches' covariance, relative to its mean diagonal, as :class:`creases.growth.methods.Tiny` does.
RIDGE = 0.1

#: Rounds in which the incoming weights follow the outgoing ones and these the incoming ones.
ROUNDS = 2

#: Samples, and patches of them, from which the covariance is estimated.
SAMPLES, PATCHES = 128, 8192

#: Part of a direction's length that must be left beside the other filters.
LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class PatchMoments:
    """Mean and covariance of a layer's patches."""

    mean: Tensor  #: (d,)
    covariance: Tensor  #: (d, d)
    factor: Tensor  #: (d, d) Cholesky factor of the covariance with its ridge

    @classmethod
    def from_observations(cls, route: Route, observations: Sequence[Observation]) -> PatchMoments:
        """Estimate the moments from some patches of some samples."""
        rows, left = list[Tensor](), SAMPLES
        for batch in observations:
            some = as_rows(route.inputs(batch.layer_input[:left]))
            rows.append(some[:: max(1, len(some) * SAMPLES // (PATCHES * max(len(batch.layer_input[:left]), 1)))])
            left -= len(batch.layer_input[:left])
            if not left:
                break
        patches = torch.cat(rows)
        mean = patches.mean(0)
        centered = patches - mean
        covariance = centered.T @ centered / len(patches)
        size = float(covariance.diagonal().mean()) or 1.0
        ridge = RIDGE * size * torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
        return cls(mean, covariance, torch.linalg.cholesky(covariance + ridge))

    def solve(self, rows: Tensor, offset: Tensor) -> Tensor:
        """Return ``S^-1 rows`` (k, d): S are the second moments around ``mean - offset`` (k, d), and the ridge."""
        plain, shifted = (torch.cholesky_solve(part.T, self.factor).T for part in (rows, offset))
        return plain - shifted * ((offset * plain).sum(1) / (1 + (offset * shifted).sum(1)))[:, None]

    def lengths(self, rows: Tensor, offset: Tensor) -> Tensor:
        """Return the lengths (k,) of directions in the metric S of :meth:`solve`."""
        return ((rows @ self.factor).square().sum(1) + (offset * rows).sum(1).square()).sqrt()


@dataclass(frozen=True, eq=False)
class PatchFilters:
    """Filters with creases through points, and their outgoing weights."""

    rows: Tensor  #: (k, d) incoming weights
    points: Tensor  #: (k, d) patches that the creases pass through
    columns: dict[str, Tensor]  #: by consumer (out, k, *columns of one unit), of length 1 over all consumers
    gains: Tensor  #: (k,) fall of the mean loss to first order

    def select(self, keep: Tensor) -> PatchFilters:
        """Return some of the filters, by their numbers or a mask."""
        columns = {path: part[:, keep] for path, part in self.columns.items()}
        return PatchFilters(self.rows[keep], self.points[keep], columns, self.gains[keep])

    def scale(self, fan_in: Tensor, fan_out: float) -> PatchFilters:
        """Return filters with incoming weights multiplied by factors (k,), outgoing ones by one factor."""
        columns = {path: fan_out * part for path, part in self.columns.items()}
        return PatchFilters(self.rows * fan_in[:, None], self.points, columns, self.gains * fan_in * fan_out)


def fold_directions(
    route: Route, observations: Sequence[Observation], moments: PatchMoments, patches: Sequence[Patch]
) -> tuple[PatchFilters, Tensor]:
    """Return filters with creases through patches, the largest gain first; and the number of each one's patch.

    Incoming weights are along the gradient of the gain in the metric of the patches' second moments, from the outgoing
    weights that the loss asks for at the patch; then each side follows the other. The pre-activations of the filters
    are made uncorrelated, as TINY's are, with the creases still through their patches.
    """
    points = torch.stack([patch.values for patch in patches])
    offset = moments.mean - points
    columns = _unit_length({path: _stack(patches, path) for path in patches[0].columns})
    filters = PatchFilters(torch.zeros_like(points), points, columns, points.new_zeros(len(points)))
    rows, _ = _gradients(route, observations, filters, _identity)
    filters = _better_sign(route, observations, replace(filters, rows=_normal(moments, rows, offset)))
    for _ in range(ROUNDS):
        rows, columns = _gradients(route, observations, filters, route.bend)
        rows = torch.where(rows.any(1, keepdim=True), _normal(moments, rows, offset), filters.rows)
        filters = replace(filters, rows=rows, columns=_unit_length(columns))
    order = _lengths(columns).argsort(descending=True, stable=True)
    filters, order = _make_orthogonal(moments, filters.select(order), order)
    columns = _gradients(route, observations, filters, route.bend)[1]
    filters = replace(filters, columns=_unit_length(columns), gains=_lengths(columns))
    useful = filters.gains > 1e-9 * filters.gains.max().clamp_min(1e-300)
    return filters.select(useful), order[useful]


def filter_shape(route: Route, rows: Tensor) -> Tensor:
    """Return rows (k, d) in the shape of the layer's weights."""
    weight = route.producer.weight
    assert isinstance(weight, Tensor)
    return rows.reshape(len(rows), *weight.shape[1:])


def pre_activations(route: Route, layer_input: Tensor, filters: PatchFilters) -> Tensor:
    """Return pre-activations (n, k, *positions) of filters, in the dtype of the layer's input."""
    rows = filters.rows.to(layer_input.dtype)
    if isinstance(route.producer, nn.Linear):
        z = torch.einsum("nd...,kd->nk...", route.inputs(layer_input, layer_input.dtype), rows)
    else:
        z = convolve(route.producer, layer_input, filter_shape(route, rows))
    crease = (filters.rows * filters.points).sum(1).to(z.dtype)
    return z - crease.reshape(-1, *[1] * (z.ndim - 2))


def _gradients(
    route: Route, observations: Sequence[Observation], filters: PatchFilters, bend: Callable[[Tensor], Tensor]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the gradient of the gain by incoming (k, d) and outgoing weights, with creases held at their points."""
    rows = torch.zeros_like(filters.rows)
    columns = {path: torch.zeros_like(part) for path, part in filters.columns.items()}
    for batch in observations:
        dtype = batch.layer_input.dtype
        with torch.enable_grad():
            inside = filters.rows.detach().requires_grad_()
            outside = {path: part.to(dtype).detach().requires_grad_() for path, part in filters.columns.items()}
            arrived = route.propagate(pre_activations(route, batch.layer_input, replace(filters, rows=inside)), bend)
            gain = torch.zeros((), dtype=dtype, device=arrived.device)
            for consumer in route.consumers:
                goals = consumer.goals(batch.goals[consumer.link.path], dtype)
                change = consumer.response(arrived, outside[consumer.link.path])
                gain = gain + (goals * change.reshape(goals.shape)).sum()
            first, *others = torch.autograd.grad(gain, [inside, *outside.values()])
        rows += first
        for path, part in zip(outside, others, strict=True):
            columns[path] += part
    return rows, columns


def _better_sign(route: Route, observations: Sequence[Observation], filters: PatchFilters) -> PatchFilters:
    """Return filters with the better of their two signs: a bend treats the sides of a crease differently."""
    sides = [filters, replace(filters, rows=-filters.rows)]
    gains = [_lengths(_gradients(route, observations, side, route.bend)[1]) for side in sides]
    sign = torch.where(gains[0] >= gains[1], 1.0, -1.0).to(filters.rows)
    columns = {path: part * sign.reshape(1, -1, *[1] * (part.ndim - 2)) for path, part in filters.columns.items()}
    return replace(filters, rows=sign[:, None] * filters.rows, columns=columns)


def _make_orthogonal(moments: PatchMoments, filters: PatchFilters, order: Tensor) -> tuple[PatchFilters, Tensor]:
    """Return filters whose pre-activations are uncorrelated (E[z_i z_j] = 0), each with its crease where it was.

    A filter of which the stronger ones leave next to nothing is dropped.
    """
    offset = moments.mean - filters.points
    kept, out = list[int](), list[Tensor]()
    for k, row in enumerate(filters.rows):
        here = offset[k : k + 1]
        if out:
            rows, there = torch.stack(out), offset[kept]
            conditions = rows @ moments.covariance + (there * rows).sum(1, keepdim=True) * here  # c_j . row = 0
            solved = moments.solve(conditions, here.expand_as(conditions))
            row = row - torch.linalg.pinv(solved @ conditions.T, hermitian=True) @ (conditions @ row) @ solved
        length = float(moments.lengths(row[None], here))
        if length > LEAST:
            kept.append(k)
            out.append(row / length)
    index = torch.tensor(kept, dtype=torch.int64, device=order.device)
    return replace(filters.select(index), rows=torch.stack(out)), order[index]


def _normal(moments: PatchMoments, gradient: Tensor, offset: Tensor) -> Tensor:
    """Return the directions of steepest ascent, of length 1, in the metric of the patches' second moments."""
    rows = moments.solve(gradient, offset)
    return rows / moments.lengths(rows, offset).clamp_min(torch.finfo(torch.float64).tiny)[:, None]


def _stack(patches: Sequence[Patch], path: str) -> Tensor:
    return torch.stack([patch.columns[path] for patch in patches], 1)


def _lengths(columns: dict[str, Tensor]) -> Tensor:
    """Return the lengths (k,) of outgoing weights over all consumers."""
    return sum((part.movedim(1, 0).flatten(1).square().sum(1) for part in columns.values()), torch.zeros(())).sqrt()


def _unit_length(columns: dict[str, Tensor]) -> dict[str, Tensor]:
    size = _lengths(columns).clamp_min(torch.finfo(torch.float64).tiny)
    return {path: part / size.reshape(1, -1, *[1] * (part.ndim - 2)) for path, part in columns.items()}


def _identity(z: Tensor) -> Tensor:
    return z
