"""The training of a batch as plain arrays, all arguments checked, and its run in the compiled kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, log
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from creases._validation import as_array, check_choice
from creases.errors import InputError

Array = NDArray[Any]

#: Samples are kept in the lanes' memory from epoch to epoch if they take at most so many bytes.
MAX_RESIDENT_BYTES = 1 << 18


@dataclass(frozen=True, eq=False)
class Task:
    """Train B networks of P parameters; see :mod:`creases.lab._training.train` for the rules of a run.

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
    ]  #: (B,) int64; the order of samples in epoch e is ``creases.lab._training.task.order(seed, e, n)``
    until_correct: int | None  #: freeze a network once so many of its samples are classified correctly
    until_loss: float | None  #: freeze a network once its loss is below this

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


def run(task: Task) -> Ends:
    """Train the networks of a task, in place."""
    from creases.lab._training.kernel import work

    B, rules = task.W.shape[1], _rules(task)
    epochs, losses, right = np.zeros(B, np.int64), np.zeros(B), np.zeros(B, np.int64)
    arrays = (task.W, task.first, task.second, task.steps, task.X, task.y, task.lr, task.seeds)
    _run_in_threads(lambda queue: work(queue, rules, _lanes(rules), *arrays, epochs, losses, right), B)
    return Ends(epochs, losses / task.X.shape[1], right)


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


def _rules(task: Task) -> Any:
    from creases.lab._simd import BYTES, SAMPLES
    from creases.lab._training.kernel import CODES, Rules

    b1, b2 = task.betas
    dtype, (_, n, batches) = task.W.dtype, task.shape
    blocks = -(-n // SAMPLES)
    size = blocks * SAMPLES * (task.X.shape[2] + task.y.shape[2]) * BYTES
    resident = task.batch_size is None and size <= MAX_RESIDENT_BYTES
    return Rules(
        widths=np.array(task.widths),
        leak=float(task.leak),
        loss=CODES[task.loss],
        optimizer=int(task.optimizer == "sgd"),
        numbers=np.array([b1, 1 - b1, b2, 1 - b2, task.eps, task.momentum], dtype),
        table=_corrections(task, int(task.steps.max()) + task.epochs * batches).astype(dtype),
        epochs=task.epochs,
        size=0 if task.batch_size is None else task.batch_size,
        need=task.until_correct or 0,
        limit=-inf if task.until_loss is None else task.until_loss,
        resident=resident,
        at=_layout(task, blocks if resident else 1),
    )


def _corrections(task: Task, steps: int) -> Array:
    """Adam's 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) for t = 1, ..., until they no longer change; 1 for others."""
    top = max(task.betas)
    if task.optimizer == "sgd" or not top:
        return np.ones((1, 2))
    t = np.arange(1, min(steps, int(40 / -log(top)) + 1) + 1)
    return np.stack([1 / (1 - task.betas[0] ** t), 1 / np.sqrt(1 - task.betas[1] ** t)], axis=1)


def _layout(task: Task, blocks: int) -> Any:
    from creases.lab._simd import SAMPLES
    from creases.lab._training.kernel import Layout

    P, units = len(task.W), sum(task.widths[1:])
    sizes = [P, P, P, P, units * SAMPLES]
    sizes += [blocks * task.X.shape[2] * SAMPLES, blocks * task.y.shape[2] * SAMPLES, 4 * SAMPLES, 2, 2]
    return Layout(*map(int, np.cumsum([0, *sizes])))


def _lanes(rules: Any) -> Any:
    """Memory of one thread; lanes without a network have zero weights, and stay there."""
    from creases.lab._simd import BYTES, SAMPLES
    from creases.lab._training.kernel import ROUNDS, Lanes

    dtype = rules.numbers.dtype
    L = BYTES // dtype.itemsize
    memory = np.zeros((rules.at.end + 1) * L, dtype)
    memory = memory[-memory.ctypes.data % BYTES // dtype.itemsize :]
    keys, samples = np.zeros((2 * ROUNDS, L), np.uint32), np.zeros((SAMPLES, L), np.uint32)
    return Lanes(memory, np.zeros((6, L), np.int64), keys, samples, np.zeros(L, np.int64), np.zeros(L))


# Checks of the samples and targets that a batch of networks is trained on.

Loss = Literal["cross_entropy", "binary_cross_entropy", "squared_error"]

#: What the targets of each loss are.
TARGETS = {"cross_entropy": "class numbers", "binary_cross_entropy": "zeros and ones", "squared_error": "numbers"}


def check_samples(count: int, widths: Sequence[int], X: Any, y: Any, loss: str, dtype: Any) -> tuple[Array, Array]:
    """Return inputs (1, n, d) or (B, n, d) and targets (1, n, K) or (B, n, K) in the precision ``dtype``.

    ``count`` is the number of networks, B, and ``widths`` are their layers'. K is the number of outputs for
    "squared_error", else 1.
    """
    d, C = widths[0], widths[-1]
    check_choice(loss, TARGETS, "loss")
    if loss == "binary_cross_entropy" and C != 1:
        raise InputError(
            "loss",
            f"fit the networks, which have {C} outputs",
            repr(loss),
            "that is for a single output; use {0}",
            [("loss", "cross_entropy")],
        )
    X, y = as_array(X, "X"), as_array(y, "y")
    if X.dtype.kind not in "biuf":
        raise InputError("X", "be an array of numbers", f"entries of type {X.dtype}")
    if X.ndim not in (2, 3) or X.shape[-1] != d or (X.ndim == 3 and len(X) != count) or not X.shape[-2]:
        raise InputError("X", f"have shape (n, {d}) or ({count}, n, {d})", f"shape {X.shape}")
    n = X.shape[-2]
    X = X.reshape(-1, n, d) if X.ndim == 2 else X
    return _cast("X", X, dtype), _cast("y", _check_targets(y, count, n, C, loss), dtype)


def _cast(name: str, values: Array, dtype: Any) -> Array:
    """Return finite values in another precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.ascontiguousarray(values, dtype)
    if not np.isfinite(cast).all():
        raise InputError(
            name,
            f"be finite in {np.dtype(dtype).name}",
            "NaN, infinite or too large entries",
            "remove these samples, or fill them in",
        )
    return cast


def _check_targets(y: Array, B: int, n: int, C: int, loss: str) -> Array:
    """Return targets (1, n, K) or (B, n, K) from all shapes that are allowed."""
    flat = [(n,), (B, n)] if loss != "squared_error" or C == 1 else []
    full = [(n, C), (B, n, C)] if loss == "squared_error" else []
    what = TARGETS[loss]
    if y.shape not in flat + full:
        raise InputError("y", f"be {what} of shape {' or '.join(map(str, flat + full))}", f"shape {y.shape}")
    y = y[..., None] if y.shape in flat else y
    y = y[None] if y.ndim == 2 else y
    if not (np.issubdtype(y.dtype, np.number) or y.dtype == bool) or np.iscomplexobj(y):
        raise InputError("y", f"be {what}", f"entries of type {y.dtype}")
    if loss == "binary_cross_entropy" and not ((y == 0) | (y == 1)).all():
        raise InputError("y", "be zeros and ones", f"{y.dtype} from {y.min()} to {y.max()}")
    if loss == "cross_entropy" and y.size and (y.dtype.kind not in "iub" or y.min() < 0 or y.max() >= C):
        raise InputError("y", f"be whole class numbers from 0 to {C - 1}", f"{y.dtype} from {y.min()} to {y.max()}")
    return y
