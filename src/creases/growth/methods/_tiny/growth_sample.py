"""The samples of one growth step: some to compute the units, others to choose their size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth._loss_sum import Loss
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.observation import Batches, Observation, PlaceObserver, iterate_batches
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import Statistics, add_batch, empty_statistics
from creases.growth.methods._tiny.line_search import ChangedModel
from creases.network import Place

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
