"""The smallest networks that classify all samples correctly (section 3.4.4 of the dissertation).

``exhaustive`` searches all sub-networks of one wide layer, from the smallest on; ``iterative`` removes unit after unit
from deep networks, with random choices and restarts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from creases._schema import INTEGER, NUMBER, instance, optional
from creases._typing import Ints, Progress
from creases._validation import check_arguments, check_count, check_seed
from creases.errors import InputError
from creases.lab import Batch, train
from creases.network import as_network

#: Number of networks that are trained in one call.
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
    epochs, loss, lr
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
                end = train(networks, X, y, epochs=epochs, loss=loss, lr=lr, until_accuracy=1.0)
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


@dataclass(frozen=True)
class Removal:
    """A step of a trajectory: the unit that was removed."""

    layer: int  #: hidden layer of the unit, from 0
    unit: int
    widths: tuple[int, ...]  #: hidden widths after it
    loss: float  #: after fine-tuning
    epochs: int  #: of fine-tuning
    successes: int  #: candidates that classified all samples correctly
    candidates: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A sequence of removals, and the network it ended with."""

    network: Batch  #: one network
    start: int  #: number of the network it began with
    restart: int
    steps: tuple[Removal, ...]
    ended: Literal["", "smallest", "interrupted"]  #: "smallest": no unit could be removed any more

    @property
    def hidden(self) -> tuple[int, ...]:
        """The hidden widths."""
        return self.network.widths[1:-1]

    @property
    def units(self) -> int:
        """The number of hidden units."""
        return sum(self.hidden)


@dataclass(frozen=True, eq=False)
class IterativeResult:
    """All trajectories."""

    trajectories: tuple[Trajectory, ...]

    @property
    def best(self) -> Trajectory:
        """The trajectory with the fewest hidden units; of these the one with the fewest layers."""
        return min(self.trajectories, key=lambda trajectory: (trajectory.units, len(trajectory.hidden)))


@check_arguments(lr=NUMBER)
def iterative(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    restarts: int = 10,
    epochs: int = 500,
    loss: Literal["cross_entropy", "binary_cross_entropy"] = "binary_cross_entropy",
    lr: float = 0.025,
    seed: int = 0,
    progress: Progress | None = None,
) -> IterativeResult:
    """Remove units one by one from deep networks, while they can classify all samples correctly.

    The method of the dissertation [1]_, section 3.4.4 (Table 3.5). In each step every unit is removed in turn and the
    rest fine-tuned (Adam, full batch), each candidate until it classifies all samples correctly or ``epochs`` are over.
    Of those that succeed one is drawn, with a probability proportional to the inverse of its loss, and pruning
    continues with it. Candidates of one shape are trained as one batch, those of all restarts and all networks
    together. Removing the only unit of a layer removes the layer (the layers around it become one), so networks lose
    depth as well.

    The dissertation trains every candidate for a fixed number of epochs before it takes its loss; here a candidate is
    frozen once it succeeds: most succeed at once, and cost nothing.

    Parameters
    ----------
    model
        A ``torch.nn.Sequential`` of linear layers with bends between, a :class:`creases.Network`, a file name, or a
        :class:`creases.lab.Batch` of one or more networks.
    X, y
        Samples (n, d) and classes (n,); see :func:`creases.lab.train`.
    restarts
        Number of trajectories of each network, which differ by their random choices.
    epochs, loss, lr
        Settings of the fine-tuning; see :func:`creases.lab.train`.
    seed
        Seed of the random choices.
    progress
        Called as ``progress("step 3, smallest 5 units", done, total)`` after each step, with numbers of trajectories.

    Returns
    -------
    IterativeResult
        After Ctrl-C the state reached so far, with ``ended="interrupted"``.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.
    """
    batch = as_batch(model)
    check_count(restarts, "restarts")
    check_seed(seed)
    accuracy = train(batch, X, y, epochs=0, loss=loss, until_accuracy=1.0).accuracy
    if not (accuracy == 1).all():
        worst = int(np.flatnonzero(accuracy < 1)[0])
        raise InputError(
            "model",
            "classify all samples correctly",
            f"{accuracy[worst]:.1%} for network {worst}",
            "train it until it does",
        )
    running = [
        Trajectory(batch[n : n + 1], n, restart, (), "") for n in range(batch.count) for restart in range(restarts)
    ]
    keys = [(trajectory.start, trajectory.restart) for trajectory in running]
    generators = {key: np.random.default_rng((seed, *key)) for key in keys}
    settings: dict[str, Any] = {"epochs": epochs, "loss": loss, "lr": lr, "until_accuracy": 1.0}
    step = 0
    try:
        while any(not trajectory.ended for trajectory in running):
            _advance(running, X, y, settings, generators)
            step += 1
            if progress is not None:
                smallest = min(trajectory.units for trajectory in running)
                done = sum(bool(trajectory.ended) for trajectory in running)
                progress(f"step {step}, smallest {smallest} units", done, len(running))
    except KeyboardInterrupt:
        running = [
            trajectory if trajectory.ended else replace(trajectory, ended="interrupted") for trajectory in running
        ]
    return IterativeResult(tuple(running))


def _advance(
    running: list[Trajectory],
    X: ArrayLike,
    y: ArrayLike,
    settings: dict[str, Any],
    generators: dict[tuple[int, int], np.random.Generator],
) -> None:
    """Advance every trajectory that has not ended by one step."""
    shapes: dict[tuple[int, ...], list[tuple[int, int, Batch]]] = {}
    for k, trajectory in enumerate(running):
        if not trajectory.ended:
            for layer in range(len(trajectory.hidden)):
                part = without_each(trajectory.network, 0, layer)
                shapes.setdefault(part.widths, []).append((k, layer, part))
    candidates: dict[int, list[_Candidate]] = {}
    for parts in shapes.values():
        for k, layer, unit, network, loss, epochs in _tune_candidates(parts, X, y, settings):
            candidates.setdefault(k, []).append(_Candidate(layer, unit, network, loss, epochs))
    counts = {
        k: sum(part.count for parts in shapes.values() for i, _, part in parts if i == k) for k in range(len(running))
    }
    for k, trajectory in enumerate(running):
        if not trajectory.ended:
            rng = generators[trajectory.start, trajectory.restart]
            running[k] = _draw_candidate(trajectory, candidates.get(k, []), counts[k], rng)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A network with one unit less that classifies all samples correctly."""

    layer: int
    unit: int
    network: Batch
    loss: float
    epochs: int


def _tune_candidates(parts: list[tuple[int, int, Batch]], X: ArrayLike, y: ArrayLike, settings: dict[str, Any]) -> Any:
    """Train candidates of one shape together; yield those that succeed, with their trajectory, layer and unit."""
    batch = Batch.join([part for _, _, part in parts])
    origin = [(k, layer, unit) for k, layer, part in parts for unit in range(part.count)]
    for start in range(0, batch.count, BLOCK):
        done = train(batch[start : start + BLOCK], X, y, **settings)
        for i in np.flatnonzero(done.accuracy == 1).tolist():
            network = done.batch[i : i + 1]
            yield *origin[start + i], network, float(done.losses[i]), int(done.epochs[i])


def _draw_candidate(
    trajectory: Trajectory, candidates: list[_Candidate], tried: int, rng: np.random.Generator
) -> Trajectory:
    """Continue a trajectory with a candidate drawn by its inverse loss; end it if there is none."""
    if not candidates:
        return replace(trajectory, ended="smallest")
    candidates = sorted(candidates, key=lambda candidate: (candidate.layer, candidate.unit))
    scores = np.array([1 / max(candidate.loss, 1e-12) for candidate in candidates])
    choice = candidates[int(rng.choice(len(candidates), p=scores / scores.sum()))]
    hidden = choice.network.widths[1:-1]
    removal = Removal(choice.layer, choice.unit, hidden, choice.loss, choice.epochs, len(candidates), tried)
    ended: Literal["", "smallest"] = "" if hidden else "smallest"
    return replace(trajectory, network=choice.network, steps=(*trajectory.steps, removal), ended=ended)


def as_batch(model: Any) -> Batch:
    """Return a batch, or one of a single model: linear layers with ReLUs (or leaky ones) between."""
    if not isinstance(model, Batch | nn.Module):
        model = as_network(model).module()
    if isinstance(model, Batch):
        batch = model
    elif isinstance(model, nn.Sequential) and len(model) and isinstance(model[0], nn.Linear):
        dtype = np.float64 if str(model[0].weight.dtype) == "torch.float64" else np.float32
        batch = Batch.from_modules([model], dtype=dtype)
    else:
        raise InputError(
            "model",
            "be a lab.Batch or a torch.nn.Sequential of linear layers with bends between",
            type(model).__name__,
        )
    if not batch.count:
        raise InputError("model", "have at least one network", "an empty batch")
    if not all(np.isfinite(part).all() for part in (*batch.weights, *batch.biases)):
        raise InputError("model", "have finite weights", "NaN or infinite ones")
    return batch


def select_units(batch: Batch, n: int, layer: int, units: Ints) -> Batch:
    """Return network n with only some units of a hidden layer, for each choice (c, k) of them: c networks."""
    count = len(units)
    weights = [np.broadcast_to(W[n], (count, *W[n].shape)) for W in batch.weights]
    biases = [np.broadcast_to(b[n], (count, *b[n].shape)) for b in batch.biases]
    weights[layer], biases[layer] = batch.weights[layer][n][units], batch.biases[layer][n][units]
    after = batch.weights[layer + 1][n]  # (out, width)
    weights[layer + 1] = np.ascontiguousarray(after[:, units].swapaxes(0, 1))  # (c, out, k)
    return Batch(tuple(weights), tuple(biases), batch.leak)


@check_arguments(batch=instance("Batch"))
def sub_networks(batch: Batch, k: int) -> Batch:
    """Return all sub-networks with k units of a network with one hidden layer, in the order of combinations."""
    if check_count(k, "k") > batch.widths[1]:
        raise InputError("k", f"be at most {batch.widths[1]}, the number of hidden units", f"{k}")
    return select_units(batch, 0, 0, np.array(list(combinations(range(batch.widths[1]), k))))


def without_each(batch: Batch, n: int, layer: int) -> Batch:
    """Return network n without each unit of a hidden layer in turn: as many networks as the layer has units.

    Removing the only unit of a layer removes the layer: the unit's bend is dropped, and the layers before and after
    become one, ``(W_2 W_1, W_2 b_1 + b_2)``. Where the unit is always on this is the same function.
    """
    width = batch.widths[layer + 1]
    if width > 1:
        units = np.array([[u for u in range(width) if u != removed] for removed in range(width)])
        return select_units(batch, n, layer, units)
    first, second = batch.weights[layer][n : n + 1], batch.weights[layer + 1][n : n + 1]
    product = second @ first
    offset = (second @ batch.biases[layer][n : n + 1, :, None])[..., 0] + batch.biases[layer + 1][n : n + 1]
    weights = [W[n : n + 1] for W in batch.weights]
    biases = [b[n : n + 1] for b in batch.biases]
    weights[layer : layer + 2], biases[layer : layer + 2] = [product], [offset]
    return Batch(tuple(weights), tuple(biases), batch.leak)
