"""Training many networks as one.

``train`` checks its arguments and lays them out as plain arrays, parameters (P, B), which a compiled kernel trains in
place. The rules:

- A network's numbers depend on nothing but its own column of the arrays, whichever others are trained with it.
- In epoch e (from 0, counted in each call) a network of seed s sees its samples in the order
  ``creases.lab._training.kernel.order(s, e, n)``, cut into batches of ``batch_size``, of which the last may be smaller;
  without ``batch_size`` in the order they have, in one step.
- At the start of each epoch, before a step, a network with at least ``until_correct`` correct samples, or a mean loss
  below ``until_loss``, is frozen: its columns stay as they are.
- A sample is correct for "cross_entropy" if the first largest output is the class's, for "binary_cross_entropy" if the
  output is above 0 for class 1 and not for class 0; never with an output that is infinite or NaN. So a network that
  diverges is not frozen as accurate.
- Adam and gradient descent step as torch.optim's (without weight decay); ``momentum`` 0 leaves ``first`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil, inf, isfinite, log, prod
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from creases._schema import NUMBER, optional, sequence
from creases._text import OneLine
from creases._validation import as_array, check_arguments, check_choice, check_count, check_number, check_numbers
from creases.errors import InputError
from creases.lab._training.batch import Batch
from creases.lab._training.samples import Array, Loss, check_samples

#: Samples are kept in the lanes' memory from epoch to epoch if they take at most so many bytes.
MAX_RESIDENT_BYTES = 1 << 18


@dataclass(frozen=True, eq=False)
class Moments:
    """The state of a batch's optimizer, to resume from."""

    first: Batch  #: Adam's first moment of each parameter; the momentum of gradient descent
    second: Batch  #: Adam's second moment of each parameter
    steps: int | NDArray[np.int64]  #: steps done, (B,) or of all

    @classmethod
    def zeros(cls, batch: Batch) -> Moments:
        """Return the state before the first step."""
        zero = Batch(tuple(map(np.zeros_like, batch.weights)), tuple(map(np.zeros_like, batch.biases)))
        return cls(zero, zero, 0)


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult(OneLine):
    """A batch after training."""

    batch: Batch
    moments: Moments  #: to resume from
    epochs: NDArray[np.int64]  #: (B,) how many epochs each network was trained for
    losses: NDArray[np.float64]  #: (B,) mean losses on all samples
    accuracy: NDArray[np.float64]  #: (B,) fractions of samples classified correctly; NaN for "squared_error"


@check_arguments(betas=sequence(NUMBER, length=2), until_loss=optional(NUMBER))
def train(
    batch: Batch,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epochs: int,
    loss: Loss = "cross_entropy",
    optimizer: Literal["adam", "sgd"] = "adam",
    lr: ArrayLike = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    momentum: float = 0.0,
    batch_size: int | None = None,
    seed: ArrayLike = 0,
    until_accuracy: float | None = None,
    until_loss: float | None = None,
    moments: Moments | None = None,
) -> TrainingResult:
    """Train every network of a batch, as ``torch.optim.Adam`` or ``SGD`` would train each alone.

    A network's result is the same, bit for bit, whichever others are trained with it. The work is
    shared by ``torch.get_num_threads()`` threads.

    Parameters
    ----------
    batch
        The networks to train; they are left unchanged.
    X
        Inputs (n, d) for all networks, or (B, n, d).
    y
        For "cross_entropy" class numbers, for "binary_cross_entropy" zeros and ones, for "squared_error" numbers: (n,)
        for all networks, or (B, n); for "squared_error" with C outputs (n, C) or (B, n, C).
    epochs
        Maximum number of epochs.
    loss
        Cross-entropy, binary cross-entropy of one output, or squared error: means over samples (and outputs).
    optimizer, betas, eps
        Adam or gradient descent, and the constants of Adam.
    lr
        Learning rate, of all networks or (B,).
    momentum
        Momentum of gradient descent, as in torch.
    batch_size
        Samples per step; all if None, so that an epoch is one step.
    seed
        Seed of the order of samples in minibatches: of all networks or (B,). Networks of one seed see one order.
    until_accuracy
        Freeze a network once this fraction of all samples is classified correctly, tested at the start of each epoch.
    until_loss
        Freeze a network once its mean loss on all samples is below this number.
    moments
        State of the optimizer to resume from, as returned by an earlier call. Entries of new units are zero; step
        counters continue for all, as :func:`creases.widen` carries them.

    Examples
    --------
    >>> from creases.lab import Batch, train
    >>> xor = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> batch = Batch.initial(100, [2, 4, 1], seed=0)
    >>> result = train(batch, *xor, epochs=1000, loss="binary_cross_entropy", lr=0.025, until_accuracy=1.0)
    >>> solved = result.accuracy == 1
    >>> bool(solved.mean() > 0.5), bool((result.epochs[solved] <= 1000).all())
    (True, True)
    """
    if not isinstance(batch, Batch):
        raise InputError(
            "batch", "be a creases.lab.Batch", type(batch).__name__, "Batch.from_modules([model]) makes one of modules"
        )
    from creases.lab._simd import BYTES, SAMPLES
    from creases.lab._training.kernel import CODES, Rules, work  # numba is slow to import

    B, dtype = batch.count, batch.dtype
    inputs, targets = check_samples(B, batch.widths, X, y, loss, dtype)
    n = inputs.shape[1]
    _check_options(batch, epochs, optimizer, betas, eps, momentum, batch_size, until_accuracy, until_loss, loss)
    rates, seeds, state = _check_rates(lr, B), _check_seeds(seed, B), _check_moments(batch, moments)
    W, first, second = (_flatten(part, dtype) for part in (batch, state.first, state.second))
    steps = np.array(np.broadcast_to(state.steps, B), np.int64)
    size = 0 if batch_size is None else min(int(batch_size), n)
    last_step = int(steps.max(initial=0)) + int(epochs) * (-(-n // size) if size else 1)
    blocks = -(-n // SAMPLES)
    kept = blocks * SAMPLES * (inputs.shape[2] + targets.shape[2]) * BYTES
    resident = not size and kept <= MAX_RESIDENT_BYTES
    rules = Rules(
        widths=np.array(batch.widths),
        leak=float(batch.leak),
        loss=CODES[loss],
        optimizer=int(optimizer == "sgd"),
        numbers=np.array([betas[0], 1 - betas[0], betas[1], 1 - betas[1], eps, momentum], dtype),
        table=(np.ones((1, 2)) if optimizer == "sgd" else _corrections(betas, last_step)).astype(dtype),
        epochs=int(epochs),
        size=size,
        need=0 if until_accuracy is None else ceil(until_accuracy * n - 1e-9),
        limit=-inf if until_loss is None else float(until_loss),
        resident=resident,
        at=_layout(batch.widths, len(W), inputs.shape[2], targets.shape[2], blocks if resident else 1),
    )
    ends, losses, n_correct = np.zeros(B, np.int64), np.zeros(B), np.zeros(B, np.int64)
    arrays = (W, first, second, steps, inputs, targets, rates, seeds, ends, losses, n_correct)
    if B:
        _run_in_threads(lambda queue: work(queue, rules, _lanes(rules), *arrays), B)
    weights, first_after, second_after = (_unflatten(part, batch) for part in (W, first, second))
    accuracy = np.full(B, np.nan) if loss == "squared_error" else n_correct / n
    return TrainingResult(weights, Moments(first_after, second_after, steps), ends, losses / n, accuracy)


def _run_in_threads(do: Callable[[Array], None], count: int) -> None:
    """Do something in each of several threads, which share a queue of networks.

    Moments of units that are never active fade away: numbers near zero would cost ten times as long as others, unless
    they are flushed to zero.
    """
    queue = np.zeros(2, np.int64)
    threads = max(1, min(torch.get_num_threads(), count))
    with ThreadPoolExecutor(threads, initializer=torch.set_flush_denormal, initargs=(True,)) as pool:
        try:
            for each in [pool.submit(do, queue) for _ in range(threads)]:
                each.result()
        finally:
            queue[1] = 1  # after an interrupt the others stop, too


def _corrections(betas: tuple[float, float], steps: int) -> Array:
    """Adam's 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) for t = 1, ..., until they no longer change."""
    if not max(betas):
        return np.ones((1, 2))
    t = np.arange(1, min(steps, int(40 / -log(max(betas))) + 1) + 1)
    return np.stack([1 / (1 - betas[0] ** t), 1 / np.sqrt(1 - betas[1] ** t)], axis=1)


def _layout(widths: tuple[int, ...], P: int, d: int, K: int, blocks: int) -> Any:
    """Return where in a thread's memory things begin."""
    from creases.lab._simd import SAMPLES
    from creases.lab._training.kernel import Layout

    sizes = [P, P, P, P, sum(widths[1:]) * SAMPLES, blocks * d * SAMPLES, blocks * K * SAMPLES, 4 * SAMPLES, 2, 2]
    return Layout(*map(int, np.cumsum([0, *sizes])))


def _lanes(rules: Any) -> Any:
    """Return the memory of one thread; lanes without a network have zero weights, and stay there."""
    from creases.lab._simd import BYTES, SAMPLES
    from creases.lab._training.kernel import ROUNDS, Lanes

    dtype = rules.numbers.dtype
    L = BYTES // dtype.itemsize
    memory = np.zeros((rules.at.end + 1) * L, dtype)
    memory = memory[-memory.ctypes.data % BYTES // dtype.itemsize :]
    keys, samples = np.zeros((2 * ROUNDS, L), np.uint32), np.zeros((SAMPLES, L), np.uint32)
    return Lanes(memory, np.zeros((6, L), np.int64), keys, samples, np.zeros(L, np.int64), np.zeros(L))


def _check_options(
    batch: Batch,
    epochs: int,
    optimizer: str,
    betas: Any,
    eps: float,
    momentum: float,
    batch_size: int | None,
    until_accuracy: Any,
    until_loss: float | None,
    loss: str,
) -> None:
    check_count(epochs, "epochs", least=0)
    check_choice(optimizer, ("adam", "sgd"), "optimizer")
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise InputError("betas", "be two numbers in [0, 1)", f"{betas}")
    check_number(eps, "eps", above=0)
    check_number(momentum, "momentum", least=0)
    if momentum and optimizer == "adam":
        expected = "be 0 for Adam, whose momentum is in betas"
        raise InputError("momentum", expected, f"{momentum}", "use {0}", [("optimizer", "sgd")])
    if batch_size is not None:
        check_count(batch_size, "batch_size")
    if not (isfinite(batch.leak) and batch.leak >= 0):
        expected = "be finite and at least 0 (a negative leak makes a unit's output positive on both sides of its bend)"
        raise InputError("batch.leak", expected, f"{batch.leak}")
    if until_accuracy is not None:
        is_number = isinstance(until_accuracy, Real) and not isinstance(until_accuracy, bool)
        if not is_number or not 0 < until_accuracy <= 1:
            raise InputError("until_accuracy", "be a number above 0 and at most 1", repr(until_accuracy))
        if loss == "squared_error":
            expected = f"be None for loss={loss!r}, which has no classes"
            raise InputError("until_accuracy", expected, hint="give until_loss instead")
    if until_loss is not None and until_loss != until_loss:
        raise InputError("until_loss", "be a number", repr(until_loss))


def _check_rates(lr: ArrayLike, B: int) -> NDArray[np.float64]:
    rates = check_numbers(lr, "lr")
    if rates.shape not in ((), (B,)):
        raise InputError("lr", f"be a number or have shape ({B},), one for each network", f"shape {rates.shape}")
    if not (np.isfinite(rates) & (rates > 0)).all():
        raise InputError("lr", "be finite and above 0", repr(lr))
    return np.array(np.broadcast_to(rates, B))


def _check_seeds(seed: ArrayLike, B: int) -> NDArray[np.int64]:
    seeds = as_array(seed, "seed")
    if seeds.shape not in ((), (B,)) or (seeds.dtype.kind not in "iu" and seeds.size):
        raise InputError(
            "seed",
            f"be an integer or integers ({B},), one for each network",
            f"{seeds.dtype} of shape {seeds.shape}",
        )
    return np.array(np.broadcast_to(seeds, B)).astype(np.int64)


def _check_moments(batch: Batch, moments: Moments | None) -> Moments:
    if moments is None:
        return Moments.zeros(batch)
    if moments.first.widths != batch.widths or moments.first.count != batch.count:
        raise InputError(
            "moments",
            f"be of {batch.count} networks {batch.widths}, as the batch",
            f"{moments.first.count} networks {moments.first.widths}",
        )
    if np.shape(moments.steps) not in ((), (batch.count,)) or (np.asarray(moments.steps) < 0).any():
        raise InputError("moments.steps", f"be at least 0, for all networks or ({batch.count},)", f"{moments.steps}")
    return moments


def _flatten(batch: Batch, dtype: Any) -> Array:
    """Return all parameters of a batch as (P, B): each layer's weights row by row, then its biases."""
    pairs = zip(batch.weights, batch.biases, strict=True)
    parts = [part for W, b in pairs for part in (W.reshape(len(W), prod(W.shape[1:])), b)]
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T.astype(dtype))


def _unflatten(flat: Array, like: Batch) -> Batch:
    """Return parameters (P, B) as a batch of the shape of ``like``."""
    weights, biases, start = [], [], 0
    for W, b in zip(like.weights, like.biases, strict=True):
        middle = start + prod(W.shape[1:])
        weights.append(np.ascontiguousarray(flat[start:middle].T).reshape(W.shape))
        biases.append(np.ascontiguousarray(flat[middle : middle + b.shape[1]].T))
        start = middle + b.shape[1]
    return Batch(tuple(weights), tuple(biases), like.leak)
