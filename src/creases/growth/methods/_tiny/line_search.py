"""The samples of a growth step, and the size of new units: a line search on held-out samples (TINY, eq. 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss
from creases.growth.methods._first_order.observation import (
    Batches,
    Observation,
    PlaceObserver,
    frozen_copy,
    iterate_batches,
)
from creases.growth.methods._first_order.route import Consumer, Route
from creases.growth.methods._first_order.statistics import Statistics, sum_statistics
from creases.growth.methods._first_order.units import NewUnits, pre_activations, scale_units
from creases.network import Place
from creases.network.surgery import without_side_effects

#: Powers of 4 that are tried first; where the last one is the best, further ones follow, as many again.
_FIRST, _FURTHER = range(-5, 4), 8

#: Sizes are powers of 2, and their exponents multiples of this, so that rounding errors of the loss do not move them.
_STEP = 1 / 4096


@dataclass(frozen=True)
class LineSearchResult:
    """The result of a line search; ``factor`` is 0 if no size lowers the loss."""

    factor: float  #: of the weights
    before: float  #: mean loss on the samples of the search
    after: float
    samples: int
    tried: int  #: number of sizes
    smallest: float  #: of the sizes tried


Change = Callable[[Tensor], Tensor]


class ChangedModel:
    """A model on a fixed batch, for any change of the outputs of a place's consumers."""

    def __init__(self, observer: PlaceObserver, x: Tensor, target: Any) -> None:
        self.observer, self.x, self.target = observer, x, target
        self.twin = frozen_copy(observer.twin)
        seen = observer.observe(x, target)
        self.layer_input, self.consumer_inputs = seen.layer_input, seen.consumer_inputs  #: the latter by path
        self.like = seen.goals  #: by consumer's path, of the shape of its output
        self.changes: dict[str, Change] = {}
        for link in observer.place.consumers:
            self.twin.get_submodule(link.path).register_forward_hook(
                lambda module, args, out, path=link.path: self.changes[path](out)
            )

    def loss(self, changes: dict[str, Change]) -> float:
        """Return the loss summed over the batch with these changes of the consumers' outputs."""
        self.changes = changes
        with without_side_effects():
            return float(self.observer.loss_sum(self.twin(self.x), self.target, len(self.x)))


#: By batch and consumer a change of the consumer's output.
Moved = Sequence[dict[str, Tensor]]


def line_search(
    route: Route, runs: Sequence[ChangedModel], units: NewUnits, *, fan_in: bool = True, moved: Moved | None = None
) -> LineSearchResult:
    """Return the factor of new units at which the loss on some batches is smallest (eq. 7).

    Incoming weights are multiplied by the factor; with ``fan_in`` False the outgoing ones. ``moved`` is what a change
    of the existing weights adds to the consumers' outputs (:func:`search_move`).
    """
    beside = [{}] * len(runs) if moved is None else moved
    inner = [pre_activations(route, run.layer_input, units.alpha) for run in runs]

    def changes(number: int, factor: float) -> dict[str, Change]:
        if not factor:
            return _changes(route, None, None, beside[number])
        arrived = route.propagate(factor * inner[number] if fan_in else inner[number], route.bend)
        outer = units if fan_in else resize_units(units, factor, fan_in=False)
        return _changes(route, arrived, outer, beside[number])

    return _search(route, runs, changes)


def search_move(
    route: Route, runs: Sequence[ChangedModel], moves: dict[str, Tensor], units: NewUnits | None = None
) -> tuple[LineSearchResult, Moved]:
    """Return the factor gamma_0 of the best move dW*' (m, out) by consumer (eq. 6), and what it adds at that factor.

    ``units`` are there already, at their size.
    """
    paths = [consumer.link.path for consumer in route.consumers]
    moved = [
        {
            path: consumer.move_response(run.like[path], run.consumer_inputs[path], moves[path])
            for path, consumer in zip(paths, route.consumers, strict=True)
        }
        for run in runs
    ]
    arrived = [
        None if units is None else route.propagate(pre_activations(route, run.layer_input, units.alpha), route.bend)
        for run in runs
    ]

    def scaled(number: int, factor: float) -> dict[str, Tensor]:
        return {path: factor * part for path, part in moved[number].items()}

    def changes(number: int, factor: float) -> dict[str, Change]:
        return _changes(route, arrived[number], units, scaled(number, factor))

    result = _search(route, runs, changes)
    return result, [scaled(number, result.factor) for number in range(len(runs))]


def resize_units(units: NewUnits, factor: float, *, fan_in: bool = True) -> NewUnits:
    """Return the units at the size that a line search chose."""
    ones = torch.ones_like(units.values)
    return scale_units(units, factor * ones, ones) if fan_in else scale_units(units, ones, factor * ones)


def _changes(
    route: Route, arrived: Tensor | None, units: NewUnits | None, beside: dict[str, Tensor]
) -> dict[str, Change]:
    """Return by consumer the change of its output by units, if there are any, and by what is added beside them."""

    def change(consumer: Consumer, out: Tensor) -> Tensor:
        path = consumer.link.path
        after = out if arrived is None or units is None else consumer.add_response(out, arrived, units.omega[path])
        return after + beside[path].to(after.dtype) if beside else after

    return {consumer.link.path: partial(change, consumer) for consumer in route.consumers}


def _search(
    route: Route, runs: Sequence[ChangedModel], changes: Callable[[int, float], dict[str, Change]]
) -> LineSearchResult:
    """Search the factor of changes of the consumers' outputs, by batch."""
    count = torch.tensor(float(sum(len(run.x) for run in runs)), dtype=torch.float64)
    ranks.sum_over_ranks([count])

    def loss(factor: float) -> float:
        total = torch.zeros((), dtype=torch.float64)
        for number, run in enumerate(runs):
            total += run.loss(changes(number, factor))
        ranks.sum_over_ranks([total])
        return float(total / count) if isfinite(total) else inf

    return minimize_loss(loss, int(count), least=8 * torch.finfo(route.producer.weight.dtype).eps)


def minimize_loss(loss: Callable[[float], float], n: int, *, least: float = 0.0) -> LineSearchResult:
    """Return the size at which a loss on n samples is smallest: powers of 4, then Brent's method about the best.

    ``least`` is the smallest decrease, relative to the loss, that counts.
    """
    from scipy.optimize import minimize_scalar

    tried: dict[float, float] = {}

    def at(exponent: float) -> float:
        exponent = round(exponent / _STEP) * _STEP
        if exponent not in tried:
            tried[exponent] = loss(2.0**exponent)
        return tried[exponent]

    before, exponents = loss(0.0), [2.0 * power for power in _FIRST]
    best = min(exponents, key=at)
    for _ in range(_FURTHER):
        if exponents[0] < best < exponents[-1]:
            break
        exponents = [best - 2, *exponents] if best == exponents[0] else [*exponents, best + 2]
        best = min(exponents, key=at)
    if isfinite(at(best)):
        minimize_scalar(at, bounds=(best - 2, best + 2), method="bounded", options={"xatol": _STEP})
    best, smallest = min(tried, key=lambda exponent: tried[exponent]), 2.0 ** min(tried)
    if not tried[best] < before - least * abs(before):
        return LineSearchResult(0.0, before, before, n, len(tried), smallest)
    return LineSearchResult(2.0**best, before, tried[best], n, len(tried), smallest)


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

    def after(self, change: Mapping[str, Tensor]) -> GrowthSample:
        """Return the sample with other observations: those of the model whose parameters have moved by a change."""
        moved = replace(self.observer, twin=_moved_copy(self.observer.twin, change))
        with ranks.fail_together():
            route, observations, sums = _observe(moved, self.batches)
        ranks.sum_over_ranks(sums.tensors())
        return replace(self, observer=moved, route=route, observations=observations, sums=sums)


def gather_sample(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    validation: Batches | None,
    *,
    hold_out: bool = True,
) -> GrowthSample:
    """Run all batches once; every fifth sample is held out if there are no validation samples and ``hold_out`` is set.

    Sums are over all ranks, without those that pair b_{l-1} with others.
    """
    with ranks.fail_together():
        use, hold = _split_batches(batches, validation, hold_out)
        observer = PlaceObserver.from_model(model, place, loss, use[0][0])
        route, observations, sums = _observe(observer, use)
        held = torch.tensor(float(len(hold)), dtype=torch.float64)
    ranks.sum_over_ranks([held, *sums.tensors()])
    with ranks.fail_together():
        runs = [ChangedModel(observer, *batch) for batch in (hold if held else use)]
    return GrowthSample(observer, route, observations, sums, use, runs, bool(held))


def _observe(
    observer: PlaceObserver, batches: Sequence[tuple[Tensor, Any]]
) -> tuple[Route, list[Observation], Statistics]:
    """Return the route of units, the observations of batches, and their sums on this rank."""
    observations = [observer.observe(*batch) for batch in batches]
    route = Route(observer.twin, observer.place, observations[0])
    sums = sum_statistics(route, observations, paired=False)
    # outputs are not needed any more
    return route, [replace(each, layer_output=each.layer_output[:0]) for each in observations], sums


def _moved_copy(model: nn.Module, change: Mapping[str, Tensor]) -> nn.Module:
    """Return a frozen copy of a model whose parameters, tied ones too, have moved by a change."""
    twin = frozen_copy(model)
    for name, move in change.items():
        parameter = twin.get_parameter(name)
        moved = nn.Parameter(parameter + move.to(parameter), requires_grad=False)
        for module in twin.modules():
            for leaf, own in module._parameters.items():
                if own is parameter:
                    module._parameters[leaf] = moved
    return twin


def _split_batches(
    batches: Batches, validation: Batches | None, hold_out: bool
) -> tuple[list[tuple[Tensor, Any]], list[tuple[Tensor, Any]]]:
    """Return batches for the statistics and batches for the line search."""
    use: list[tuple[Tensor, Any]] = []
    hold = [] if validation is None else list(iterate_batches(validation, "validation"))
    number = 0
    for x, target in iterate_batches(batches):
        if validation is not None or not hold_out or not isinstance(target, Tensor):
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
