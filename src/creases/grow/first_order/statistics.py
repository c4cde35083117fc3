"""What first-order growth needs to know of a place, as sums over samples in float64."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.grow.first_order.entry import Entry, rows
from creases.grow.first_order.observe import Batches, Loss, Seen, watched
from creases.grow.first_order.reach import Reach
from creases.network.surgery import Place

_ENTRIES = 2**27  # of one matrix: 1 GiB in float64
_CHUNK = 2**23  # numbers of unfolded inputs held at a time


@dataclass(eq=False)
class ConsumerSums:
    """Sums for one consumer; b_l (m) is all that enters it, with its constant, v (out) is v_goal."""

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
    reduction. Two of them add up (``a + b``); over processes, sum ``tensors()``.

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
        """All sums in a fixed order, for example to be summed over processes in place."""
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
    """The sums that :func:`tiny` and :func:`gradmax` work from.

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
    watch, source = watched(model, place, batches, loss)
    first = next(source)
    reach = Reach(watch.twin, watch.place, first)
    sums = empty(reach, first, project=project)
    for seen in (first, *source):
        add(sums, reach, seen)
    return sums


def empty(reach: Reach, seen: Seen, *, project: bool = True) -> Statistics:
    """Sums over no samples yet, of the sizes that a batch shows."""
    d = reach.features(seen.entering[:1]).shape[1]
    consumers = {entry.link.path: _empty(entry, d, project) for entry in reach.entries}
    zeros = seen.made.new_zeros
    number, loss, features = (zeros(shape, dtype=torch.float64) for shape in ((), (), (d, d)))
    return Statistics(number, loss, features, consumers)


def add(sums: Statistics, reach: Reach, seen: Seen) -> None:
    """Add a batch to the sums."""
    sums.count += seen.count
    sums.loss += seen.loss
    for part in chunks(reach, seen):
        features = reach.features(seen.entering[part])
        sums.features += gram(rows(features))
        arrived = reach.linear(features)
        for entry in reach.entries:
            path = entry.link.path
            mine, goals, inputs = sums.consumers[path], entry.goals(seen.goals[path][part]), seen.inputs[path][part]
            mine.goal += goals.square().sum()
            mine.pairs += entry.paired(arrived, goals)
            if len(mine.inputs):
                inputs = entry.inputs(inputs)
                mine.inputs += gram(rows(inputs))
                mine.moves += rows(inputs).T @ rows(goals)
                mine.cross += entry.paired(arrived, inputs)


def chunks(reach: Reach, seen: Seen) -> Iterable[slice]:
    """Parts of a batch, small enough that the windows of both convolutions at once fit into memory."""
    kernels = [entry.columns() for entry in reach.entries if entry.kind == "conv"]
    return slices(reach, seen.entering, max(kernels, default=1))


def slices(reach: Reach, entering: Tensor, times: int = 1) -> Iterable[slice]:
    """Parts of what enters a place, small enough that its unfolded form, so many times, fits into memory."""
    step = max(1, _CHUNK // (times * reach.features(entering[:1]).numel()))
    return [slice(start, start + step) for start in range(0, len(entering), step)]


def gram(x: Tensor) -> Tensor:
    """x' x for x (n, d), with half the work where numpy sees that it is symmetric."""
    if x.device.type != "cpu":
        return x.T @ x
    array = x.contiguous().numpy()
    return torch.from_numpy(array.T @ array)


def _empty(entry: Entry, d: int, project: bool) -> ConsumerSums:
    weight = entry.layer.weight
    assert isinstance(weight, Tensor)
    m = (weight[0].numel() + (entry.layer.bias is not None)) if project else 0
    columns = (*weight.shape[2:],) if entry.kind == "conv" else (entry.link.per_unit,) * (entry.kind == "flat")
    wide = d * entry.columns() * max(m, len(weight))
    if max(wide, m * m, d * d) > _ENTRIES:
        advice = "gradmax needs far less" if m > len(weight) else "random_units needs no statistics"
        raise InputError(
            f"place: the statistics between its {d} inputs and {entry.link.path!r} would have {wide:,} entries, "
            f"more than {_ENTRIES:,}; {advice}"
        )

    def zeros(*shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=weight.device)

    pairs, cross = zeros(len(weight), d, *columns), zeros(m, d, *columns)
    return ConsumerSums(zeros(m, m), zeros(m, len(weight)), zeros(), pairs, cross)
