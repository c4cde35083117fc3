"""Taylor scores: what the removal of each group of channels does to the loss, estimated by one backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from creases.network.surgery import ChannelGroup, get_layer, input_tensors
from creases.prune._evaluation import blocks, evaluation_mode, losses


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
