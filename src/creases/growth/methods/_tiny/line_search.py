"""How large new units are made: a line search on held-out samples (eq. 7), running only what lies behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import inf, isfinite, log2, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from creases.growth import _distributed as ranks
from creases.growth.methods._first_order.gains import pre_activations
from creases.growth.methods._first_order.observation import PlaceObserver, TensorRecorder, frozen_copy
from creases.growth.methods._first_order.products import product_dtype
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.units import NewUnits, scale_units
from creases.network.surgery import without_side_effects

_STEPS = 12  # sizes tried before it gives up
_NEAR = 8  # sizes on both sides of the best that differ by no more than this are near enough for a parabola
_WORTH = 1e-6  # a smaller fall of the loss, relative to it, is none


@dataclass(frozen=True)
class LineSearchResult:
    """What a line search found; ``factor`` 0 where no size lowers the loss."""

    factor: float  #: of the product of weights in and out
    before: float  #: mean loss on the samples of the search
    after: float
    samples: int
    tried: int  #: sizes looked at


Change = Callable[[Tensor], Tensor]


class ReplayedModel:
    """A model on a fixed batch: layers before the consumers give what they gave the first time.

    Only what follows the consumers is run again, for any change of the consumers' outputs.
    """

    def __init__(self, observer: PlaceObserver, x: Tensor, target: Any) -> None:
        self.observer, self.x, self.target = observer, x, target
        self.twin = frozen_copy(observer.twin)
        self.layer_input = x
        self.changes: dict[str, Change] = {}
        self._calls: dict[nn.Module, int] = {}
        recorder = TensorRecorder(observer.in_place)
        self.first, kept = self._record(recorder)  #: the loss as it is, summed over the batch
        if recorder.was_modified():
            observer.in_place, recorder = True, TensorRecorder(True)
            self.first, kept = self._record(recorder)
        self._replay(kept, recorder.copies)

    def loss(self, changes: dict[str, Change]) -> float:
        """The loss summed over the batch when each consumer's output is changed so."""
        self.changes, self._calls = changes, {}
        with without_side_effects():
            return float(self.observer.loss_sum(self.twin(self.x), self.target, len(self.x)))

    def _record(self, recorder: TensorRecorder) -> tuple[float, dict[nn.Module, list[Tensor]]]:
        """Run once: the loss, and the outputs of what is called before the first consumer (that one too)."""
        kept: dict[nn.Module, list[Tensor]] = {}
        paths = self._paths()
        producer = self.twin.get_submodule(self.observer.place.name)
        reached: list[nn.Module] = []

        def record(module: nn.Module, args: Any, out: Any) -> None:
            if module is producer:
                self.layer_input = recorder.keep(args[0])
            if not reached and isinstance(out, Tensor):
                kept.setdefault(module, []).append(recorder.keep(out))
            if module in paths:
                reached.append(module)

        leaves = [module for module in self.twin.modules() if not next(module.children(), None)]
        handles = [module.register_forward_hook(record) for module in leaves]
        try:
            with without_side_effects():
                first = float(self.observer.loss_sum(self.twin(self.x), self.target, len(self.x)))
        finally:
            for handle in handles:
                handle.remove()
        return first, kept

    def _paths(self) -> dict[nn.Module, str]:
        return {self.twin.get_submodule(link.path): link.path for link in self.observer.place.consumers}

    def _replay(self, kept: dict[nn.Module, list[Tensor]], copies: bool) -> None:
        """Let modules give these outputs instead of being run, and the consumers' be changed."""
        for module, outs in kept.items():
            module.forward = self._replayed(module, outs, copies)
        for module, path in self._paths().items():
            module.register_forward_hook(self._changed(path))

    def _replayed(self, module: nn.Module, outs: list[Tensor], copies: bool) -> Callable[..., Any]:
        run = module.forward

        def forward(*args: Any, **kwargs: Any) -> Any:
            call = self._calls.get(module, 0)
            self._calls[module] = call + 1
            if call >= len(outs):
                return run(*args, **kwargs)
            return outs[call].clone() if copies else outs[call]

        return forward

    def _changed(self, path: str) -> Callable[[nn.Module, Any, Tensor], Tensor]:
        return lambda module, args, out: self.changes[path](out)


def line_search(
    route: Route, runs: Sequence[ReplayedModel], units: NewUnits, *, fan_in: bool = True
) -> LineSearchResult:
    """The factor of new units at which the loss on some batches is smallest, by quartering and parabolas.

    Weights in and out are both multiplied by the factor's square root; with ``fan_in`` False only those out.
    """
    inner = [pre_activations(route, run.layer_input, units.alpha, product_dtype(run.layer_input)) for run in runs]
    start = torch.tensor([sum(len(run.x) for run in runs), sum(run.first for run in runs)], dtype=torch.float64)
    ranks.sum_over_ranks([start])
    n, before = int(start[0]), float(start[1] / start[0])

    def loss(factor: float) -> float:
        size_in, size_out = (sqrt(factor), sqrt(factor)) if fan_in else (1.0, factor)
        total = torch.zeros((), dtype=torch.float64)
        for run, z in zip(runs, inner, strict=True):
            arrived = route.propagate(size_in * z, route.bend)
            columns = {path: size_out * part for path, part in units.omega.items()}
            total += run.loss(
                {
                    e.link.path: partial(e.add_response, units=arrived, columns=columns[e.link.path])
                    for e in route.consumers
                }
            )
        ranks.sum_over_ranks([total])
        return float(total) / n if isfinite(total) else inf

    return _smallest(loss, before, n)


def resize_units(units: NewUnits, factor: float, *, fan_in: bool = True) -> NewUnits:
    """The units at the size that a search chose."""
    one = torch.ones_like(units.values)
    return (
        scale_units(units, sqrt(factor) * one, sqrt(factor) * one) if fan_in else scale_units(units, one, factor * one)
    )


def _smallest(loss: Callable[[float], float], before: float, n: int) -> LineSearchResult:
    tried = {0.0: before, 1.0: loss(1.0)}
    for _ in range(_STEPS):
        size = _rounded(_next(tried))
        if size in tried:
            break
        tried[size] = loss(size)
    best = min(tried, key=lambda size: tried[size])
    if not tried[best] < before - _WORTH * abs(before):
        return LineSearchResult(0.0, before, before, n, len(tried) - 1)
    return LineSearchResult(best, before, tried[best], n, len(tried) - 1)


def _rounded(size: float) -> float:
    """A size as a power of the fourth root of 2, so that rounding errors of the loss do not tell on it."""
    return float(2.0 ** (round(4 * log2(size)) / 4))


def _next(tried: dict[float, float]) -> float:
    """The next size to try: where a parabola through the best and two beside it is lowest."""
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
    if best == high:  # the smallest may lie beyond all that were tried
        return min(max(vertex, 2 * best), 4 * best)
    return vertex if high <= _NEAR * low or _rounded(vertex) != best else (low + best) / 2
