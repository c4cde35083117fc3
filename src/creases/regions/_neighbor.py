"""The region next to a point or a facet: which units tie there, and their sides on leaving it in a direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import ForwardPass, split_sides
from creases.network import Network
from creases.regions._locate import Ray, is_zero
from creases.regions._polytope import Polytope
from creases.regions._tolerance import SIGN_TOLERANCE

Sides = NDArray[np.int16]


def point_ties(net: Network, point: Tensor) -> list[Tensor]:
    """Return the ties at a point (n_in,): for each bend units at zero (*units), or largest candidates (*units, K)."""
    forward = ForwardPass(net, point[None], zero=SIGN_TOLERANCE)
    out: list[Tensor] = []
    while (z := forward.advance()) is not None:
        z, size = z[0], forward.terms[0]
        if net.steps[net.bends[forward.bend]].op == "relu":
            out.append(is_zero(z, size))
        else:
            best, where = z.max(dim=-1, keepdim=True)
            out.append(best - z <= SIGN_TOLERANCE * (size + size.gather(-1, where)))
    return out


def facet_ties(
    net: Network, sides: NDArray[np.integer], units: NDArray[np.integer], across: NDArray[np.integer]
) -> list[Tensor]:
    """Return the ties on a facet, where units (c,) of a region tie between their sides and ``across`` (c,).

    ``sides`` (n_units,) are those of the region; the result is as that of :func:`point_ties`.
    """
    out = []
    for bend, (start, stop) in enumerate(zip(net.unit_starts[:-1], net.unit_starts[1:], strict=True)):
        in_bend = (start <= units) & (units < stop)
        step, K = net.steps[net.bends[bend]], net.candidates[bend]
        tied = np.zeros((stop - start, K), bool)
        tied[units[in_bend] - start, across[in_bend]] = True
        tied[units[in_bend] - start, sides[units[in_bend]]] = True
        relu = step.op == "relu"
        both = torch.from_numpy(tied.any(axis=1) if relu else tied).to(net.device)
        out.append(both.reshape(step.shape if relu else (*step.shape, K)))
    return out


def sides_toward(
    net: Network, sides: NDArray[np.integer], tied: Sequence[Tensor], direction: NDArray[np.float64]
) -> NDArray[np.int16]:
    """Return the sides just beyond a point in a direction: exact, without taking a step.

    A unit that is not tied keeps its side. A tied one takes the side of its derivative along the direction, which
    depends on the new sides of the units before it; a derivative of zero (within the tolerance) means side 0, or the
    first of the candidates that rise the most.

    Parameters
    ----------
    sides
        (n_units,) at the point.
    tied
        For each bend the ties at the point, as :func:`point_ties` returns them.
    direction
        (n_in,)
    """
    ray = Ray(net, torch.as_tensor(direction, dtype=net.dtype, device=net.device))
    old = split_sides(net, sides)
    new: list[Tensor] = []
    while (pair := ray.advance()) is not None:
        i = len(new)
        decide = _relu if net.steps[net.bends[i]].op == "relu" else _choice
        new.append(decide(*pair, old[i], tied[i]))
        ray.pass_bend(new[i])
    return np.concatenate([np.zeros(0, np.int16), *(side.flatten().to(torch.int16).cpu().numpy() for side in new)])


def _relu(dz: Tensor, size: Tensor, old: Tensor, tied: Tensor) -> Tensor:
    return torch.where(tied, (dz > 0) & ~is_zero(dz, size), old)


def _choice(dz: Tensor, size: Tensor, old: Tensor, tied: Tensor) -> Tensor:
    rise = torch.where(tied, dz, -torch.inf)
    best, where = rise.max(dim=-1, keepdim=True)
    steepest = tied & (best - rise <= SIGN_TOLERANCE * (size + size.gather(-1, where)))
    first = steepest.int().argmax(dim=-1)
    return torch.where(tied.sum(dim=-1) > 1, first, old)


def canonical_sides(part: Polytope, sides: NDArray[np.int16]) -> Sides:
    """Return sides in which units that tie on the whole region (a zero row) have the first tied side."""
    rows = zero_rows(part.Q, part.p)
    sides = sides.copy()
    np.minimum.at(sides, part.units[rows], part.across[rows])
    return sides


def zero_rows(Q: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows of ``Q x <= p`` that are ``0 <= 0``: their units tie on the whole region."""
    return np.flatnonzero(~Q.any(axis=1) & (p == 0))
