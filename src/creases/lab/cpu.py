"""The engine of the CPU: the compiled kernel, run by ``torch.get_num_threads()`` threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import inf, log
from typing import Any

import numpy as np
import torch

from creases.lab.task import Array, Ends, Task

#: Samples are kept in the lanes' memory from epoch to epoch if they take at most so many bytes.
KEPT = 1 << 18


def run(task: Task) -> Ends:
    """Train the networks of a task, in place."""
    from creases.lab.kernel import judge, work

    B, rules = task.W.shape[1], _rules(task)
    epochs, losses, right = np.zeros(B, np.int64), np.zeros(B), np.zeros(B, np.int64)
    state, data = (task.W, task.first, task.second, task.steps), (task.X, task.y)
    if task.epochs:
        _shared(lambda queue: work(queue, rules, _lanes(task, rules), *state, *data, task.lr, task.seeds, epochs), B)
    _shared(lambda queue: judge(queue, rules, _lanes(task, rules), task.W, *data, losses, right), B)
    return Ends(epochs, losses, right)


def _shared(do: Callable[[Array], None], count: int) -> None:
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
    from creases.lab.kernel import Rules
    from creases.lab.losses import CODES
    from creases.lab.vectors import BYTES, SAMPLES

    b1, b2 = task.betas
    dtype, (_, n, batches) = task.W.dtype, task.shape
    samples = -(-n // SAMPLES) * SAMPLES * (task.X.shape[2] + task.y.shape[2]) * BYTES
    return Rules(
        widths=np.array(task.widths),
        leak=float(task.leak),
        loss=CODES[task.loss],
        optimizer=int(task.optimizer == "sgd"),
        numbers=np.array([b1, 1 - b1, b2, 1 - b2, task.eps, task.momentum], dtype),
        table=_corrections(task, int(task.steps.max()) + task.epochs * batches).astype(dtype),
        epochs=task.epochs,
        size=0 if task.batch_size is None else task.batch_size,
        need=task.until_right or 0,
        limit=-inf if task.until_loss is None else task.until_loss,
        kept=task.batch_size is None and samples <= KEPT,
    )


def _corrections(task: Task, steps: int) -> Array:
    """Adam's 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) for t = 1, ..., until they no longer change; 1 for others."""
    top = max(task.betas)
    if task.optimizer == "sgd" or not top:
        return np.ones((1, 2))
    t = np.arange(1, min(steps, int(40 / -log(top)) + 1) + 1)
    return np.stack([1 / (1 - task.betas[0] ** t), 1 / np.sqrt(1 - task.betas[1] ** t)], axis=1)


def _lanes(task: Task, rules: Any) -> Any:
    """Memory for one thread; lanes without a network have zero weights, and stay there."""
    from creases.lab.kernel import Lanes
    from creases.lab.order import ROUNDS
    from creases.lab.vectors import BYTES, SAMPLES

    dtype, n = task.W.dtype, task.X.shape[1]
    P, L, units = len(task.W), BYTES // dtype.itemsize, sum(task.widths[1:])
    wide, blocks = SAMPLES * L, -(-n // SAMPLES) if rules.kept else 1
    sizes = [P * L] * 4 + [units * wide] * 2
    sizes += [blocks * task.X.shape[2] * wide, blocks * task.y.shape[2] * wide, 4 * wide, 2 * L, 2 * L]
    return Lanes(
        *_aligned(sizes, dtype, BYTES),
        totals=np.zeros(L),
        which=np.zeros(L, np.int64),
        alive=np.zeros(L, bool),
        epoch=np.zeros(L, np.int64),
        step=np.zeros(L, np.int64),
        keys=np.zeros((2 * ROUNDS, L), np.uint32),
        chosen=np.zeros(L, np.uint32),
        counted=np.zeros(1, np.int64),
    )


def _aligned(sizes: list[int], dtype: Any, to: int) -> list[Array]:
    """Flat arrays of zeros, one after another, of which each begins at a multiple of ``to`` bytes."""
    step = to // dtype.itemsize
    starts = np.cumsum([0, *(-(-size // step) * step for size in sizes)])
    memory = np.zeros(int(starts[-1]) + step, dtype)
    memory = memory[-memory.ctypes.data % to // dtype.itemsize :]
    return [memory[start : start + size] for (start, _), size in zip(pairwise(starts), sizes, strict=True)]
