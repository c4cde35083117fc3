"""New units of a place, as a growth method computes them: fan-in, fan-out and singular values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from creases.growth.integrations import _ranks as ranks


@dataclass(frozen=True, eq=False)
class NewUnits:
    """New units, strongest first, before their size and sign are chosen."""

    alpha: Tensor  #: (d, k) incoming weights, the bias last; alpha' S alpha = diag(values)
    omega: dict[str, Tensor]  #: by consumer: (out, k, *columns of one unit); orthogonal, of squared norms values
    values: Tensor  #: (k,) singular values lambda
    rank: int  #: number of directions in which the place's inputs vary


def scale_units(units: NewUnits, fan_in: Tensor, fan_out: Tensor) -> NewUnits:
    """Return units with their weights multiplied by factors (k,)."""
    omega = {path: columns * fan_out.reshape(1, -1, *[1] * (columns.ndim - 2)) for path, columns in units.omega.items()}
    return replace(units, alpha=units.alpha * fan_in, omega=omega)


def select_units(units: NewUnits, keep: Tensor) -> NewUnits:
    """Return some of the units, by a mask (k,) or their indices."""
    omega = {path: columns[:, keep] for path, columns in units.omega.items()}
    return replace(units, alpha=units.alpha[:, keep], omega=omega, values=units.values[keep])


def synchronize_units(units: NewUnits) -> NewUnits:
    """Return the first rank's units on every rank, as processors may round differently."""
    if ranks.world_size() == 1:
        return units
    sizes = torch.tensor([len(units.values), units.rank])
    ranks.broadcast([sizes])
    k, rank = map(int, sizes)
    if k != len(units.values):
        omega = {path: part.new_zeros(len(part), k, *part.shape[2:]) for path, part in units.omega.items()}
        units = NewUnits(units.alpha.new_zeros(len(units.alpha), k), omega, units.values.new_zeros(k), rank)
    ranks.broadcast([units.alpha, units.values, *units.omega.values()])
    return replace(units, rank=rank)
