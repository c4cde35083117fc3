"""A perceptron of one hidden layer on all rows at once, trained to convergence by a quasi-Newton method.

It starts as the linear model, in as few pairs of units as that needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logsumexp

from creases._typing import Floats, Ints

#: Penalties on the squares of all weights (not of biases), for inputs and targets of spread 1, from which held-out rows
#: choose: of networks, and of the linear model. The weakest is that of networks that nothing judges.
PENALTIES, LINEAR_PENALTIES = (1e-4, 5e-4, 2.5e-3, 1.25e-2), (1e-4, 1e-3, 1e-2, 1e-1)
DECAY = PENALTIES[0]

#: Range of a column, as a share of its largest number, up to which it is constant: rounding in single precision.
NEARLY_CONSTANT = 1e-6

#: Corrections that the quasi-Newton method remembers.
MEMORY = 20


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and spread of inputs and targets: networks are trained on numbers of mean 0 and spread 1."""

    center: Floats  #: (d,)
    spread: Floats  #: (d,) 1 for a constant input
    level: Floats  #: (m,) 0 for classes
    size: Floats  #: (m,) 1 for classes and for a constant target

    @classmethod
    def of(cls, rows: Rows) -> Scale:
        """Return the scale of rows, by their weights."""
        center, spread = _mean_and_spread(rows.X, rows.share)
        if rows.task == "classification":
            return cls(center, spread, np.zeros(rows.n_outputs), np.ones(rows.n_outputs))
        return cls(
            center, spread, *_mean_and_spread(rows.y if rows.offset is None else rows.y - rows.offset, rows.share)
        )

    def enter(self, net: Perceptron) -> Perceptron:
        """Return a network for inputs and targets that are scaled."""
        V, c = net.V / self.size[:, None], (net.c - self.level) / self.size
        return Perceptron(net.W * self.spread, net.b + net.W @ self.center, V, c)

    def leave(self, net: Perceptron) -> Perceptron:
        """Return a network of scaled inputs and targets for those that are not."""
        W = net.W / self.spread
        return Perceptron(W, net.b - W @ self.center, net.V * self.size[:, None], net.c * self.size + self.level)


def _mean_and_spread(values: Floats, share: Floats) -> tuple[Floats, Floats]:
    mean = share @ values
    spread = np.sqrt(share @ (values - mean) ** 2)
    used = values[share > 0] if (share > 0).any() else np.zeros((1, values.shape[1]))
    constant = np.ptp(used, axis=0) <= NEARLY_CONSTANT * np.abs(used).max(axis=0)
    return np.where(constant, values[:1].ravel() if len(values) else mean, mean), np.where(constant, 1.0, spread)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table for one task: inputs, targets, weights, and what is added to the outputs."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, m) values; (n,) class numbers
    weight: Floats  #: (n,) at least 0
    task: Literal["classification", "regression"]
    n_outputs: int
    offset: Floats | None = None  #: (n, m) added to the outputs, such as what another model predicts
    numbers: Ints | None = None  #: (n,) of the rows in the user's data; as they stand where nothing is said
    whole: Rows | None = None  #: the rows that these are a part of, whose scale they share

    def __len__(self) -> int:
        return len(self.X)

    def part(self, rows: Ints) -> Rows:
        """Return some of the rows, by number."""
        offset = None if self.offset is None else self.offset[rows]
        whole = self if self.whole is None else self.whole
        X, y, weight = self.X[rows], self.y[rows], self.weight[rows]
        numbers = rows if self.numbers is None else self.numbers[rows]
        return replace(self, X=X, y=y, weight=weight, offset=offset, numbers=numbers, whole=whole)

    @cached_property
    def scale(self) -> Scale:
        """Return the scale of the rows, or of those they are a part of."""
        return Scale.of(self) if self.whole is None else self.whole.scale

    @cached_property
    def inputs(self) -> Floats:
        """Return scaled inputs and a row of ones, (d + 1, n)."""
        scaled = (self.X - self.scale.center) / self.scale.spread
        return np.ascontiguousarray(np.vstack([scaled.T, np.ones(len(self.X))]))

    @cached_property
    def share(self) -> Floats:
        """Return the weights (n,) with sum 1."""
        return np.asarray(self.weight / self.weight.sum())

    @cached_property
    def targets(self) -> Floats:
        """Return the targets (m, n): scaled values, or 1 for the class of a row and 0 for the others."""
        if self.task == "regression":
            values = self.y if self.offset is None else self.y - self.offset
            return np.ascontiguousarray(((values - self.scale.level) / self.scale.size).T)
        classes = np.arange(max(self.n_outputs, 2))[-self.n_outputs :]
        return np.asarray(classes[:, None] == self.y[None], np.float64)

    @cached_property
    def logits(self) -> Floats | None:
        """Return the offset (m, n) of the logits of classes; None in regression, where targets are reduced instead."""
        if self.offset is None or self.task == "regression":
            return None
        return np.ascontiguousarray(self.offset.T)

    def objective(self, outputs: Floats) -> tuple[float, Floats]:
        """Return the mean loss of scaled outputs (m, n), without the offset, and its gradient."""
        if self.logits is not None:
            outputs += self.logits
        if self.task == "regression":
            return _squared_error(outputs, self.targets, self.share)
        return _cross_entropy(outputs, self.targets, self.share)

    def losses(self, outputs: Floats) -> Floats:
        """Return the loss (n,) of outputs (n, m): the cross-entropy, or the squared error averaged over outputs."""
        if self.task == "regression":
            return np.asarray(((outputs - self.y) ** 2).mean(axis=1))
        if self.n_outputs == 1:
            return np.asarray(np.logaddexp(0.0, np.where(self.y > 0, -1.0, 1.0) * outputs[:, 0]))
        chosen = np.take_along_axis(outputs, self.y.astype(np.int64)[:, None], axis=1)[:, 0]
        return np.asarray(np.maximum(logsumexp(outputs, axis=1) - chosen, 0.0))

    def wrong(self, outputs: Floats) -> Floats:
        """Return which rows (n,) outputs (n, m) assign to another class; none in a regression."""
        if self.task == "regression":
            return np.zeros(len(outputs), bool)
        decided = outputs.argmax(axis=1) if self.n_outputs > 1 else outputs[:, 0] > 0
        return np.asarray(decided != self.y)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of values (n,)."""
        return float(self.share @ values)

    def score(self, outputs: Floats) -> float:
        """Return the accuracy, or R^2 averaged over the outputs: for a constant target 1 without error, else 0."""
        if self.task == "classification":
            return 1.0 - self.mean(self.wrong(outputs))
        spread = self.share @ (self.y - self.share @ self.y) ** 2
        error = self.share @ (outputs - self.y) ** 2
        constant = spread <= 1e-14 * (self.share @ self.y**2)
        return float(np.where(constant, error == 0, 1 - error / np.where(constant, 1.0, spread)).mean())


@dataclass(frozen=True, eq=False)
class Perceptron:
    """The network ``V relu(W x + b) + c``."""

    W: Floats  #: (h, d)
    b: Floats  #: (h,)
    V: Floats  #: (m, h)
    c: Floats  #: (m,)

    @property
    def width(self) -> int:
        """Return the number of units."""
        return len(self.b)

    @property
    def size(self) -> int:
        """Return the number of parameters."""
        return self.W.size + self.b.size + self.V.size + self.c.size

    def outputs(self, rows: Rows) -> Floats:
        """Return the outputs (n, m) for rows, their offset included."""
        outputs = np.maximum(rows.X @ self.W.T + self.b, 0.0) @ self.V.T + self.c
        return outputs if rows.offset is None else outputs + rows.offset

    def losses(self, rows: Rows) -> Floats:
        """Return the loss (n,) of each row."""
        return rows.losses(self.outputs(rows))

    def keep_units(self, units: Sequence[int]) -> Perceptron:
        """Return the network with some of its units only."""
        chosen = list(units)
        return Perceptron(self.W[chosen], self.b[chosen], self.V[:, chosen], self.c)

    def vector(self) -> Floats:
        """Return all parameters in one vector: (W, b) row by row, then (V, c) row by row."""
        return np.concatenate([np.column_stack([self.W, self.b]).ravel(), np.column_stack([self.V, self.c]).ravel()])

    def from_vector(self, vector: Floats) -> Perceptron:
        """Return the network of this shape with these parameters."""
        (h, d), m = self.W.shape, len(self.c)
        A, B = vector[: h * (d + 1)].reshape(h, d + 1), vector[h * (d + 1) :].reshape(m, h + 1)
        return Perceptron(A[:, :-1].copy(), A[:, -1].copy(), B[:, :-1].copy(), B[:, -1].copy())


@dataclass(frozen=True, eq=False)
class Fit:
    """A network that was trained, and what that took."""

    net: Perceptron
    loss: float  #: mean loss with the penalty
    passes: int  #: over the rows


#: Of the passes over rows since training began: whether it must end.
IsOver = Callable[[int], bool]


def fit(net: Perceptron, rows: Rows, *, passes: int, decay: float = DECAY, is_over: IsOver | None = None) -> Fit:
    """Train a network on all rows until it converges, or for about a number of passes over them (L-BFGS)."""
    net = rows.scale.enter(net)
    vector, value, spent = minimize_loss(penalized_loss(net, rows, decay), net.vector(), passes, is_over)
    return Fit(rows.scale.leave(net.from_vector(vector)), value, spent)


def penalized_loss(net: Perceptron, rows: Rows, decay: float) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the mean loss with the penalty, and its gradient, as a function of a scaled network's parameters."""
    (h, d), m = net.W.shape, len(net.c)
    inputs, first = rows.inputs, h * (d + 1)
    penalty = np.ones(net.size)
    penalty[:first].reshape(h, d + 1)[:, -1] = 0.0
    penalty[first:].reshape(m, h + 1)[:, -1] = 0.0
    penalty *= 2 * decay
    hidden = np.ones((h + 1, len(rows)))

    def loss(vector: Floats) -> tuple[float, Floats]:
        A, B = vector[:first].reshape(h, d + 1), vector[first:].reshape(m, h + 1)
        np.maximum(np.matmul(A, inputs, out=hidden[:-1]), 0.0, out=hidden[:-1])
        value, errors = rows.objective(B @ hidden)
        gradient = penalty * vector
        value += 0.5 * float(gradient @ vector)
        back = B[:, :-1].T @ errors
        back *= hidden[:-1] > 0
        gradient[:first] += (back @ inputs.T).ravel()
        gradient[first:] += (errors @ hidden.T).ravel()
        return value, gradient

    return loss


class _OverError(Exception):
    """Training must end."""


def minimize_loss(
    loss: Callable[[Floats], tuple[float, Floats]], start: Floats, passes: int, is_over: IsOver | None = None
) -> tuple[Floats, float, int]:
    """Minimize a function that returns its value and gradient: where, the value, the evaluations.

    The result is the best point seen: a line search across creases may end at another one.
    """
    from scipy.optimize import minimize

    best: list[Any] = [np.inf, start]
    count = 0

    def observe(vector: Floats) -> tuple[float, Floats]:
        nonlocal count
        value, gradient = loss(vector)
        count += 1
        if value < best[0]:
            best[:] = value, vector.copy()
        if is_over is not None and is_over(count):
            raise _OverError
        return value, gradient

    options: Any = {"maxiter": passes, "maxfun": passes, "maxcor": MEMORY, "ftol": 1e-10, "gtol": 1e-7}
    with suppress(_OverError):
        minimize(observe, start, jac=True, method="L-BFGS-B", options=options)
    return best[1], float(best[0]), count


def _squared_error(outputs: Floats, targets: Floats, share: Floats) -> tuple[float, Floats]:
    """Return half the mean squared error of outputs (m, n), and its gradient."""
    errors = outputs - targets
    scaled = errors * share
    return 0.5 * float((scaled * errors).sum()), scaled


def _cross_entropy(outputs: Floats, targets: Floats, share: Floats) -> tuple[float, Floats]:
    """Return the mean cross-entropy of outputs (m, n), and its gradient."""
    if len(targets) == 1:
        value = float(share @ (np.logaddexp(0.0, outputs[0]) - targets[0] * outputs[0]))
        return value, (expit(outputs) - targets) * share
    outputs -= outputs.max(axis=0)
    chances = np.exp(outputs)
    total = chances.sum(axis=0)
    value = float(share @ (np.log(total) - (targets * outputs).sum(axis=0)))
    chances /= total
    chances -= targets
    chances *= share
    return value, chances


# -- the start: the linear model, in as few pairs of units as it needs

#: Singular values of the linear map, as a share of the largest, and in all, below which a direction is rounding.
ROUNDING, TINY = 1e-6, 1e-9

#: Passes over the rows in which the linear model converges.
LINEAR_PASSES = 500


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


def fit_linear(
    rows: Rows, *, passes: int = LINEAR_PASSES, decay: float = DECAY, is_over: IsOver | None = None
) -> LinearFit:
    """Fit the linear model by the loss of the task, with a penalty on its weights."""
    m, d = rows.n_outputs, rows.X.shape[1]
    inputs = rows.inputs

    def loss(vector: Floats) -> tuple[float, Floats]:
        B = vector.reshape(m, d + 1)
        value, errors = rows.objective(B @ inputs)
        gradient = errors @ inputs.T
        gradient[:, :-1] += 2 * decay * B[:, :-1]
        return value + decay * float((B[:, :-1] ** 2).sum()), gradient.ravel()

    vector, _, spent = minimize_loss(loss, np.zeros(m * (d + 1)), passes, is_over)
    B = vector.reshape(m, d + 1)
    if rows.task == "classification" and m > 1:  # what all classes share decides nothing
        B = B - B.mean(axis=0)
    return LinearFit(B[:, :-1], B[:, -1], rows.scale, spent)
