"""The samples of a growth step, and the size of new units: a line search on held-out samples (TINY, eq. 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import inf, isfinite, log2
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._objective import Loss
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.observation import (
    Batches,
    Observation,
    PlaceObserver,
    frozen_copy,
    iterate_batches,
)
from creases.growth.methods._first_order.route import Consumer, Route
from creases.growth.methods._first_order.statistics import Statistics, add_batch, empty_statistics
from creases.growth.methods._first_order.units import NewUnits, pre_activations, scale_units
from creases.network import Place
from creases.network.surgery import without_side_effects

_MAX_STEPS = 12  # sizes tried, at most
_BRACKET = 8  # sizes on both sides of the best within this ratio are close enough for a parabola
_MIN_GAIN = 1e-6  # a smaller decrease, relative to the loss, counts as none


@dataclass(frozen=True)
class LineSearchResult:
    """The result of a line search; ``factor`` is 0 if no size lowers the loss."""

    factor: float  #: of the weights
    before: float  #: mean loss on the samples of the search
    after: float
    samples: int
    tried: int  #: number of sizes


Change = Callable[[Tensor], Tensor]


class ChangedModel:
    """A model on a fixed batch, for any change of the outputs of a place's consumers."""

    def __init__(self, observer: PlaceObserver, x: Tensor, target: Any) -> None:
        self.observer, self.x, self.target = observer, x, target
        self.twin = frozen_copy(observer.twin)
        seen = observer.observe(x, target)
        self.layer_input, self.first = seen.layer_input, seen.loss  #: the present loss, summed over the batch
        self.consumer_inputs = seen.consumer_inputs  #: by consumer's path
        self.like = seen.goals  #: by consumer's path, of the shape of its output
        self.changes: dict[str, Change] = {}
        for link in observer.place.consumers:
            self.twin.get_submodule(link.path).register_forward_hook(self._change_hook(link.path))

    def loss(self, changes: dict[str, Change]) -> float:
        """Return the loss summed over the batch with these changes of the consumers' outputs."""
        self.changes = changes
        with without_side_effects():
            return float(self.observer.loss_sum(self.twin(self.x), self.target, len(self.x)))

    def _change_hook(self, path: str) -> Callable[[nn.Module, Any, Tensor], Tensor]:
        return lambda module, args, out: self.changes[path](out)


#: By batch and consumer a change of the consumer's output.
Moved = Sequence[dict[str, Tensor]]


def line_search(
    route: Route, runs: Sequence[ChangedModel], units: NewUnits, *, fan_in: bool = True, moved: Moved | None = None
) -> LineSearchResult:
    """Return the factor of new units at which the loss on some batches is smallest (eq. 7): quartering, then parabolas.

    Incoming weights are multiplied by the factor; with ``fan_in`` False the outgoing ones. ``moved`` is what a change
    of the existing weights adds to the consumers' outputs (:func:`search_move`).
    """
    inner = [pre_activations(route, run.layer_input, units.alpha) for run in runs]

    def changes(number: int, factor: float) -> dict[str, Change]:
        arrived = route.propagate(factor * inner[number] if fan_in else inner[number], route.bend)
        out: dict[str, Change] = {}
        for consumer in route.consumers:
            path = consumer.link.path
            columns = units.omega[path] if fan_in else factor * units.omega[path]
            more = None if moved is None else moved[number][path]
            out[path] = partial(_add_both, consumer, units=arrived, columns=columns, more=more)
        return out

    return _search(runs, changes, lambda number: {} if moved is None else _additions(moved[number]))


def search_move(route: Route, runs: Sequence[ChangedModel], moves: dict[str, Tensor]) -> tuple[LineSearchResult, Moved]:
    """Return the factor gamma_0 of the best move dW*' (m, out) by consumer (eq. 6), and what it adds at that factor."""
    moved = [
        {
            e.link.path: e.move_response(run.like[e.link.path], run.consumer_inputs[e.link.path], moves[e.link.path])
            for e in route.consumers
        }
        for run in runs
    ]

    def scaled(number: int, factor: float) -> dict[str, Tensor]:
        return {path: factor * part for path, part in moved[number].items()}

    result = _search(runs, lambda number, factor: _additions(scaled(number, factor)), lambda number: {})
    return result, [scaled(number, result.factor) for number in range(len(runs))]


def resize_units(units: NewUnits, factor: float, *, fan_in: bool = True) -> NewUnits:
    """Return the units at the size that a line search chose."""
    ones = torch.ones_like(units.values)
    return scale_units(units, factor * ones, ones) if fan_in else scale_units(units, ones, factor * ones)


def _add_both(consumer: Consumer, out: Tensor, units: Tensor, columns: Tensor, more: Tensor | None) -> Tensor:
    after = consumer.add_response(out, units, columns)
    return after if more is None else after + more.to(after.dtype)


def _additions(parts: dict[str, Tensor]) -> dict[str, Change]:
    return {path: partial(_add, part) for path, part in parts.items()}


def _add(part: Tensor, out: Tensor) -> Tensor:
    return out + part.to(out.dtype)


def _search(
    runs: Sequence[ChangedModel],
    changes: Callable[[int, float], dict[str, Change]],
    start: Callable[[int], dict[str, Change]],
) -> LineSearchResult:
    """Search the factor of changes of the consumers' outputs, by batch, beside the changes at factor 0."""
    first = [run.loss(begin) if (begin := start(number)) else run.first for number, run in enumerate(runs)]
    sums = torch.tensor([sum(len(run.x) for run in runs), sum(first)], dtype=torch.float64)
    ranks.sum_over_ranks([sums])
    n, before = int(sums[0]), float(sums[1] / sums[0])

    def loss(factor: float) -> float:
        total = torch.zeros((), dtype=torch.float64)
        for number, run in enumerate(runs):
            total += run.loss(changes(number, factor))
        ranks.sum_over_ranks([total])
        return float(total) / n if isfinite(total) else inf

    return minimize_loss(loss, before, n)


def minimize_loss(loss: Callable[[float], float], before: float, n: int) -> LineSearchResult:
    """Return the size at which a loss is smallest; ``before``: the loss at size 0, on n samples."""
    tried = {0.0: before, 1.0: loss(1.0)}
    for _ in range(_MAX_STEPS):
        size = _round_size(_next_size(tried))
        if size in tried:
            break
        tried[size] = loss(size)
    best = min(tried, key=lambda size: tried[size])
    if not tried[best] < before - _MIN_GAIN * abs(before):
        return LineSearchResult(0.0, before, before, n, len(tried) - 1)
    return LineSearchResult(best, before, tried[best], n, len(tried) - 1)


def _round_size(size: float) -> float:
    """Return a size as a power of the fourth root of 2, so that rounding errors of the loss do not change it."""
    return float(2.0 ** (round(4 * log2(size)) / 4))


def _next_size(tried: dict[float, float]) -> float:
    """Return the next size to try: the minimum of a parabola through the best and its two neighbours."""
    sizes = sorted(tried)
    at = min(range(len(sizes)), key=lambda i: tried[sizes[i]])
    best = sizes[at]
    if at == 0:
        return sizes[1] / 4
    if len(sizes) == 2:
        return 4 * best
    low, middle, high = three = sizes[at - 1 : at + 2] if at + 1 < len(sizes) else sizes[at - 2 :]
    if not all(isfinite(tried[size]) for size in three):
        return (low + middle) / 2
    first, second = ((tried[b] - tried[a]) / (b - a) for a, b in pairwise(three))
    curvature = (second - first) / (high - low)
    vertex = (low + middle) / 2 - first / (2 * curvature) if curvature > 0 else inf
    if best == high:  # the minimum may lie outside of all sizes tried
        return min(max(vertex, 2 * best), 4 * best)
    return vertex if high <= _BRACKET * low or _round_size(vertex) != best else (low + best) / 2


_EVERY = 5  # without validation samples of their own, every fifth sample is held out


@dataclass(frozen=True, eq=False)
class GrowthSample:
    """A place, the observations there, and the model on the validation batches."""

    observer: PlaceObserver
    route: Route
    observations: list[Observation]
    sums: Statistics
    batches: list[tuple[Tensor, Any]]  #: of the observations
    runs: list[ChangedModel]
    has_validation: bool  #: whether the validation samples are not those of the sums


def gather_sample(
    model: nn.Module, place: Place | str, batches: Batches, loss: Loss, validation: Batches | None
) -> GrowthSample:
    """Run all batches once; every fifth sample is held out if there are no validation samples.

    Sums are over all ranks, without those that pair b_{l-1} with others.
    """
    with ranks.fail_together():
        use, hold = _split_batches(batches, validation)
        observer = PlaceObserver.from_model(model, place, loss, use[0][0])
        observations = [observer.observe(*batch) for batch in use]
        route = Route(observer.twin, observer.place, observations[0])
        sums = empty_statistics(route, observations[0], paired=False)
        for observation in observations:
            add_batch(sums, route, observation)
        held = torch.tensor(float(len(hold)), dtype=torch.float64)
    ranks.sum_over_ranks([held, *sums.tensors()])
    with ranks.fail_together():
        runs = [ChangedModel(observer, *batch) for batch in (hold if held else use)]
    # outputs are not needed any more
    observations = [replace(each, layer_output=each.layer_output[:0]) for each in observations]
    return GrowthSample(observer, route, observations, sums, use, runs, bool(held))


def _split_batches(
    batches: Batches, validation: Batches | None
) -> tuple[list[tuple[Tensor, Any]], list[tuple[Tensor, Any]]]:
    """Return batches for the statistics and batches for the line search."""
    use: list[tuple[Tensor, Any]] = []
    hold = [] if validation is None else list(iterate_batches(validation, "validation"))
    number = 0
    for x, target in iterate_batches(batches):
        if validation is not None or not isinstance(target, Tensor):
            use.append((x, target))
            continue
        start = (_EVERY - 1 - number) % _EVERY
        number += len(x)
        keep = [i for i in range(len(x)) if i % _EVERY != start]
        use += [(x[keep], target[keep])] if keep else []
        hold += [(x[start::_EVERY], target[start::_EVERY])] if start < len(x) else []
    if not use:
        raise InputError("batches", "have at least one sample")
    return use, hold
