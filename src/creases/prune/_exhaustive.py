"""All sub-networks of a wide layer, from the smallest on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Ints
from creases.errors import InputError
from creases.lab import Batch, train
from creases.prune._sub_networks import as_batch, select_units

#: Sub-networks that are trained in one call.
AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class ExhaustiveResult:
    """The smallest sub-networks that have all samples right."""

    width: int | None  #: of the smallest; None where no sub-network has all right
    successes: int  #: how many of that width
    choices: int  #: how many there are of that width
    units: Ints  #: (successes, width) which units of the original each has
    networks: Batch | None  #: the successes, fine-tuned
    epochs: Ints  #: (successes,) for how many each was trained
    tried: dict[int, int]  #: sub-networks that were trained, by width
    complete: bool = True  #: False after Ctrl-C: there may be more successes of this width, or none was tried further


def exhaustive(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epochs: int = 4000,
    loss: Literal["cross_entropy", "binary_cross_entropy"] = "binary_cross_entropy",
    lr: float = 0.025,
    smallest: int = 1,
    largest: int | None = None,
    most: int = 1_000_000,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> ExhaustiveResult:
    """Fine-tune all sub-networks of width 1, 2, ... of a network with one hidden layer until some succeed.

    Dissertation, section 3.4.4 (Table 3.4). Every choice of k of the w hidden units is a network; all ``C(w, k)`` are
    trained as one batch (Adam, full batch), each until it has all samples right or ``epochs`` are over. The first width
    with a success is the answer, with the number of successes.

    Parameters
    ----------
    model
        A ``torch.nn.Sequential`` (linear, bend, linear) or a :class:`creases.lab.Batch` of one network.
    X, y
        Samples (n, d) and their classes (n,): as :func:`creases.lab.train` takes them.
    smallest, largest
        Widths to try; all if not given.
    most
        Sub-networks to train at most; refused beforehand if there are more.
    progress
        Called with the width and the number of sub-networks of it that are done.

    Examples
    --------
    >>> from creases.lab import Batch, train
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> wide = train(Batch.initial(1, [2, 6, 1], seed=3), X, y, epochs=2000, loss="binary_cross_entropy", lr=0.025, until_accuracy=1.0)
    >>> found = exhaustive(wide.batch, X, y, epochs=1000)
    >>> found.width, found.choices
    (2, 15)
    """
    batch = as_batch(model)
    if batch.count != 1 or len(batch.widths) != 3:
        raise InputError(
            f"model: expected one network with one hidden layer, got {batch.count} of widths {batch.widths}"
        )
    w = batch.widths[1]
    largest = w if largest is None else largest
    if not 1 <= smallest <= largest <= w:
        raise InputError(f"smallest, largest: expected widths from 1 to {w}, got {smallest} and {largest}")
    tried: dict[int, int] = {}
    for k in range(smallest, largest + 1):
        if comb(w, k) + sum(tried.values()) > most:
            raise InputError(
                f"most: {comb(w, k)} sub-networks of width {k} are more than {most} together with those before; give a "
                f"larger number, or largest={k - 1}"
            )
        tried[k], complete = 0, True
        parts: list[tuple[Ints, Batch, Ints]] = []
        try:
            for units in _choices(w, k):
                networks = select_units(batch, 0, 0, units)
                end = train(networks, X, y, epochs=epochs, loss=loss, lr=lr, until_accuracy=1.0, device=device)
                right = np.flatnonzero(end.accuracy == 1)
                parts.append((units[right], end.batch[right], end.epochs[right]))
                tried[k] += len(units)
                if progress is not None:
                    progress(k, tried[k])
        except KeyboardInterrupt:
            complete = False
        if not complete or any(len(units) for units, _, _ in parts):
            return _ended(w, k, parts, tried, complete)
    return _ended(w, k, parts, tried, True)


def _ended(
    w: int, k: int, parts: list[tuple[Ints, Batch, Ints]], tried: dict[int, int], complete: bool
) -> ExhaustiveResult:
    """What was found at the last width that was tried."""
    units = np.concatenate([np.zeros((0, k), np.int64), *(units for units, _, _ in parts)])
    epochs = np.concatenate([np.zeros(0, np.int64), *(epochs for _, _, epochs in parts)])
    if not len(units):
        return ExhaustiveResult(None, 0, 0, units, None, epochs, tried, complete)
    networks = Batch.join([networks for _, networks, _ in parts])
    return ExhaustiveResult(k, len(units), comb(w, k), units, networks, epochs, tried, complete)


def _choices(w: int, k: int) -> Iterator[Ints]:
    """All choices of k of w units, in blocks (c, k)."""
    every = combinations(range(w), k)
    while block := list(islice(every, AT_ONCE)):
        yield np.array(block)
