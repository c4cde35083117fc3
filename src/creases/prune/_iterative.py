"""One unit after another out of deep networks, chosen by chance and by how well the rest does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases.errors import InputError
from creases.lab import Batch, train
from creases.prune._sub_networks import as_batch, without_each

#: Networks that are trained in one call.
AT_ONCE = 4096


@dataclass(frozen=True)
class Removal:
    """One step of a pruning."""

    layer: int  #: of the unit, from 0
    unit: int
    widths: tuple[int, ...]  #: hidden widths after it
    loss: float  #: after fine-tuning
    epochs: int  #: of fine-tuning
    successes: int  #: candidates that had all samples right
    candidates: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One pruning: the network it ended with, and how it got there."""

    network: Batch  #: one network
    start: int  #: which of the given networks it began with
    restart: int
    steps: tuple[Removal, ...]
    ended: Literal["", "smallest", "interrupted"]  #: "smallest": no unit could be removed any more

    @property
    def hidden(self) -> tuple[int, ...]:
        """Hidden widths."""
        return self.network.widths[1:-1]

    @property
    def units(self) -> int:
        """Hidden units."""
        return sum(self.hidden)


@dataclass(frozen=True, eq=False)
class IterativeResult:
    """All prunings."""

    trajectories: tuple[Trajectory, ...]

    @property
    def best(self) -> Trajectory:
        """The one with the fewest hidden units; of these the one with the fewest layers."""
        return min(self.trajectories, key=lambda one: (one.units, len(one.hidden)))


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
    progress: Callable[[int, int, int], None] | None = None,
) -> IterativeResult:
    """Remove units one by one from deep networks that have all samples right, as long as they can have all right again.

    Dissertation, section 3.4.4 (Table 3.5). In each step every unit is removed in turn and the rest fine-tuned (Adam,
    full batch), each candidate until it has all samples right or ``epochs`` are over. Of those that succeed one is
    drawn, with a probability proportional to the inverse of its loss; with it pruning goes on. Candidates of one
    shape are trained as one batch, those of all restarts and all given networks together. The only unit of a layer
    takes the layer with it (its bend is left out: the layers around it become one), so networks get less deep, too.

    The dissertation trains every candidate for a fixed number of epochs before it takes its loss; here a candidate
    rests once it is right: most are from the start, and cost nothing.

    Parameters
    ----------
    model
        A ``torch.nn.Sequential`` of linear layers with bends between, or a :class:`creases.lab.Batch` of one or more.
    X, y
        Samples (n, d) and classes (n,), as :func:`creases.lab.train` takes them.
    restarts
        Prunings of each network; chance makes them different.
    progress
        Called with the step, the number of prunings that go on, and the hidden units of the smallest.

    Returns
    -------
    Iterative
        After Ctrl-C what was reached so far, with ``ended="interrupted"``.
    """
    batch = as_batch(model)
    if restarts < 1:
        raise InputError(f"restarts: expected at least 1, got {restarts!r}")
    right = train(batch, X, y, epochs=0, loss=loss, until_accuracy=1.0).accuracy
    if not (right == 1).all():
        wrong = int(np.flatnonzero(right < 1)[0])
        raise InputError(
            f"model: network {wrong} has {right[wrong]:.1%} of the samples right; train it until it has all of them"
        )
    running = [
        Trajectory(batch[n : n + 1], n, restart, (), "") for n in range(batch.count) for restart in range(restarts)
    ]
    chance = {(one.start, one.restart): np.random.default_rng((seed, one.start, one.restart)) for one in running}
    settings: dict[str, Any] = {"epochs": epochs, "loss": loss, "lr": lr, "until_accuracy": 1.0, "device": device}
    step = 0
    try:
        while any(not one.ended for one in running):
            _advance(running, X, y, settings, chance)
            step += 1
            if progress is not None:
                progress(step, sum(not one.ended for one in running), min(one.units for one in running))
    except KeyboardInterrupt:
        running = [one if one.ended else replace(one, ended="interrupted") for one in running]
    return IterativeResult(tuple(running))


def _advance(
    running: list[Trajectory],
    X: ArrayLike,
    y: ArrayLike,
    settings: dict[str, Any],
    chance: dict[tuple[int, int], np.random.Generator],
) -> None:
    """One step of every pruning that goes on."""
    shapes: dict[tuple[int, ...], list[tuple[int, int, Batch]]] = {}
    for k, one in enumerate(running):
        if not one.ended:
            for layer in range(len(one.hidden)):
                part = without_each(one.network, 0, layer)
                shapes.setdefault(part.widths, []).append((k, layer, part))
    found: dict[int, list[_Candidate]] = {}
    for parts in shapes.values():
        for k, layer, unit, network, loss, epochs in _tuned(parts, X, y, settings):
            found.setdefault(k, []).append(_Candidate(layer, unit, network, loss, epochs))
    counts = {
        k: sum(part.count for parts in shapes.values() for i, _, part in parts if i == k) for k in range(len(running))
    }
    for k, one in enumerate(running):
        if not one.ended:
            running[k] = _chosen(one, found.get(k, []), counts[k], chance[one.start, one.restart])


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A network with one unit less that has all samples right."""

    layer: int
    unit: int
    network: Batch
    loss: float
    epochs: int


def _tuned(parts: list[tuple[int, int, Batch]], X: ArrayLike, y: ArrayLike, settings: dict[str, Any]) -> Any:
    """Train candidates of one shape together; those that succeed, with the pruning, layer and unit they belong to."""
    whole = Batch.join([part for _, _, part in parts])
    origin = [(k, layer, unit) for k, layer, part in parts for unit in range(part.count)]
    for start in range(0, whole.count, AT_ONCE):
        done = train(whole[start : start + AT_ONCE], X, y, **settings)
        for i in np.flatnonzero(done.accuracy == 1).tolist():
            network = done.batch[i : i + 1]
            yield *origin[start + i], network, float(done.losses[i]), int(done.epochs[i])


def _chosen(one: Trajectory, found: list[_Candidate], candidates: int, chance: np.random.Generator) -> Trajectory:
    """The pruning after a step: a candidate drawn by its inverse loss; ended where there is none."""
    if not found:
        return replace(one, ended="smallest")
    found = sorted(found, key=lambda candidate: (candidate.layer, candidate.unit))
    scores = np.array([1 / max(candidate.loss, 1e-12) for candidate in found])
    taken = found[int(chance.choice(len(found), p=scores / scores.sum()))]
    hidden = taken.network.widths[1:-1]
    removal = Removal(taken.layer, taken.unit, hidden, taken.loss, taken.epochs, len(found), candidates)
    ended: Literal["", "smallest"] = "" if hidden else "smallest"
    return replace(one, network=taken.network, steps=(*one.steps, removal), ended=ended)
