"""Rows to fit to, with the family of their targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._split.split import UniqueRows
from creases.tables._stages.families import Classes, Family, Targets

#: Functions of encoded rows (n, d), side by side (n, k).
Functions = Callable[..., Floats]

#: Numbers of functions of rows that these remember at most.
REMEMBERED = 12_000_000


class RowSource(Protocol):
    """All rows to fit to, in memory (:class:`Rows`) or read block by block for every sum."""

    @property
    def family(self) -> Family:
        """What their targets are."""

    @property
    def freedom(self) -> float:
        """Fraction of the scores that rows can tell."""

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Return the sum of a function of blocks of rows, in a fixed order."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to fit to, with what they are to give."""

    X: Floats  #: (n, d) encoded
    y: Floats  #: (n, m) standardized targets, or one column of class numbers
    weight: Floats  #: (n,) whose sum is that of the copies
    copies: Floats  #: (n,) how many rows of the table each stands for
    family: Family
    numbers: Ints | None = None  #: (n,) in the table; None if they have none there
    total: float | None = None  #: weight of all rows where these are a block of them
    known: Floats | None = None  #: (n, m) what all scores have beside those of a fit: effects of levels
    _last: list[tuple[Functions, Floats]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_unique(cls, rows: UniqueRows, among: Ints, targets: Targets) -> Rows:
        """Return some of the different rows of a table, by number, their targets scaled."""
        y, weight = targets.standardize(rows.y[among]), rows.weight[among]
        copies = rows.count[among].astype(np.float64)
        return cls(rows.X[among], y, weight * (copies.sum() / weight.sum()), copies, targets.family, rows.first[among])

    def split(self, held: Floats) -> tuple[Rows, Rows]:
        """Return the rows without the share (n,) that is held out of each, and that share."""
        parts = []
        for share in (1.0 - held, held):
            inside = share > 1e-9
            part = self[inside]
            share = share[inside]
            parts.append(replace(part, weight=part.weight * share, copies=part.copies * share))
        return parts[0], parts[1]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def __getitem__(self, rows: Ints | Bools) -> Rows:
        """Return some of the rows."""
        names = ("X", "y", "weight", "copies", "numbers", "known")
        arrays: dict[str, Any] = {name: each[rows] for name in names if (each := getattr(self, name)) is not None}
        return replace(self, **arrays, total=None)

    def beside(self, known: Floats) -> Rows:
        """Return the rows with known scores (n, m); both remember the same functions."""
        rows = replace(self, known=known)
        object.__setattr__(rows, "_last", self._last)
        return rows

    def functions(self, basis: Functions) -> Floats:
        """Return the functions (n, p) of a basis at the rows, which remember the last ones: stages share most."""
        last = self._last[0] if self._last else None
        if last is not None and last[0] is basis:
            return last[1]
        functions = basis(self.X, last)
        if functions.size <= REMEMBERED:
            self._last[:] = [(basis, functions)]
        return functions

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Return a function of all rows: they are one block."""
        return function(self)

    @property
    def n_classes(self) -> int:
        """0 for numbers."""
        return self.family.n_classes

    @property
    def n_scores(self) -> int:
        """Numbers that a model returns for a row: targets, the logit of two classes, or one for each class."""
        return self.y.shape[1] if self.n_classes == 0 else 1 if self.n_classes == 2 else self.n_classes

    @property
    def freedom(self) -> float:
        """Fraction of the scores that rows can tell: only differences of the scores of classes count."""
        return 1.0 if self.n_classes <= 2 else (self.n_classes - 1) / self.n_classes

    def whole(self, scores: Floats) -> Floats:
        """Return the scores (n, m) of a fit with what is known beside them."""
        return scores if self.known is None else scores + self.known

    def losses(self, scores: Floats) -> Floats:
        """Return each row's loss (n,)."""
        return self.family.losses(self.y, self.whole(scores))

    def potentials(self, scores: Floats) -> Floats:
        """Return what each row's pulls (n, m) are the slopes of, (n,): half a squared error or deviance, a log loss."""
        if not self.n_classes:
            return self.losses(scores) / 2 if self.family.has_noise else self.losses(scores)
        return np.asarray(self.losses(scores) - (self._prior * self.whole(scores)).sum(axis=1))

    @property
    def _prior(self) -> Floats:
        """(n, m) What half a row more of every class (Jeffreys), spread over all rows, adds to the targets.

        So no class has a chance of nearly 0 only because few rows have it, and all of these on one side of a curve.
        """
        assert isinstance(self.family, Classes)
        even = 1.0 / self.n_classes
        share = self.n_classes / 2 / max(float(self.weight.sum()) if self.total is None else self.total, 1.0)
        return np.asarray(share * (even - self.family.targets(self.y)))

    def noise(self, scores: Floats) -> float:
        """Return the variance of pulls in multiples of the curvature: Pearson's dispersion, a mean squared error."""
        if self.family.is_quadratic:
            return float(self.weight @ self.losses(scores)) / float(self.weight.sum())
        squares = self.weight @ self.pulls(scores) ** 2
        return float(squares.sum() / self.curvatures(scores).sum())

    def pulls(self, scores: Floats) -> Floats:
        """Return how much each row pulls each score (n, m) up, without its weight."""
        pulls = self.family.pulls(self.y, self.whole(scores))
        return pulls + self._prior if self.n_classes else pulls

    def curvatures(self, scores: Floats) -> Floats:
        """Return the weights (n, m) of the rows in a Newton step at scores (n, m), of each score by itself."""
        return np.asarray(self.family.curvatures(self.y, self.whole(scores)) * self.weight[:, None])

    def start(self) -> Floats:
        """Return the best constant scores (m,)."""
        return self.family.start(self.y, self.weight)


def mean_with_error(values: Floats, held: Sequence[Rows]) -> tuple[float, float]:
    """Return the mean of values (n,) of the held-out rows of all folds, such as gains, and its standard error."""
    weight, copies = (np.concatenate([getattr(each, name) for each in held]) for name in ("weight", "copies"))
    mean = float(np.average(values, weights=weight))
    variance = float((weight**2 / copies) @ (values - mean) ** 2)
    return mean, variance**0.5 / float(weight.sum())
