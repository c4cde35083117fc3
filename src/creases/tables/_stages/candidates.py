"""Fits of every stage on folds, and their losses on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from creases._typing import Floats
from creases.tables._stages.basis import Basis
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows


@dataclass(frozen=True, eq=False)
class Candidate:
    """A stage fitted to each fold."""

    stage: str  #: "linear", "curves", "3 planes", ...
    fits: tuple[Fit, ...]  #: of each fold
    losses: Floats  #: (n,) of the held-out rows of all folds
    bases: tuple[Basis, ...] = ()  #: of each fold, for the model, where fits are judged with units of their own

    @classmethod
    def from_fits(cls, stage: str, fits: Sequence[Fit], held: Sequence[Rows], bases: Sequence[Basis] = ()) -> Candidate:
        """Judge fits by the rows that their folds hold out."""
        losses = [out.losses(fit(out.X)) for fit, out in zip(fits, held, strict=True)]
        return cls(stage, tuple(fits), np.concatenate(losses), tuple(bases))


def mean_loss(candidate: Candidate, held: Sequence[Rows]) -> float:
    """Return the mean loss of held-out rows."""
    return float(np.average(candidate.losses, weights=np.concatenate([each.weight for each in held])))


def compare(before: Candidate, after: Candidate, held: Sequence[Rows]) -> tuple[float, float]:
    """Return by how much the mean loss of held-out rows falls, and the standard error of that difference."""
    weight, copies = (np.concatenate([getattr(each, name) for each in held]) for name in ("weight", "copies"))
    difference = before.losses - after.losses
    mean = float(np.average(difference, weights=weight))
    variance = float((weight**2 / copies) @ (difference - mean) ** 2)
    return mean, variance**0.5 / float(weight.sum())
