"""Rows to fit to and their losses: squared error, or log loss of two or more classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to fit to, with what they are to give."""

    X: Floats  #: (n, d) encoded
    y: Floats  #: (n, m) standardized targets, or one column of class numbers
    weight: Floats  #: (n,) with mean 1
    n_classes: int  #: 0 for a regression

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def __getitem__(self, rows: Ints) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.weight[rows], self.n_classes)

    @property
    def n_scores(self) -> int:
        """Numbers that a model returns for a row: targets, the logit of two classes, or one for each class."""
        return self.y.shape[1] if self.n_classes == 0 else 1 if self.n_classes == 2 else self.n_classes

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
            return np.asarray(1 / (1 + np.exp(-scores)))
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
