"""Iterative pruning of deep networks, unit by unit, with random choices and restarts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._arguments import check_arguments
from creases._schema import NUMBER
from creases._typing import Progress
from creases._validation import check_count, check_seed
from creases.errors import InputError
from creases.lab import Batch, train
from creases.prune._sub_networks import as_batch, without_each

#: Number of networks that are trained in one call.
BLOCK = 4096


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
    device: str = "cpu",
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
    epochs, loss, lr, device
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
    settings: dict[str, Any] = {"epochs": epochs, "loss": loss, "lr": lr, "until_accuracy": 1.0, "device": device}
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
