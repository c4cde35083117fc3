"""An optimizer's memory of parameters that change their size: old entries keep theirs, new ones start fresh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.optim import LBFGS, Optimizer
from torch.utils._pytree import tree_leaves

from creases.errors import InputError

#: ``resized(tensor, value)``: a tensor of the old parameter's shape in the new one's, new entries filled with a value.
Resized = Callable[[Tensor, float], Tensor]


@dataclass(frozen=True)
class ParameterReplacement:
    """A parameter's replacement in an optimizer."""

    optimizer: Optimizer
    group: dict[str, Any]
    position: int  #: in the group
    old: nn.Parameter
    new: nn.Parameter
    state: dict[str, Any] | None

    def apply(self) -> None:
        self.group["params"][self.position] = self.new
        self.optimizer.state.pop(self.old, None)
        if self.state is not None:
            self.optimizer.state[self.new] = self.state


def check_optimizer(optimizer: Optimizer | None, model: nn.Module) -> None:
    """Refuse an optimizer that is not the model's, or whose memory is not by entry."""
    if optimizer is None:
        return
    if not isinstance(optimizer, Optimizer):
        raise InputError(f"optimizer: expected a torch.optim.Optimizer, got {type(optimizer).__name__}")
    if isinstance(optimizer, LBFGS):
        raise InputError("optimizer: LBFGS remembers all parameters in one vector, which cannot grow; make a new one")
    ours = {id(parameter) for parameter in model.parameters()}
    if not any(id(parameter) in ours for group in optimizer.param_groups for parameter in group["params"]):
        raise InputError("optimizer: holds none of the model's parameters; pass the one that trains this model")


def plan_replacement(
    optimizer: Optimizer, old: nn.Parameter, new: nn.Parameter, resized: Resized
) -> list[ParameterReplacement]:
    """The replacement of a parameter in its own group, with its state; nothing where it is not in the optimizer."""
    for group in optimizer.param_groups:
        for position, parameter in enumerate(group["params"]):
            if parameter is old:
                state = optimizer.state.get(old)
                if state is not None:
                    state = {key: _resized(key, value, old, group, resized) for key, value in state.items()}
                return [ParameterReplacement(optimizer, group, position, old, new, state)]
    return []


def add_parameters(optimizer: Optimizer, beside: nn.Parameter | None, new: dict[str, nn.Parameter]) -> None:
    """Put new parameters, by name, into the group of another; into the first group where it has none."""
    groups = optimizer.param_groups
    group = next((g for g in groups if any(parameter is beside for parameter in g["params"])), groups[0])
    group["params"] += new.values()
    if "param_names" in group:
        group["param_names"] += new.keys()


def reset_optimizer_state(optimizer: Optimizer, parameter: Tensor) -> None:
    """Let an optimizer start afresh with a parameter whose values were set anew, in place."""
    for group in optimizer.param_groups:
        if any(parameter is one for one in group["params"]):
            for key, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    value.fill_(_fresh(key, group) if value.shape == parameter.shape else 0)


def _resized(key: str, value: Any, old: nn.Parameter, group: dict[str, Any], resized: Resized) -> Any:
    if isinstance(value, Tensor) and value.shape == old.shape:
        return resized(value, _fresh(key, group))
    kept = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.numel() > 1]
    if kept:
        raise InputError(
            f"optimizer: its state {key!r} has shape {tuple(kept[0].shape)} for a parameter of shape "
            f"{tuple(old.shape)}, so it cannot be told which entries belong to which unit; make a new optimizer"
        )
    return value


def _fresh(key: str, group: dict[str, Any]) -> float:
    """What a new entry's state starts with: zero, but for two optimizers."""
    if key == "sum" and "initial_accumulator_value" in group:  # Adagrad
        return float(group["initial_accumulator_value"])
    if key == "step_size" and "step_sizes" in group:  # Rprop
        return float(group["lr"])
    return 0.0
