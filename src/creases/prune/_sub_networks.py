"""The smallest networks within a trained one that still classify all samples correctly: dissertation, section 3.4.4."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._schema import INTEGER, NUMBER, optional
from creases._text import OneLine
from creases._typing import Ints, Progress
from creases._validation import check_arguments, check_count, check_seed
from creases.errors import InputError
from creases.lab import Batch, train
from creases.network import as_network

#: Number of networks that are trained in one call.
BLOCK = 4096

Loss = Literal["cross_entropy", "binary_cross_entropy"]


@dataclass(frozen=True, eq=False, repr=False)
class SubNetworks(OneLine):
    """The smallest sub-networks that classify all samples correctly."""

    units: Ints  #: (successes, width) the units of the original that each has
    networks: Batch | None  #: the successes, fine-tuned; None if there is none
    tried: dict[int, int]  #: number of sub-networks that were trained, by width
    complete: bool  #: False after Ctrl-C: there may be more successes of this width


@check_arguments(lr=NUMBER, max_units=optional(INTEGER))
def exhaustive(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epochs: int = 4000,
    loss: Loss = "binary_cross_entropy",
    lr: float = 0.025,
    max_units: int | None = None,
    progress: Progress | None = None,
) -> SubNetworks:
    """Fine-tune all sub-networks of 1, 2, ... units of a network with one hidden layer until some succeed.

    The method for wide networks of Sattelberg's dissertation (2026), section 3.4.4 (Table 3.4). Each of the ``C(w, k)``
    choices of k of the w units is trained until it classifies all samples correctly or ``epochs`` are over.

    Parameters
    ----------
    model
        A torch module, a :class:`creases.Network` or a file name; or a :class:`creases.lab.Batch` of one network.
    X, y
        Samples (n, d) and their classes (n,).
    epochs, loss, lr
        Settings of the fine-tuning (Adam, full batch), as in :func:`creases.lab.train`.
    max_units
        Largest width to try; that of the network by default.
    progress
        Called as ``progress("sub-networks of width k", done, total)``.

    Examples
    --------
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> options = {"loss": "binary_cross_entropy", "lr": 0.025, "until_accuracy": 1.0}
    >>> wide = train(Batch.initial(1, [2, 6, 1], seed=3), X, y, epochs=2000, **options)
    >>> smallest = exhaustive(wide.batch, X, y, epochs=1000)
    >>> smallest.networks.widths, smallest.tried  # no unit alone computes XOR
    ((2, 2, 1), {1: 6, 2: 15})
    """
    batch = model if isinstance(model, Batch) else Batch.from_modules([as_network(model).module()], dtype=np.float64)
    if batch.count != 1 or len(batch.widths) != 3:
        raise InputError("model", "be one network with one hidden layer", f"{batch.count} of widths {batch.widths}")
    w = batch.widths[1]
    last = w if max_units is None else max_units
    if not 1 <= last <= w:
        raise InputError("max_units", f"be from 1 to {w}", f"{last}")
    tried: dict[int, int] = {}
    for k in range(1, last + 1):
        tried[k], choices, complete = 0, combinations(range(w), k), True
        parts, networks = [np.zeros((0, k), np.int64)], list[Batch]()
        try:
            while block := list(islice(choices, BLOCK)):
                smaller = select_units(batch, 0, np.array(block))
                done = train(smaller, X, y, epochs=epochs, loss=loss, lr=lr, until_accuracy=1.0)
                parts.append(np.array(block)[done.accuracy == 1])
                networks.append(done.batch[done.accuracy == 1])
                tried[k] += len(block)
                if progress is not None:
                    progress(f"sub-networks of width {k}", tried[k], comb(w, k))
        except KeyboardInterrupt:
            complete = False
        units = np.concatenate(parts)
        if len(units) or not complete:
            break
    return SubNetworks(units, Batch.join(networks) if len(units) else None, tried, complete)


@dataclass(frozen=True)
class Removal:
    """A step of a trajectory: the unit that was removed."""

    layer: int  #: hidden layer of the unit, from 0
    unit: int
    widths: tuple[int, ...]  #: hidden widths after it
    loss: float  #: after fine-tuning


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(OneLine):
    """The units that were removed from a network one by one, and what is left."""

    network: Batch  #: one network
    steps: tuple[Removal, ...]
    ended: Literal["smallest", "interrupted"]  #: "smallest": no unit could be removed any more


@check_arguments(lr=NUMBER)
def iterative(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    restarts: int = 10,
    epochs: int = 500,
    loss: Loss = "binary_cross_entropy",
    lr: float = 0.025,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Trajectory, ...]:
    """Remove units of deep networks one by one while all samples are classified correctly; return the trajectories.

    The method for deep networks of Sattelberg's dissertation (2026), section 3.4.4 (Table 3.5). In each step every unit
    is removed in turn and the rest fine-tuned until it classifies all samples correctly or ``epochs`` are over. Of the
    units without which that succeeds one is drawn, with a probability proportional to the inverse of the loss (which
    the dissertation takes after all epochs). Without the only unit of a layer the layers around it become one.

    Parameters
    ----------
    model, X, y, epochs, loss, lr
        As in :func:`exhaustive`; a :class:`creases.lab.Batch` may have several networks of any depth.
    restarts, seed
        Number of trajectories of each network, and the seed of their random choices.
    progress
        Called as ``progress("trajectory 1, 5 units", done, total)`` after each step, with numbers of trajectories.

    Returns
    -------
    tuple of Trajectory
        Those of the first network first. After Ctrl-C the ones so far, of which the last is ``"interrupted"``.
    """
    batch = model if isinstance(model, Batch) else Batch.from_modules([as_network(model).module()], dtype=np.float64)
    total = batch.count * check_count(restarts, "restarts")
    check_seed(seed)
    if (accuracy := train(batch, X, y, epochs=0, loss=loss).accuracy).min(initial=1) < 1:
        got = f"{accuracy.min():.1%} for network {accuracy.argmin()}"
        raise InputError("model", "classify all samples correctly", got, "train it until it does")
    trajectories: list[Trajectory] = []
    for number in range(total):
        network, steps = batch[number // restarts], list[Removal]()
        rng = np.random.default_rng((seed, *divmod(number, restarts)))
        try:
            while candidates := _candidates(network, X, y, epochs=epochs, loss=loss, lr=lr):
                scores = np.array([1 / max(step.loss, 1e-12) for _, step in candidates])
                network, step = candidates[int(rng.choice(len(candidates), p=scores / scores.sum()))]
                steps.append(step)
                if progress is not None:
                    progress(f"trajectory {number + 1}, {sum(step.widths)} units", number, total)
        except KeyboardInterrupt:
            return (*trajectories, Trajectory(network, tuple(steps), "interrupted"))
        trajectories.append(Trajectory(network, tuple(steps), "smallest"))
    return tuple(trajectories)


def _candidates(network: Batch, X: ArrayLike, y: ArrayLike, **settings: Any) -> list[tuple[Batch, Removal]]:
    """Return the networks without one unit that classify all samples correctly, fine-tuned."""
    candidates = []
    for layer in range(len(network.widths) - 2):
        done = train(without_each(network, layer), X, y, until_accuracy=1.0, **settings)
        for unit in np.flatnonzero(done.accuracy == 1).tolist():
            widths, loss = done.batch.widths[1:-1], float(done.losses[unit])
            candidates.append((done.batch[unit], Removal(layer, unit, widths, loss)))
    return candidates


def select_units(network: Batch, layer: int, units: Ints) -> Batch:
    """Return a batch of one network with only some units of a hidden layer, for each choice (c, k) of them."""
    weights, biases = (
        [np.repeat(part, len(units), axis=0) for part in parts] for parts in (network.weights, network.biases)
    )
    weights[layer], biases[layer] = network.weights[layer][0, units], network.biases[layer][0, units]
    weights[layer + 1] = network.weights[layer + 1][0][:, units].swapaxes(0, 1)  # (c, out, k)
    return Batch(tuple(weights), tuple(biases), network.leak)


def without_each(network: Batch, layer: int) -> Batch:
    """Return a batch of one network without each unit of a layer in turn; an only unit's bend goes, with the layer."""
    width = network.widths[layer + 1]
    if width > 1:
        return select_units(network, layer, np.array(list(combinations(range(width), width - 1)))[::-1])
    (first, second), (before, after) = network.weights[layer : layer + 2], network.biases[layer : layer + 2]
    weights, biases = list(network.weights), list(network.biases)
    weights[layer : layer + 2] = [second @ first]
    biases[layer : layer + 2] = [(second @ before[..., None])[..., 0] + after]
    return Batch(tuple(weights), tuple(biases), network.leak)
