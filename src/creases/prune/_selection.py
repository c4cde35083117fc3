"""Which groups of channels to remove next: a Taylor score selects candidates, their exact losses decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.network.surgery import (
    ChannelGroup,
    count_multiply_adds,
    count_outputs,
    count_parameters,
    get_layer,
    input_tensors,
    saved_multiply_adds,
    saved_parameters,
)
from creases.prune._evaluation import blocks, evaluate, evaluation_mode, losses, losses_without

# Taylor scores: what the removal of each group of channels does to the loss, estimated by one backward pass.


def taylor_scores(model: nn.Module, groups: Sequence[ChannelGroup], X: Tensor, y: Tensor) -> Tensor:
    """Return an estimate of the increase of the mean loss by the removal of each group (len(groups),).

    A gate of 1 multiplies the channels of a group wherever they are read; removal sets it to 0. With the derivative s_i
    of sample i's loss by the gate, the estimate is ``mean(s_i^2) / 2``: the second term of the Taylor series, with the
    Fisher information for the second derivative [1]_. The first term vanishes at the minimum of training, and what is
    left of it elsewhere is mostly noise.

    References
    ----------
    .. [1] Theis, Korshunova, Tejani, Huszar, "Faster gaze prediction with dense networks and Fisher pruning", 2018.
    """
    total = torch.zeros(len(groups), dtype=torch.float64, device=X.device)
    members = _members(groups, X.device)
    with evaluation_mode(model):
        for inputs, classes in blocks(X, y):
            total += _slopes(model, members, len(groups), inputs, classes).square().sum(0)
    return total / (2 * len(X))


def _members(groups: Sequence[ChannelGroup], device: torch.device) -> dict[str, tuple[Tensor, Tensor]]:
    """Return for each reader its columns, and the group of each."""
    columns: dict[str, tuple[list[int], list[int]]] = {}
    for i, group in enumerate(groups):
        for path, numbers in group.readers.items():
            part = columns.setdefault(path, ([], []))
            part[0].extend(numbers)
            part[1].extend([i] * len(numbers))
    return {path: (torch.tensor(a, device=device), torch.tensor(b, device=device)) for path, (a, b) in columns.items()}


def _slopes(model: nn.Module, members: dict[str, tuple[Tensor, Tensor]], count: int, X: Tensor, y: Tensor) -> Tensor:
    """Return the derivative of each sample's loss by the gate of each group (n, count), float64."""
    slopes = torch.zeros(len(X), count, dtype=torch.float64, device=X.device)
    for path, by_column in _column_slopes(model, list(members), X, y):
        columns, group = members[path]
        slope = by_column[:, columns % by_column.shape[1]]  # weights of grouped convolutions have fewer columns
        if len(slope) != len(X):  # a sum over samples, or another axis comes first: spread evenly
            slope = slope.sum(0).expand(len(X), -1) / len(X)
        slopes.index_add_(1, group, slope)
    return slopes


def _column_slopes(model: nn.Module, paths: list[str], X: Tensor, y: Tensor) -> list[tuple[str, Tensor]]:
    """Return the derivatives of the loss by the gates of layers' columns: (n, columns) for each call of a layer.

    A layer whose weight is used without its module has no gates: the derivative (1, columns) of the sum over samples is
    then that by a factor of the weight's columns. Calls that no gradient gets through are left out.
    """
    gates: list[tuple[str, Tensor]] = []
    layers = {path: get_layer(model, path) for path in paths}
    weights = {path: layer.get_parameter("weight") for path, layer in layers.items()}
    frozen = [weight for weight in weights.values() if not weight.requires_grad]
    hooks = [layer.register_forward_pre_hook(_gate_hook(path, gates)) for path, layer in layers.items()]
    try:
        for weight in frozen:
            weight.requires_grad_(True)
        with torch.enable_grad():
            loss = losses(model(X), y).double().sum()
        functional = [path for path in paths if path not in dict(gates)]
        inputs = [*(gate for _, gate in gates), *(weights[path] for path in functional)]
        if not loss.requires_grad or not inputs:
            return []
        gradients = torch.autograd.grad(loss, inputs, allow_unused=True)
    finally:
        for hook in hooks:
            hook.remove()
        for weight in frozen:
            weight.requires_grad_(False)
    found = [
        (path, gradient.double().reshape(len(gradient), -1))
        for (path, _), gradient in zip(gates, gradients, strict=False)
        if gradient is not None
    ]
    for path, gradient in zip(functional, gradients[len(gates) :], strict=True):
        if gradient is not None:
            product = (weights[path].detach() * gradient).double().movedim(input_tensors(layers[path]).weight_axis, 0)
            found.append((path, product.flatten(1).sum(1)[None]))
    return found


def _gate_hook(path: str, gates: list[tuple[str, Tensor]]) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    """Return a hook that multiplies the input of a layer by a gate for each sample and column."""

    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        x = inputs[0]
        shape = [len(x), *[1] * (x.ndim - 1)]
        axis = -1 if isinstance(module, nn.Linear) else 1
        shape[axis] = x.shape[axis]
        gate = x.new_ones(shape, requires_grad=True)
        gates.append((path, gate))
        return x * gate, *inputs[1:]

    return hook


#: Number of groups whose exact losses are always computed.
FEW = 64

#: Of more groups, the number of exact losses for each group to remove ...
CANDIDATES = 4

#: ... if the Taylor scores predict that the loss increases by more than this.
NEGLIGIBLE = 1e-3

#: With a target size a step removes one of this number of groups.
STEP = 32

#: How many groups compete by their exact losses.
Candidates = int | Literal["auto", "all"]


@dataclass(frozen=True, eq=False)
class Selection:
    """Chooses the groups of channels to remove in a step."""

    samples: tuple[Tensor, Tensor]  #: inputs and classes on which losses are computed
    per_step: int | None  #: None: one, with a target size a share of the groups
    candidates: Candidates  #: for each group to remove
    target: Target | None  #: None: only the accuracy counts

    def choose(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> list[ChannelGroup]:
        """Return the groups to remove next; none if the model is small enough or cannot get smaller."""
        left = {path: count_outputs(get_layer(model, path)) for group in groups for path in group.outputs}
        removable = [group for group in groups if all(left[path] > len(part) for path, part in group.outputs.items())]
        if not removable or (self.target is not None and self.target.is_reached(model)):
            return []
        count = self.per_step or (1 if self.target is None else max(1, len(groups) // STEP))
        return self._take(model, self._rank(model, removable, count), left, count)

    def _take(
        self, model: nn.Module, ranked: list[ChannelGroup], left: dict[str, int], count: int
    ) -> list[ChannelGroup]:
        """Return the first groups that leave a channel of every layer, no more than the target needs."""
        chosen: list[ChannelGroup] = []
        excess = self.target.size(model) - self.target.limit if self.target is not None else 0
        for group in ranked:
            if all(left[path] > len(part) for path, part in group.outputs.items()):
                chosen.append(group)
                left.update({path: left[path] - len(part) for path, part in group.outputs.items()})
            reached = self.target is not None and self.target.saved(model, chosen) >= excess
            if len(chosen) == count or reached:
                break
        return chosen

    def _rank(self, model: nn.Module, groups: list[ChannelGroup], count: int) -> list[ChannelGroup]:
        """Return candidates for the removal of some groups, the least important first."""
        saved = [1 if self.target is None else self.target.saved(model, [group]) for group in groups]
        costs = torch.tensor(saved, dtype=torch.float64).clamp(min=1)
        limit = self._n_candidates(len(groups), count)
        if self.candidates == 1 or limit < len(groups):
            scores = taylor_scores(model, groups, *self.samples).cpu()
            order = (scores / costs).argsort(stable=True)
            groups, costs = [groups[i] for i in order.tolist()], costs[order]
            negligible = self.candidates == "auto" and float(scores[order[:count]].sum()) < NEGLIGIBLE
            if negligible or self.candidates == 1:
                return groups
        groups, costs = groups[:limit], costs[:limit]
        increase = losses_without(model, groups, *self.samples).cpu() - evaluate(model, *self.samples)[0]
        key = torch.where(increase > 0, increase / costs, increase * costs)
        return [groups[i] for i in key.argsort(stable=True).tolist()]

    def _n_candidates(self, n_groups: int, count: int) -> int:
        """Return the number of groups whose exact losses are computed if the Taylor scores do not decide alone."""
        if self.candidates == "all" or (self.candidates == "auto" and n_groups <= FEW):
            return n_groups
        return count * (CANDIDATES if self.candidates == "auto" else self.candidates)


@dataclass(frozen=True)
class Target:
    """A size to prune to."""

    limit: int
    positions: dict[str, int] | None = None  #: how often each layer applies its weight; None: parameters are counted

    @classmethod
    def from_fraction(
        cls, name: str, value: float, model: nn.Module, positions: dict[str, int] | None = None
    ) -> Target:
        """Return the target that an argument asks for: a number, or a float up to 1 as a fraction of the model's."""
        size = cls(0, positions).size(model)
        if isinstance(value, Integral) and not isinstance(value, bool) and value > 0:
            return cls(int(value), positions)
        if isinstance(value, float) and 0 < value <= 1:
            return cls(int(value * size), positions)
        raise InputError(
            name, "be a fraction above 0 and up to 1, or a positive integer", repr(value), f"the model has {size:,}"
        )

    def size(self, model: nn.Module) -> int:
        """Return the size of a model."""
        return count_parameters(model) if self.positions is None else count_multiply_adds(model, self.positions)

    def saved(self, model: nn.Module, groups: Sequence[ChannelGroup]) -> int:
        """Return by how much the removal of groups makes a model smaller."""
        if self.positions is None:
            return saved_parameters(model, groups)
        return saved_multiply_adds(model, groups, self.positions)

    def is_reached(self, model: nn.Module) -> bool:
        """Return whether a model is small enough."""
        return self.size(model) <= self.limit
