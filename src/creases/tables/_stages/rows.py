"""Rows to fit to and their losses: squared error, or log loss of two or more classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._split.rows import UniqueRows


class RowSource(Protocol):
    """All rows to fit to, in memory (:class:`Rows`) or read block by block for every sum."""

    @property
    def n_classes(self) -> int:
        """0 for a regression."""

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
    n_classes: int  #: 0 for a regression
    numbers: Ints | None = None  #: (n,) in the table; None if they have none there

    @classmethod
    def from_unique(cls, rows: UniqueRows, among: Ints, n_classes: int, center: Floats, scale: Floats) -> Rows:
        """Return some of the different rows of a table, by number; targets are centred and scaled (m,)."""
        y, weight = rows.y[among], rows.weight[among]
        copies = rows.count[among].astype(np.float64)
        y = y if n_classes else (y - center) / scale
        return cls(rows.X[among], y, weight * (copies.sum() / weight.sum()), copies, n_classes, rows.first[among])

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
        numbers = None if self.numbers is None else self.numbers[rows]
        return Rows(self.X[rows], self.y[rows], self.weight[rows], self.copies[rows], self.n_classes, numbers)

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Return a function of all rows: they are one block."""
        return function(self)

    @property
    def n_scores(self) -> int:
        """Numbers that a model returns for a row: targets, the logit of two classes, or one for each class."""
        return self.y.shape[1] if self.n_classes == 0 else 1 if self.n_classes == 2 else self.n_classes

    @property
    def freedom(self) -> float:
        """Fraction of the scores that rows can tell: only differences of the scores of classes count."""
        return 1.0 if self.n_classes <= 2 else (self.n_classes - 1) / self.n_classes

    @property
    def targets(self) -> Floats:
        """(n, m) What the means of the scores are to be: values or class indicators."""
        if self.n_classes == 0:
            return self.y
        return np.asarray(self.y == (1 if self.n_classes == 2 else np.arange(self.n_classes)), np.float64)

    def means(self, scores: Floats) -> Floats:
        """Return the expected targets (n, m) of scores (n, m)."""
        if self.n_classes == 0:
            return scores
        if self.n_classes == 2:
            return np.asarray(1 / (1 + np.exp(-np.clip(scores, -700, None))))
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def losses(self, scores: Floats) -> Floats:
        """Return each row's squared error or log loss (n,)."""
        if self.n_classes == 0:
            return np.asarray(((scores - self.y) ** 2).mean(axis=1))
        if self.n_classes == 2:
            return np.asarray(np.logaddexp(0, np.where(self.y[:, 0] == 1, -scores[:, 0], scores[:, 0])))
        scores = scores - scores.max(axis=1, keepdims=True)
        chosen = scores[np.arange(len(scores)), self.y[:, 0].astype(int)]
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - chosen)

    def start(self) -> Floats:
        """Return the best constant scores (m,)."""
        mean = np.asarray(np.average(self.targets, axis=0, weights=self.weight))
        if self.n_classes == 0:
            return mean
        mean = mean.clip(1e-4, 1 - 1e-4)
        logits = np.log(mean) - (np.log(1 - mean) if self.n_classes == 2 else np.log(mean).mean())
        return np.asarray(logits)

    def curvatures(self, means: Floats) -> Floats:
        """Return the weights (n, m) of the rows in a Newton step at expected targets (n, m), of each score by itself.

        The scores of more than two classes act on each other; with the factor, steps are exact where all are as likely.
        """
        if self.n_classes == 0:
            return np.repeat(self.weight[:, None], means.shape[1], axis=1)
        factor = 1.0 if self.n_classes == 2 else self.n_classes / (self.n_classes - 1)
        return np.asarray(np.maximum(means * (1 - means), 1e-6) * self.weight[:, None] * factor)


def scale_of_scores(rows: UniqueRows, among: Ints, n_classes: int) -> tuple[Floats, Floats]:
    """Return centre and scale (m,) of the scores: mean and deviation of targets, or 0 and 1 of classes."""
    if n_classes:
        m = 1 if n_classes == 2 else n_classes
        return np.zeros(m), np.ones(m)
    y, weight = rows.y[among], rows.weight[among]
    size = np.maximum(np.abs(y).max(axis=0), 1e-300)  # squares of large numbers would be infinite
    center = np.average(y / size, axis=0, weights=weight)
    deviation = np.sqrt(np.average((y / size - center) ** 2, axis=0, weights=weight))
    return center * size, np.where(deviation < 1e-12, 1.0, deviation) * size
