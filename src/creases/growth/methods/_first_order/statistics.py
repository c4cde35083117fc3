"""The statistics of a place that first-order growth uses, as sums over samples (and ranks) in float64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil, prod, sqrt

import torch
from torch import Tensor, nn

from creases._text import OneLine
from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss
from creases.growth.methods._first_order.observation import Batches, Observation, add_gram, observe_batches, product
from creases.growth.methods._first_order.route import Consumer, Route, as_rows
from creases.network import Place
from creases.network.surgery import input_tensors, unwrap_module

_MAX_ENTRIES = 2**27  # of one matrix: 1 GiB in float64
_CHUNK = 2**23  # numbers of unfolded inputs held at a time


@dataclass(eq=False)
class ConsumerSums:
    """Sums for one consumer; b_l (m) is its input with the constant, v (out) is v_goal.

    Sums that were not requested are empty.
    """

    inputs: Tensor  #: sum b_l b_l', (m, m)
    moves: Tensor  #: sum b_l v', (m, out)
    goal: Tensor  #: sum |v|^2, ()
    pairs: Tensor  #: sum v b_{l-1}', (out, d, *columns of one unit): N with V_goal
    cross: Tensor  #: sum b_l b_{l-1}', (m, d, *columns of one unit)

    def tensors(self) -> list[Tensor]:
        return [self.inputs, self.moves, self.goal, self.pairs, self.cross]


@dataclass(eq=False, repr=False)
class Statistics(OneLine):
    """Sums over samples at a place, which add up: ``a + b``.

    They do not depend on the batches, the order of samples, or the loss's reduction. d is the number of weights of one
    unit: inputs of a linear producer, or a convolution's channels times its kernel, and 1 if it has a bias. Sums of
    convolutions are over positions too.
    """

    count: Tensor  #: samples, ()
    loss: Tensor  #: sum of the loss, ()
    features: Tensor  #: sum b_{l-1} b_{l-1}', (d, d): n S
    consumers: dict[str, ConsumerSums]  #: by path

    def __add__(self, other: Statistics) -> Statistics:
        if list(self.consumers) != list(other.consumers) or self.features.shape != other.features.shape:
            raise InputError("other", "be statistics of the same place")
        out = self.copy()
        for mine, theirs in zip(out.tensors(), other.tensors(), strict=True):
            mine += theirs
        return out

    def copy(self) -> Statistics:
        """Return a copy that shares no tensors."""
        consumers = {path: ConsumerSums(*(t.clone() for t in sums.tensors())) for path, sums in self.consumers.items()}
        return Statistics(self.count.clone(), self.loss.clone(), self.features.clone(), consumers)

    def tensors(self) -> list[Tensor]:
        """Return all sums in a fixed order."""
        return [self.count, self.loss, self.features, *(t for sums in self.consumers.values() for t in sums.tensors())]

    @property
    def mean_loss(self) -> float:
        """Return the mean loss of a sample."""
        return float(self.loss / self.count)

    @property
    def mean_goal(self) -> float:
        """Return (1/n) |V_goal|^2, over all consumers."""
        return sum(float(sums.goal) for sums in self.consumers.values()) / float(self.count)


def statistics(model: nn.Module, place: Place | str, batches: Batches, loss: Loss) -> Statistics:
    """Return the statistics of a place, over all ranks where there are several; each passes its own batches.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name.
    batches
        Pairs (inputs, targets): one pair of tensors, a list, a DataLoader. Each is used once.
    loss
        A function of outputs and targets that returns a mean or a sum over the samples, or one value for each.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> x = torch.randn(8, 2)
    >>> first, second = (statistics(model, "0", (part, part[:, :1]), nn.MSELoss()) for part in (x[:5], x[5:]))
    >>> int((first + second).count), (first + second).features.shape
    (8, torch.Size([3, 3]))
    """
    with ranks.fail_together():
        observer, source = observe_batches(model, place, batches, loss)
        first = next(source)
        sums = sum_statistics(Route(observer.twin, observer.place, first), chain([first], source))
    ranks.sum_over_ranks(sums.tensors())
    return sums


def sample_size(model: nn.Module, place: Place) -> int:
    """Return how many samples to use for the statistics of a place: ``100 sqrt(max(n_{l-1}, n_{l+1}))``.

    The variance of the optimal units grows with the widths before and after, and falls with the number of samples (the
    TINY paper, section 3.4 and appendix C). It counts the batches of :func:`tiny` over all ranks; as many others are
    used for validation.

    Examples
    --------
    >>> from creases.network import places
    >>> model = nn.Sequential(nn.Linear(784, 5), nn.ReLU(), nn.Linear(5, 10))
    >>> sample_size(model, places(model)[0])
    2800
    """
    model = unwrap_module(model)
    producer = model.get_submodule(place.name)
    widths = [int(getattr(producer, input_tensors(producer).counter))]
    widths += [len(model.get_submodule(link.path).weight) for link in place.consumers]  # type: ignore[arg-type]
    return ceil(100 * sqrt(max(widths)))


def sum_statistics(
    route: Route, observations: Iterable[Observation], *, project: bool = True, paired: bool = True
) -> Statistics:
    """Return the sums over the observations of batches on this rank.

    Without ``project`` there are none of the consumers' inputs, without ``paired`` none of b_{l-1} and others.
    """
    sums: Statistics | None = None
    for observation in observations:
        if sums is None:
            d = route.inputs(observation.layer_input[:1]).shape[1] + route.has_bias
            consumers = {consumer.link.path: _empty_sums(consumer, d, project, paired) for consumer in route.consumers}
            zeros = observation.layer_output.new_zeros
            number, loss, features = (zeros(shape, dtype=torch.float64) for shape in ((), (), (d, d)))
            sums = Statistics(number, loss, features, consumers)
        _add_batch(sums, route, observation)
    assert sums is not None
    return sums


def _add_batch(sums: Statistics, route: Route, observation: Observation) -> None:
    """Add the observation of a batch to the sums."""
    sums.count += observation.count
    sums.loss += observation.loss
    for part in batch_slices(route, observation):
        before = route.inputs(observation.layer_input[part])
        add_gram(sums.features, as_rows(before), constant=route.has_bias)
        for consumer in route.consumers:
            path = consumer.link.path
            mine, goals = sums.consumers[path], consumer.goals(observation.goals[path][part])
            mine.goal += torch.linalg.vector_norm(goals).square()
            if len(mine.pairs):
                mine.pairs += torch.cat(_pair_part(route, consumer, before, goals), 1)
            if len(mine.inputs):
                inputs = consumer.inputs(observation.consumer_inputs[path][part])
                add_gram(mine.inputs, as_rows(inputs), constant=False)
                mine.moves += product(as_rows(inputs), as_rows(goals))
            if len(mine.cross):
                mine.cross += torch.cat(_pair_part(route, consumer, before, inputs), 1)


def subtract_best_moves(route: Route, observation: Observation, moves: dict[str, Tensor]) -> Observation:
    """Return the observation with v_proj = v_goal - dW* b_l for v_goal; moves: by consumer dW*' (m, out)."""
    goals = {}
    for consumer in route.consumers:
        path = consumer.link.path
        goal, inputs = observation.goals[path], observation.consumer_inputs[path]
        parts = [(goal[at], inputs[at]) for at in batch_slices(route, observation)]
        moved = [g.double() - consumer.move_response(g, x, moves[path]) for g, x in parts]
        goals[path] = torch.cat(moved).to(goal.dtype)
    return replace(observation, goals=goals)


def sum_pairs(route: Route, observations: Sequence[Observation]) -> dict[str, Tensor]:
    """Return by consumer sum v b_{l-1}' over batches and ranks, (out, d, *columns of one unit): n N."""
    sums: dict[str, Tensor] = {}
    for batch in observations:
        for part in batch_slices(route, batch):
            before = route.inputs(batch.layer_input[part])
            for consumer in route.consumers:
                path = consumer.link.path
                pair = torch.cat(_pair_part(route, consumer, before, consumer.goals(batch.goals[path][part])), 1)
                sums[path] = sums[path].add_(pair) if path in sums else pair
    ranks.sum_over_ranks(sums.values())
    return sums


def batch_slices(route: Route, observation: Observation) -> Iterable[slice]:
    """Return slices of a batch, small enough that the windows of both convolutions at once fit into memory."""
    kernels = [prod(consumer.columns_per_unit()) for consumer in route.consumers if consumer.kind == "conv"]
    return input_slices(route, observation.layer_input, max(kernels, default=1))


def input_slices(route: Route, layer_input: Tensor, times: int = 1) -> Iterable[slice]:
    """Return slices of a place's inputs, small enough that ``times`` their unfolded form fits into memory."""
    step = max(1, _CHUNK // (times * max(route.inputs(layer_input[:1]).numel(), 1)))
    return [slice(start, start + step) for start in range(0, len(layer_input), step)]


def _pair_part(route: Route, consumer: Consumer, before: Tensor, goals: Tensor) -> list[Tensor]:
    """Return sum v b_{l-1}' of a part, (out, d, *columns of one unit): for b_{l-1}, and for its constant."""
    parts = [before, torch.ones_like(before[:, :1])] if route.has_bias else [before]
    return [consumer.correlate(route.propagate_linear(part), goals) for part in parts]


def _empty_sums(consumer: Consumer, d: int, project: bool, paired: bool) -> ConsumerSums:
    weight, columns = consumer.layer.weight, consumer.columns_per_unit()
    m = (weight[0].numel() + (consumer.layer.bias is not None)) if project else 0
    wide = d * prod(columns) * max(m * paired, len(weight))
    if max(wide, m * m, d * d) > _MAX_ENTRIES:
        advice = "gradmax needs far less" if m > len(weight) else "random units need no statistics"
        expected = f"have statistics with at most {_MAX_ENTRIES:,} entries"
        raise InputError("place", expected, f"{wide:,} between its {d} inputs and {consumer.link.path!r}", advice)

    def zeros(*shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=weight.device)

    pairs, cross = zeros(len(weight) * paired, d, *columns), zeros(m * paired, d, *columns)
    return ConsumerSums(zeros(m, m), zeros(m, len(weight)), zeros(), pairs, cross)
