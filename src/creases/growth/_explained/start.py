"""The network that explained growth starts from: the linear model, in as few pairs of units as it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats
from creases.growth._explained.perceptron import DECAY, Perceptron, Rows, Scale, minimize_loss

#: Singular values of the linear map, as a share of the largest, and in all, below which a direction is rounding.
ROUNDING, TINY = 1e-6, 1e-9

#: Passes over the rows in which the linear model converges.
PASSES = 500


@dataclass(frozen=True, eq=False)
class LinearFit:
    """The linear model ``A x + c``."""

    A: Floats  #: (m, d)
    c: Floats  #: (m,)
    scale: Scale  #: of the inputs and targets that it is for
    passes: int

    @property
    def rank(self) -> int:
        """Return the number of directions that the outputs depend on, at least one."""
        sizes = np.linalg.svd(self.A, compute_uv=False)
        return max(1, int((sizes > max(ROUNDING * sizes.max(initial=0.0), TINY)).sum()))

    def pairs(self, rank: int) -> Perceptron:
        """Return the network of a pair of units ``relu(u x), relu(-u x)`` for each of the strongest directions.

        With all of them it is the linear model: ``relu(a) - relu(-a) = a``.
        """
        U, sizes, directions = np.linalg.svd(self.A, full_matrices=False)
        roots = np.sqrt(sizes[:rank])
        W, V = np.where(roots > TINY**0.5, roots, 1.0)[:, None] * directions[:rank], U[:, :rank] * roots
        V = np.where(roots > TINY**0.5, V, 0.0)
        return self.scale.leave(Perceptron(np.vstack([W, -W]), np.zeros(2 * len(W)), np.hstack([V, -V]), self.c))


def fit_linear(rows: Rows, *, passes: int = PASSES, decay: float = DECAY) -> LinearFit:
    """Fit the linear model by the loss of the task, with a penalty on its weights."""
    m, d = rows.n_outputs, rows.X.shape[1]
    inputs = rows.inputs

    def loss(vector: Floats) -> tuple[float, Floats]:
        B = vector.reshape(m, d + 1)
        value, errors = rows.objective(B @ inputs)
        gradient = errors @ inputs.T
        gradient[:, :-1] += 2 * decay * B[:, :-1]
        return value + decay * float((B[:, :-1] ** 2).sum()), gradient.ravel()

    vector, _, spent, _ = minimize_loss(loss, np.zeros(m * (d + 1)), passes)
    B = vector.reshape(m, d + 1)
    if rows.task == "classification" and m > 1:  # what all classes share decides nothing
        B = B - B.mean(axis=0)
    return LinearFit(B[:, :-1], B[:, -1], rows.scale, spent)
