"""Training many networks as one.

``train`` checks its arguments and lays them out as plain arrays, parameters (P, B), in a
:class:`creases.lab._training.task.Task`. An engine does the rest: the module of :mod:`creases.lab` that is named as the device's
type ("cpu", "cuda"), imported when it is needed, has ``run(task: Task) -> Ends``. It changes the arrays ``task.W``,
``task.first``, ``task.second`` and ``task.steps`` in place and returns each network's epochs, its loss on all samples
(in float64) and the number of samples that are right (:class:`creases.lab._training.task.Ends`). It is not called for an empty
batch, and may be called with no epochs. The rules every engine keeps:

- A network's numbers depend on nothing but its own column of the task, whatever runs beside it.
- In epoch e (from 0, counted in each call) a network of seed s sees its samples in the order
  ``creases.lab._training.order.order(s, e, n)``, cut into batches of ``batch_size``, of which the last may be smaller; without
  ``batch_size`` as they stand, in one step.
- At the start of each epoch, before a step, a network with at least ``until_right`` right samples, or a mean loss below
  ``until_loss``, is frozen: its columns stay as they are.
- Right: for "ce" the first largest output is the class's; for "bce" the output is above 0 just for class 1; never with
  an output that is infinite or NaN. So a network that diverges is not frozen as right.
- Adam and gradient descent step as torch.optim's (without weight decay); ``momentum`` 0 leaves ``first`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from math import ceil, isfinite, prod
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from creases.errors import InputError
from creases.lab._training.batch import Batch
from creases.lab._training.samples import check_samples
from creases.lab._training.task import Array, Ends, Task

ENGINES = ("cpu", "cuda")


@dataclass(frozen=True, eq=False)
class Moments:
    """An optimizer's memory of a batch, to go on from."""

    first: Batch  #: Adam's first moment of each parameter; the momentum of gradient descent
    second: Batch  #: Adam's second moment of each parameter
    steps: int | NDArray[np.int64]  #: steps done, (B,) or of all

    @classmethod
    def none(cls, batch: Batch) -> Moments:
        """The memory before the first step."""
        zero = Batch(tuple(map(np.zeros_like, batch.weights)), tuple(map(np.zeros_like, batch.biases)))
        return cls(zero, zero, 0)


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """What training made of a batch."""

    batch: Batch
    moments: Moments  #: to go on from
    epochs: NDArray[np.int64]  #: (B,) for how many each network was trained
    losses: NDArray[np.float64]  #: (B,) mean losses on all samples
    right: NDArray[np.float64]  #: (B,) shares of samples that are classified right; NaN for "mse"


def train(
    batch: Batch,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epochs: int,
    loss: Literal["ce", "bce", "mse"] = "ce",
    optimizer: Literal["adam", "sgd"] = "adam",
    lr: ArrayLike = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    momentum: float = 0.0,
    batch_size: int | None = None,
    seed: ArrayLike = 0,
    until: float | Literal["right"] | tuple[Literal["right"], float] | None = None,
    moments: Moments | None = None,
    device: str = "cpu",
) -> TrainingResult:
    """Train every network of a batch, as ``torch.optim.Adam`` or ``SGD`` would train each alone.

    A network ends the same, bit for bit, whichever others are trained with it. On the CPU work is shared by
    ``torch.get_num_threads()`` threads.

    Parameters
    ----------
    X
        Inputs (n, d) for all networks, or (B, n, d) for each its own.
    y
        For "ce" class numbers, for "bce" zeros and ones, for "mse" numbers: (n,) for all networks or (B, n) for each
        its own; for "mse" with C outputs (n, C) or (B, n, C).
    loss
        Cross-entropy, binary cross-entropy of one output, or squared error: means over samples (and outputs).
    lr
        Learning rate, of all networks or (B,).
    momentum
        Of gradient descent, as torch has it.
    batch_size
        Samples of a step; all if None, so that an epoch is one step.
    seed
        For the order of samples in minibatches: of all networks or (B,). Networks of one seed see one order.
    until
        When to freeze a network: once its loss on all samples is below a number; once all its samples ("right") or a
        share of them (("right", 0.95)) are classified right. Looked at at the start of each epoch.
    moments
        The optimizer's memory to go on with, such as an earlier call gave; none if not given. Entries of new units are
        zero there: step counters go on for all, as :func:`creases.widen` carries them.
    device
        "cpu", or a torch device such as "cuda".

    Examples
    --------
    >>> from creases.lab import Batch, train
    >>> xor = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> batch = Batch.initial(100, [2, 4, 1], seed=0)
    >>> done = train(batch, *xor, epochs=1000, loss="bce", lr=0.025, until="right")
    >>> bool((done.right == 1).mean() > 0.5), bool((done.epochs[done.right == 1] <= 1000).all())
    (True, True)
    """
    if not isinstance(batch, Batch):
        raise InputError(f"batch: expected a Batch, got {type(batch).__name__}; Batch.of([model]) makes one of modules")
    B, dtype = batch.count, batch.dtype
    inputs, targets = check_samples(batch, X, y, loss, dtype)
    n = inputs.shape[1]
    _check(epochs, optimizer, betas, eps, momentum, batch_size)
    need, limit = _until(until, loss, n)
    memory = _memory(batch, moments)
    task = Task(
        widths=batch.widths,
        leak=_leak(batch),
        W=_flat(batch, dtype),
        first=_flat(memory.first, dtype),
        second=_flat(memory.second, dtype),
        steps=np.array(np.broadcast_to(memory.steps, B), np.int64),
        X=inputs,
        y=targets,
        loss=loss,
        optimizer=optimizer,
        lr=_rates(lr, B),
        betas=betas,
        eps=eps,
        momentum=momentum,
        epochs=int(epochs),
        batch_size=None if batch_size is None else min(int(batch_size), n),
        seeds=_seeds(seed, B),
        until_right=need,
        until_loss=limit,
        device=device,
    )
    ends = _engine(device)(task) if B else Ends(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
    trained, first, second = (_shaped(part, batch) for part in (task.W, task.first, task.second))
    right = np.full(B, np.nan) if loss == "mse" else ends.right / n
    return TrainingResult(trained, Moments(first, second, task.steps), ends.epochs, ends.losses, right)


def _engine(device: str) -> Any:
    try:
        kind = torch.device(device).type
    except RuntimeError:
        kind = ""
    if kind not in ENGINES:
        raise InputError(f"device: expected {' or '.join(map(repr, ENGINES))}, got {device!r}")
    return import_module(f"creases.lab._training.{kind}").run


def _check(epochs: int, optimizer: str, betas: Any, eps: float, momentum: float, batch_size: int | None) -> None:
    if not isinstance(epochs, Integral) or epochs < 0:
        raise InputError(f"epochs: expected a whole number, at least 0, got {epochs!r}")
    if optimizer not in ("adam", "sgd"):
        raise InputError(f"optimizer: expected 'adam' or 'sgd', got {optimizer!r}")
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise InputError(f"betas: expected two numbers in [0, 1), got {betas}")
    if not (isfinite(eps) and eps > 0):
        raise InputError(f"eps: expected a number above 0, got {eps}")
    if not (isfinite(momentum) and momentum >= 0):
        raise InputError(f"momentum: expected a number, at least 0, got {momentum}")
    if momentum and optimizer == "adam":
        raise InputError(f"momentum: is for optimizer 'sgd', got {momentum} with 'adam', whose momentum is in betas")
    if batch_size is not None and (not isinstance(batch_size, Integral) or batch_size < 1):
        raise InputError(
            f"batch_size: expected a whole number, at least 1, or None for all samples, got {batch_size!r}"
        )


def _until(until: Any, loss: str, n: int) -> tuple[int | None, float | None]:
    """The number of right samples, or the loss, with which a network is frozen."""
    if until is None:
        return None, None
    if isinstance(until, Real) and not isinstance(until, bool) and not np.isnan(float(until)):
        return None, float(until)
    share = 1.0 if until == "right" else None
    if isinstance(until, tuple) and len(until) == 2 and until[0] == "right":
        share = until[1]
    if share is None or not isinstance(share, Real) or not 0 < share <= 1:
        raise InputError(
            f"until: expected None, a loss, 'right', or ('right', share) with 0 < share <= 1, got {until!r}"
        )
    if loss == "mse":
        raise InputError("until: 'right' is for classes; give a loss with 'mse'")
    return ceil(share * n - 1e-9), None


def _rates(lr: ArrayLike, B: int) -> NDArray[np.float64]:
    rates = np.asarray(lr, np.float64)
    if rates.shape not in ((), (B,)):
        raise InputError(f"lr: expected a number or ({B},), one for each network, got shape {rates.shape}")
    if not (np.isfinite(rates) & (rates > 0)).all():
        raise InputError(f"lr: expected finite numbers above 0, got {lr!r}")
    return np.array(np.broadcast_to(rates, B))


def _seeds(seed: ArrayLike, B: int) -> NDArray[np.int64]:
    seeds = np.asarray(seed)
    if seeds.shape not in ((), (B,)) or (seeds.dtype.kind not in "iu" and seeds.size):
        raise InputError(
            f"seed: expected a whole number or ({B},), one for each network, got {seeds.dtype} of shape {seeds.shape}"
        )
    return np.array(np.broadcast_to(seeds, B)).astype(np.int64)


def _leak(batch: Batch) -> float:
    if not (isfinite(batch.leak) and batch.leak >= 0):
        raise InputError(
            f"batch: expected a leak of at least 0, got {batch.leak}: a unit's side is told from what it gives, which "
            "a negative leak makes positive on both sides"
        )
    return batch.leak


def _memory(batch: Batch, moments: Moments | None) -> Moments:
    if moments is None:
        return Moments.none(batch)
    if moments.first.widths != batch.widths or moments.first.count != batch.count:
        raise InputError(
            f"moments: are of {moments.first.count} networks {moments.first.widths}, the batch has {batch.count} "
            f"{batch.widths}"
        )
    if np.shape(moments.steps) not in ((), (batch.count,)) or (np.asarray(moments.steps) < 0).any():
        raise InputError(
            f"moments: expected steps, at least 0, for all networks or ({batch.count},), got {moments.steps}"
        )
    return moments


def _flat(batch: Batch, dtype: Any) -> Array:
    """All parameters of a batch (P, B): each layer's weights row by row, then its biases."""
    pairs = zip(batch.weights, batch.biases, strict=True)
    parts = [part for W, b in pairs for part in (W.reshape(len(W), prod(W.shape[1:])), b)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T.astype(dtype))


def _shaped(flat: Array, like: Batch) -> Batch:
    """The inverse of ``_flat``."""
    weights, biases, start = [], [], 0
    for W, b in zip(like.weights, like.biases, strict=True):
        middle = start + prod(W.shape[1:])
        weights.append(np.ascontiguousarray(flat[start:middle].T).reshape(W.shape))
        biases.append(np.ascontiguousarray(flat[middle : middle + b.shape[1]].T))
        start = middle + b.shape[1]
    return Batch(tuple(weights), tuple(biases), like.leak)
