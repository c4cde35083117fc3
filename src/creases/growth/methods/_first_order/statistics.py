"""What first-order growth needs to know of a place, as sums over samples (and ranks) in float64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss
from creases.growth.methods._first_order.consumer import Consumer, as_rows
from creases.growth.methods._first_order.observation import Batches, Observation, observe_batches
from creases.growth.methods._first_order.products import add_gram, product
from creases.growth.methods._first_order.route import Route
from creases.network.surgery import Place

_ENTRIES = 2**27  # of one matrix: 1 GiB in float64
_CHUNK = 2**23  # numbers of unfolded inputs held at a time


@dataclass(eq=False)
class ConsumerSums:
    """Sums for one consumer; b_l (m) is all that enters it, with its constant, v (out) is v_goal.

    Those that were not asked for have no consumers.
    """

    inputs: Tensor  #: sum b_l b_l', (m, m)
    moves: Tensor  #: sum b_l v', (m, out)
    goal: Tensor  #: sum |v|^2, ()
    pairs: Tensor  #: sum v b_{l-1}', (out, d, *columns of one unit): N with V_goal
    cross: Tensor  #: sum b_l b_{l-1}', (m, d, *columns of one unit)

    def tensors(self) -> list[Tensor]:
        return [self.inputs, self.moves, self.goal, self.pairs, self.cross]


@dataclass(eq=False)
class Statistics:
    """Sums over samples at a place: independent of how samples came in batches, in which order, and of the loss's
    reduction. Two of them add up (``a + b``).

    d counts what one unit weighs: inputs of a linear producer, or a convolution's channels times its kernel, and the
    constant 1 if it has a bias. Sums of convolutions are over positions too.
    """

    count: Tensor  #: samples, ()
    loss: Tensor  #: sum of the loss, ()
    features: Tensor  #: sum b_{l-1} b_{l-1}', (d, d): n S
    consumers: dict[str, ConsumerSums]  #: by path

    def __add__(self, other: Statistics) -> Statistics:
        if list(self.consumers) != list(other.consumers) or self.features.shape != other.features.shape:
            raise InputError("statistics: are of two different places, and do not add up")
        out = self.copy()
        for mine, theirs in zip(out.tensors(), other.tensors(), strict=True):
            mine += theirs
        return out

    def copy(self) -> Statistics:
        """The same sums in tensors of their own."""
        consumers = {path: ConsumerSums(*(t.clone() for t in sums.tensors())) for path, sums in self.consumers.items()}
        return Statistics(self.count.clone(), self.loss.clone(), self.features.clone(), consumers)

    def tensors(self) -> list[Tensor]:
        """All sums in a fixed order."""
        return [self.count, self.loss, self.features, *(t for sums in self.consumers.values() for t in sums.tensors())]

    @property
    def mean_loss(self) -> float:
        """The loss of one sample, on average."""
        return float(self.loss / self.count)

    @property
    def mean_goal(self) -> float:
        """(1/n) |V_goal|^2, over all consumers."""
        return sum(float(sums.goal) for sums in self.consumers.values()) / float(self.count)


def statistics(
    model: nn.Module, place: Place | str, batches: Batches, loss: Loss, *, project: bool = True
) -> Statistics:
    """The sums that TINY works from, over all ranks where there are several: each gives its own batches.

    Parameters
    ----------
    batches
        Pairs (inputs, targets): one pair of tensors, a list, a DataLoader. Each is seen once.
    loss
        A function of outputs and targets; a mean or a sum over the samples, or one value for each of them.
    project
        Whether to gather what it takes to remove what the present units can do (:func:`best_move`).

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> x = torch.randn(8, 2)
    >>> one, two = (statistics(model, "0", (part, part[:, :1]), nn.MSELoss()) for part in (x[:5], x[5:]))
    >>> int((one + two).count), (one + two).features.shape
    (8, torch.Size([3, 3]))
    """
    with ranks.fail_together():
        observer, source = observe_batches(model, place, batches, loss)
        first = next(source)
        route = Route(observer.twin, observer.place, first)
        sums = empty_statistics(route, first, project=project)
        for seen in (first, *source):
            add_batch(sums, route, seen)
    ranks.sum_over_ranks(sums.tensors())
    return sums


def empty_statistics(route: Route, seen: Observation, *, project: bool = True, paired: bool = True) -> Statistics:
    """Sums over no samples yet, of the sizes that a batch shows; without ``paired`` those with b_{l-1} are left out."""
    d = route.inputs(seen.layer_input[:1]).shape[1] + route.has_bias
    consumers = {consumer.link.path: _empty(consumer, d, project, paired) for consumer in route.consumers}
    zeros = seen.layer_output.new_zeros
    number, loss, features = (zeros(shape, dtype=torch.float64) for shape in ((), (), (d * paired, d * paired)))
    return Statistics(number, loss, features, consumers)


def add_batch(sums: Statistics, route: Route, seen: Observation) -> None:
    """Add a batch to the sums."""
    sums.count += seen.count
    sums.loss += seen.loss
    for part in batch_slices(route, seen):
        if len(sums.features):
            before = route.inputs(seen.layer_input[part])
            add_gram(sums.features, [as_rows(before)], constant=route.has_bias)
        for consumer in route.consumers:
            path = consumer.link.path
            mine, goals = sums.consumers[path], consumer.goals(seen.goals[path][part])
            mine.goal += torch.linalg.vector_norm(goals).square()
            if len(mine.pairs):
                mine.pairs += torch.cat(_paired(route, consumer, before, goals), 1)
            if len(mine.inputs):
                inputs = consumer.inputs(seen.consumer_inputs[path][part])
                add_gram(mine.inputs, [as_rows(inputs)], constant=False)
                mine.moves += product(as_rows(inputs), as_rows(goals))
            if len(mine.cross):
                mine.cross += torch.cat(_paired(route, consumer, before, inputs), 1)


def subtract_best_moves(route: Route, seen: Observation, moves: dict[str, Tensor]) -> Observation:
    """The same batch with v_proj = v_goal - dW* b_l in place of v_goal; moves: by consumer dW*' (m, out)."""
    goals = {}
    for consumer in route.consumers:
        path = consumer.link.path
        goal, inputs = seen.goals[path], seen.consumer_inputs[path]
        goals[path] = torch.cat(
            [consumer.subtract_move(goal[at], inputs[at], moves[path]) for at in batch_slices(route, seen)]
        )
    return replace(seen, goals=goals)


def sum_pairs(route: Route, seen: Sequence[Observation], dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """By consumer sum v b_{l-1}' over the batches and ranks, (out, d, *columns of one unit): n N."""
    found: dict[str, list[Tensor]] = {}
    for batch in seen:
        for part in batch_slices(route, batch):
            before = route.inputs(batch.layer_input[part], dtype)
            for consumer in route.consumers:
                path = consumer.link.path
                pair = _paired(route, consumer, before, consumer.goals(batch.goals[path][part], dtype))
                found[path] = [a.add_(b) for a, b in zip(found[path], pair, strict=True)] if path in found else pair
    joined = {path: torch.cat(pair, 1) for path, pair in found.items()}
    ranks.sum_over_ranks(joined.values())
    return joined


def sum_features(route: Route, seen: Sequence[Observation], dtype: torch.dtype = torch.float64) -> Tensor:
    """sum b_{l-1} b_{l-1}' over the batches and ranks, (d, d): n S."""
    d = route.inputs(seen[0].layer_input[:1]).shape[1] + route.has_bias
    found = seen[0].layer_input.new_zeros(d, d, dtype=torch.float64)
    parts = (one.layer_input[part] for one in seen for part in input_slices(route, one.layer_input))
    add_gram(found, (as_rows(route.inputs(part, dtype)) for part in parts), constant=route.has_bias)
    ranks.sum_over_ranks([found])
    return found


def batch_slices(route: Route, seen: Observation) -> Iterable[slice]:
    """Parts of a batch, small enough that the windows of both convolutions at once fit into memory."""
    kernels = [prod(consumer.columns_per_unit()) for consumer in route.consumers if consumer.kind == "conv"]
    return input_slices(route, seen.layer_input, max(kernels, default=1))


def input_slices(route: Route, layer_input: Tensor, times: int = 1) -> Iterable[slice]:
    """Parts of what enters a place, small enough that its unfolded form, so many times, fits into memory."""
    step = max(1, _CHUNK // (times * max(route.inputs(layer_input[:1]).numel(), 1)))
    return [slice(start, start + step) for start in range(0, len(layer_input), step)]


def _paired(route: Route, consumer: Consumer, before: Tensor, goals: Tensor) -> list[Tensor]:
    """sum v b_{l-1}' of a part, (out, d, *columns of one unit): for b_{l-1}, and for its constant."""
    parts = [before, torch.ones_like(before[:, :1])] if route.has_bias else [before]
    return [consumer.correlate(route.propagate_linear(part), goals) for part in parts]


def _empty(consumer: Consumer, d: int, project: bool, paired: bool) -> ConsumerSums:
    weight, columns = consumer.layer.weight, consumer.columns_per_unit()
    assert isinstance(weight, Tensor)
    m = (weight[0].numel() + (consumer.layer.bias is not None)) if project else 0
    wide = d * prod(columns) * max(m * paired, len(weight))
    if max(wide, m * m, d * d) > _ENTRIES:
        advice = "gradmax needs far less" if m > len(weight) else "random units need no statistics"
        raise InputError(
            f"place: the statistics between its {d} inputs and {consumer.link.path!r} would have {wide:,} entries, "
            f"more than {_ENTRIES:,}; {advice}"
        )

    def zeros(*shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=weight.device)

    pairs, cross = zeros(len(weight) * paired, d, *columns), zeros(m * paired, d, *columns)
    return ConsumerSums(zeros(m, m), zeros(m, len(weight)), zeros(), pairs, cross)
