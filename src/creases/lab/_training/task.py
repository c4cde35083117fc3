"""The training of a batch as plain arrays, all arguments checked: what an engine is called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Task:
    """Train B networks of P parameters; see :mod:`creases.lab._training.train` for what an engine does with it.

    Every array of real numbers but ``lr`` has the dtype of the networks.
    """

    widths: tuple[int, ...]  #: units of each layer, inputs first
    leak: float  #: slope of the bend on its negative side
    W: Array  #: (P, B) parameters: of each layer the weights row by row, then the biases
    first: Array  #: (P, B) Adam's first moments, or the momentum of gradient descent
    second: Array  #: (P, B) Adam's second moments
    steps: NDArray[Any]  #: (B,) int64 steps done
    X: Array  #: (1, n, d) inputs of all networks, or (B, n, d)
    y: Array  #: (1, n, K) or (B, n, K) targets; K = outputs for squared_error, else 1, classes being numbers
    loss: Literal["cross_entropy", "binary_cross_entropy", "squared_error"]
    optimizer: Literal["adam", "sgd"]
    lr: NDArray[Any]  #: (B,) float64
    betas: tuple[float, float]
    eps: float
    momentum: float
    epochs: int
    batch_size: int | None  #: None: all samples, one step an epoch; else at most n
    seeds: NDArray[
        Any
    ]  #: (B,) int64; the order of samples in epoch e is ``creases.lab._training.order.order(seed, e, n)``
    until_correct: int | None  #: freeze a network once so many of its samples are classified correctly
    until_loss: float | None  #: freeze a network once its loss is below this
    device: str = "cpu"

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of networks, of samples, and of batches in an epoch."""
        n = self.X.shape[1]
        return self.W.shape[1], n, 1 if self.batch_size is None else -(-n // self.batch_size)


class Ends(NamedTuple):
    """The outcome of a task for each network."""

    epochs: NDArray[Any]  #: (B,) int64
    losses: NDArray[Any]  #: (B,) float64, of all samples
    n_correct: NDArray[Any]  #: (B,) int64 samples that are classified correctly (any number for squared_error)
