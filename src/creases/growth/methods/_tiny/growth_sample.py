"""The samples of one growth step: those that choose the units, and those held out to choose their size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss
from creases.growth.methods._first_order.observation import Batches, Observation, PlaceObserver, iterate_batches
from creases.growth.methods._first_order.products import product_dtype
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import Statistics, add_batch, empty_statistics, sum_features
from creases.growth.methods._tiny.line_search import ReplayedModel
from creases.growth.methods._tiny.mixed_precision import recompute_features
from creases.network.surgery import Place, input_tensors, unwrap_module

_ASIDE = 5  # without held-out samples of its own, every fifth is held out


@dataclass(frozen=True, eq=False)
class GrowthSample:
    """A place, what was observations there, and the held-out batches."""

    observer: PlaceObserver
    route: Route
    observations: list[Observation]
    sums: Statistics
    runs: list[ReplayedModel]
    aside: bool  #: whether the held-out samples are others than those of the sums


def gather_sample(
    model: nn.Module, place: Place | str, batches: Batches, loss: Loss, heldout: Batches | None
) -> GrowthSample:
    """See all batches once; every fifth sample is held out if no others are given.

    Sums are over all ranks, without those that pair b_{l-1} with others; of b_{l-1} b_{l-1}' in float32 where the
    model is in float32 on a CPU (:func:`best_units` looks whether that does).
    """
    with ranks.fail_together():
        use, hold = _divided(batches, heldout)
        observer = PlaceObserver.from_model(model, place, loss, use[0][0])
        observations = [observer.observe(*batch) for batch in use]
        route = Route(observer.twin, observer.place, observations[0])
        sums = empty_statistics(route, observations[0], paired=False)
        for one in observations:
            add_batch(sums, route, one)
        held = torch.tensor(float(len(hold)), dtype=torch.float64)
    ranks.sum_over_ranks([held, *sums.tensors()])
    sums.features = sum_features(route, observations, product_dtype(observations[0].layer_input))
    varying = len(sums.features) - route.has_bias
    if not bool(sums.features.diagonal()[:varying].any()):  # squares of small float32 numbers are 0
        recompute_features(route, observations, sums)
    with ranks.fail_together():
        runs = [ReplayedModel(observer, *batch) for batch in (hold if held else use)]
    observations = [replace(one, layer_output=one.layer_output[:0]) for one in observations]  # not needed any more
    return GrowthSample(observer, route, observations, sums, runs, bool(held))


def _divided(batches: Batches, heldout: Batches | None) -> tuple[list[tuple[Tensor, Any]], list[tuple[Tensor, Any]]]:
    """Batches for the statistics, and for the line search."""
    use: list[tuple[Tensor, Any]] = []
    hold = [] if heldout is None else list(iterate_batches(heldout, "heldout"))
    number = 0
    for x, target in iterate_batches(batches):
        if heldout is not None or not isinstance(target, Tensor):
            use.append((x, target))
            continue
        start = (_ASIDE - 1 - number) % _ASIDE
        number += len(x)
        keep = [i for i in range(len(x)) if i % _ASIDE != start]
        use += [(x[keep], target[keep])] if keep else []
        hold += [(x[start::_ASIDE], target[start::_ASIDE])] if start < len(x) else []
    if not use:
        raise InputError("batches: has no samples")
    return use, hold


def sample_size(model: nn.Module, place: Place, base: int = 100) -> int:
    """Samples for the statistics of a place: ``base sqrt(max(n_{l-1}, n_{l+1}))`` (section 3.4 and appendix C).

    The variance of the optimal units grows with the widths before and after, and falls with the samples. It is for
    the batches of :func:`tiny`, over all ranks; as many others held out size the units.

    Examples
    --------
    >>> from creases.network.surgery import places
    >>> model = nn.Sequential(nn.Linear(784, 5), nn.ReLU(), nn.Linear(5, 10))
    >>> sample_size(model, places(model)[0])
    2800
    """
    model = unwrap_module(model)
    producer = model.get_submodule(place.name)
    widths = [int(getattr(producer, input_tensors(producer).counter))]
    widths += [len(model.get_submodule(link.path).weight) for link in place.consumers]  # type: ignore[arg-type]
    return ceil(base * sqrt(max(widths)))
