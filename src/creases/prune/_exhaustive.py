"""Exhaustive search over all sub-networks of a wide layer, from the smallest on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._arguments import check_arguments
from creases._schema import INTEGER, NUMBER, optional
from creases._typing import Ints, Progress
from creases.errors import InputError
from creases.lab import Batch, train
from creases.prune._sub_networks import as_batch, select_units

#: Number of sub-networks that are trained in one call.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class ExhaustiveResult:
    """The smallest sub-networks that classify all samples correctly."""

    width: int | None  #: of the smallest; None if no sub-network succeeds
    successes: int  #: number of successful ones of that width
    choices: int  #: number of sub-networks of that width
    units: Ints  #: (successes, width) which units of the original each has
    networks: Batch | None  #: the successes, fine-tuned
    epochs: Ints  #: (successes,) how many epochs each was trained for
    tried: dict[int, int]  #: sub-networks that were trained, by width
    complete: bool = True  #: False after Ctrl-C: there may be more successes of this width


@check_arguments(lr=NUMBER, min_units=INTEGER, max_units=optional(INTEGER), max_networks=INTEGER)
def exhaustive(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epochs: int = 4000,
    loss: Literal["cross_entropy", "binary_cross_entropy"] = "binary_cross_entropy",
    lr: float = 0.025,
    min_units: int = 1,
    max_units: int | None = None,
    max_networks: int = 1_000_000,
    device: str = "cpu",
    progress: Progress | None = None,
) -> ExhaustiveResult:
    """Fine-tune all sub-networks of width 1, 2, ... of a network with one hidden layer until some succeed.

    The method of the dissertation [1]_, section 3.4.4 (Table 3.4). Every choice of k of the w hidden units is a
    network; all ``C(w, k)`` are trained as one batch (Adam, full batch), each until it classifies all samples correctly
    or ``epochs`` are over. The first width with a success is the answer, with the number of successes.

    Parameters
    ----------
    model
        A ``torch.nn.Sequential`` (linear, bend, linear), a :class:`creases.Network`, a file name, or a
        :class:`creases.lab.Batch` of one network.
    X, y
        Samples (n, d) and their classes (n,); see :func:`creases.lab.train`.
    epochs, loss, lr, device
        Settings of the fine-tuning; see :func:`creases.lab.train`.
    min_units, max_units
        Widths to try; all by default.
    max_networks
        Maximum number of sub-networks to train; an error is raised before training more.
    progress
        Called as ``progress("sub-networks of width k", done, total)``.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.

    Examples
    --------
    >>> from creases.lab import Batch, train
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> options = {"loss": "binary_cross_entropy", "lr": 0.025, "until_accuracy": 1.0}
    >>> wide = train(Batch.initial(1, [2, 6, 1], seed=3), X, y, epochs=2000, **options)
    >>> result = exhaustive(wide.batch, X, y, epochs=1000)
    >>> result.width, result.choices
    (2, 15)
    """
    batch = as_batch(model)
    if batch.count != 1 or len(batch.widths) != 3:
        raise InputError("model", "be one network with one hidden layer", f"{batch.count} of widths {batch.widths}")
    w = batch.widths[1]
    max_units = w if max_units is None else max_units
    if not 1 <= min_units <= max_units <= w:
        raise InputError(
            "max_units", f"be from min_units (at least 1) to {w}", f"{max_units} with min_units={min_units}"
        )
    tried: dict[int, int] = {}
    for k in range(min_units, max_units + 1):
        if comb(w, k) + sum(tried.values()) > max_networks:
            raise InputError(
                "max_networks",
                f"be at least {comb(w, k) + sum(tried.values())}, to train the {comb(w, k)} sub-networks of width {k} "
                "after the smaller ones",
                f"{max_networks}",
                "give a larger number, or {0}",
                [("max_units", k - 1)],
            )
        tried[k], complete = 0, True
        parts: list[tuple[Ints, Batch, Ints]] = []
        try:
            for units in _choices(w, k):
                networks = select_units(batch, 0, 0, units)
                end = train(networks, X, y, epochs=epochs, loss=loss, lr=lr, until_accuracy=1.0, device=device)
                solved = np.flatnonzero(end.accuracy == 1)
                parts.append((units[solved], end.batch[solved], end.epochs[solved]))
                tried[k] += len(units)
                if progress is not None:
                    progress(f"sub-networks of width {k}", tried[k], comb(w, k))
        except KeyboardInterrupt:
            complete = False
        if not complete or any(len(units) for units, _, _ in parts):
            return _result(w, k, parts, tried, complete)
    return _result(w, k, parts, tried, True)


def _result(
    w: int, k: int, parts: list[tuple[Ints, Batch, Ints]], tried: dict[int, int], complete: bool
) -> ExhaustiveResult:
    """Return the result of the last width that was tried."""
    units = np.concatenate([np.zeros((0, k), np.int64), *(units for units, _, _ in parts)])
    epochs = np.concatenate([np.zeros(0, np.int64), *(epochs for _, _, epochs in parts)])
    if not len(units):
        return ExhaustiveResult(None, 0, 0, units, None, epochs, tried, complete)
    networks = Batch.join([networks for _, networks, _ in parts])
    return ExhaustiveResult(k, len(units), comb(w, k), units, networks, epochs, tried, complete)


def _choices(w: int, k: int) -> Iterator[Ints]:
    """Yield all choices of k of w units, in blocks (c, k)."""
    every = combinations(range(w), k)
    while block := list(islice(every, BLOCK)):
        yield np.array(block)
