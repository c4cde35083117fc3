"""The lack of expressivity at the output over all parameters at once (Definition 3.1 of the TINY paper)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from creases.errors import InputError
from creases.growth import objective
from creases.network.surgery import without_side_effects

_MAX_PARAMETERS = 8000  # a triangular factor of 512 MB in float64
_ROWS = 2048  # of the Jacobian computed at a time


@dataclass(frozen=True, eq=False)
class OutputBottleneck:
    """The part of the desired change of the outputs that no change of the parameters provides, to first order."""

    lack: float  #: min over d theta of |J d theta - V_goal|^2 / n (eq. 2)
    goal: float  #: |V_goal|^2 / n
    rank: int  #: of the Jacobian J (n outputs, parameters): the independent changes that there are
    change: dict[str, Tensor]  #: the shortest best d theta, by parameter name


def output_bottleneck(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Any]],
    loss: Callable[[Any, Any], Tensor],
    *,
    cutoff: float = 1e-10,
) -> OutputBottleneck:
    """Return the expressivity bottleneck at the output over all parameters of a model (Definition 3.1) [1]_.

    ``min over d theta of |J d theta - V_goal|^2 / n`` with J the Jacobian of the outputs with respect to all
    parameters that require gradients, and V_goal the negative gradient of each sample's loss at its outputs. Moving one
    layer alone (:func:`bottleneck`) cannot do better.

    Parameters
    ----------
    model
        With at most 8000 parameters that require gradients. It is evaluated in eval mode and does not change.
    batches
        Pairs of inputs and targets. The Jacobian is reduced to a triangular factor batch by batch (a QR
        decomposition), so memory does not grow with their number.
    loss
        A function of outputs and targets: a mean or a sum over samples, or one value for each.
    cutoff
        Singular values of J below this, relative to the largest, count as zero.

    References
    ----------
    .. [1] "Spotting Expressivity Bottlenecks and Fixing Them Optimally", anonymous, under review (a later version:
       Verbockhaven, Rudkiewicz, Chevallier, Charpiat, "Growing Tiny Networks", TMLR 2024).

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[0.0], [1.5], [torch.pi], [4.5]], dtype=torch.float64)
    >>> line = torch.nn.Linear(1, 1).double()  # no change of it reaches all four points
    >>> found = output_bottleneck(line, [(x, 2 * torch.sin(x) + x)], torch.nn.MSELoss())
    >>> found.rank, 0 < found.lack < found.goal
    (2, True)
    """
    parameters = {name: value.detach() for name, value in model.named_parameters() if value.requires_grad}
    count = sum(value.numel() for value in parameters.values())
    if not 0 < count <= _MAX_PARAMETERS:
        raise InputError(
            "model",
            f"have 1 to {_MAX_PARAMETERS:,} parameters that require gradients",
            f"{count:,}",
            "the bottleneck of one layer, bottleneck(statistics(...)), has no such limit",
        )
    twin, loss_sum = copy.deepcopy(model).eval().requires_grad_(False), objective(loss).loss_sum
    device = next(iter(parameters.values())).device
    factor = torch.zeros(0, count + 1, dtype=torch.float64, device=device)
    samples = 0
    with without_side_effects():
        for x, target in batches:
            samples += len(x)
            goals = _goals(twin, loss_sum, x, target)
            step = max(1, _ROWS // goals[0].numel())
            for start in range(0, len(x), step):
                part = slice(start, start + step)
                rows = torch.cat([_jacobian(twin, parameters, x[part]), goals[part].reshape(-1, 1)], 1)
                factor = torch.linalg.qr(torch.cat([factor, rows]), mode="r").R
    if not samples:
        raise InputError("batches", "have at least one sample")
    return _solve(factor, samples, parameters, cutoff)


def _goals(twin: nn.Module, loss_sum: Callable[[Any, Any, int], Tensor], x: Tensor, target: Any) -> Tensor:
    """Return V_goal (n, *outputs) in float64: minus the gradient of each sample's loss at its outputs."""
    with torch.enable_grad():
        outputs = twin(x).detach().requires_grad_()
        total = loss_sum(outputs, target, len(x))
        (slope,) = torch.autograd.grad(total, outputs)
    if not bool(torch.isfinite(slope).all()):
        raise InputError("loss", "have finite gradients on every batch")
    goals: Tensor = -slope.double()
    return goals


def _jacobian(twin: nn.Module, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """Return the Jacobian of the outputs of samples x, (n outputs, parameters), in float64."""

    def outputs(values: dict[str, Tensor], sample: Tensor) -> Tensor:
        result: Tensor = functional_call(twin, values, (sample[None],))
        return result[0].flatten()

    parts = vmap(jacrev(outputs), in_dims=(None, 0))(parameters, x)
    return torch.cat([part.flatten(0, 1).flatten(1).double() for part in parts.values()], 1)


def _solve(factor: Tensor, samples: int, parameters: dict[str, Tensor], cutoff: float) -> OutputBottleneck:
    """Return the least-squares solution from the triangular factor of [J, V_goal]."""
    jacobian, goal = factor[:, :-1], factor[:, -1]
    u, values, vh = torch.linalg.svd(jacobian, full_matrices=False)
    rank = int((values > cutoff * values[:1].sum()).sum())
    along = u[:, :rank].T @ goal
    left = goal - u[:, :rank] @ along
    move = vh[:rank].T @ (along / values[:rank])
    parts = torch.split(move, [value.numel() for value in parameters.values()])
    change = {
        name: part.reshape(value.shape).to(value.dtype)
        for (name, value), part in zip(parameters.items(), parts, strict=True)
    }
    return OutputBottleneck(float(left.square().sum()) / samples, float(goal.square().sum()) / samples, rank, change)
