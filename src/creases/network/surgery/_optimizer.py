"""Optimizer state of resized parameters: old entries keep theirs, new ones start so that first steps are small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.optim import LBFGS, Optimizer
from torch.utils._pytree import tree_leaves

from creases.errors import InputError

#: ``resize(tensor, value)`` turns a tensor of the old shape into one of the new shape, new entries set to a value.
Resize = Callable[[Tensor, float], Tensor]


@dataclass(frozen=True)
class ParameterReplacement:
    """The replacement of a parameter in an optimizer."""

    optimizer: Optimizer
    group: dict[str, Any]
    position: int  #: in the group
    old: nn.Parameter
    new: nn.Parameter
    state: dict[str, Any] | None

    def apply(self) -> None:
        """Replace the parameter and its state."""
        self.group["params"][self.position] = self.new
        self.optimizer.state.pop(self.old, None)
        if self.state is not None:
            self.optimizer.state[self.new] = self.state


def check_optimizer(optimizer: Optimizer | None, model: nn.Module) -> None:
    """Refuse an optimizer that does not train the model, or whose state is not stored per entry."""
    if optimizer is None:
        return
    if not isinstance(optimizer, Optimizer):
        raise InputError("optimizer", "be a torch.optim.Optimizer", type(optimizer).__name__)
    if isinstance(optimizer, LBFGS):
        raise InputError("optimizer", "store its state per parameter", "LBFGS", "create a new optimizer after the edit")
    model_ids = {id(parameter) for parameter in model.parameters()}
    if not any(id(parameter) in model_ids for group in optimizer.param_groups for parameter in group["params"]):
        raise InputError(
            "optimizer", "hold parameters of the model", "none of them", "pass the one that trains this model"
        )


def plan_replacement(
    optimizer: Optimizer, old: nn.Parameter, new: nn.Parameter, resize: Resize
) -> list[ParameterReplacement]:
    """Return the replacement of a parameter and its state; an empty list if the optimizer does not hold it."""
    for group in optimizer.param_groups:
        for position, parameter in enumerate(group["params"]):
            if parameter is old:
                state = optimizer.state.get(old)
                if state is not None:
                    state = {key: _resize_state(key, value, old, group, resize) for key, value in state.items()}
                return [ParameterReplacement(optimizer, group, position, old, new, state)]
    return []


def add_parameter(optimizer: Optimizer, peer: Tensor | None, name: str, new: nn.Parameter) -> None:
    """Add a new parameter to the group of another; to the first group if that has none."""
    groups = optimizer.param_groups
    group = next((g for g in groups if any(parameter is peer for parameter in g["params"])), groups[0])
    group["params"].append(new)
    if "param_names" in group:
        group["param_names"].append(name)


def reset_optimizer_state(optimizer: Optimizer, parameter: Tensor) -> None:
    """Reset the state of a parameter whose values were changed in place."""
    for group in optimizer.param_groups:
        if any(parameter is member for member in group["params"]):
            for key, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    value.fill_(_initial_state(key, group) if value.shape == parameter.shape else 0)


def _resize_state(key: str, value: Any, old: nn.Parameter, group: dict[str, Any], resize: Resize) -> Any:
    if isinstance(value, Tensor) and value.shape == old.shape:
        return resize(value, _state_of_new_entries(key, value, group))
    arrays = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.numel() > 1]
    if arrays:
        raise InputError(
            "optimizer",
            f"have state of the parameters' shapes, here {tuple(old.shape)}",
            f"{key!r} of shape {tuple(arrays[0].shape)}",
            "create a new optimizer after the edit",
        )
    return value


def _state_of_new_entries(key: str, value: Tensor, group: dict[str, Any]) -> float:
    """Return the state with which new entries join a parameter whose old entries have this state.

    Adam's second moment v starts at (1 - beta1)^2 times the mean over the old entries. From 0 a new entry would go too
    far: m is (1 - beta1) g after one gradient g and v is (1 - beta2) g^2, which the bias correction no longer
    makes up for since the step count is high, so the step is sqrt(10) times the learning rate with the default betas,
    and larger after some. With this v, a first gradient of the usual size makes a step of the usual size, and a
    smaller one (that of a unit's incoming weights, while its outgoing weights are small) a smaller step.
    """
    if key in ("exp_avg_sq", "max_exp_avg_sq") and "betas" in group:
        return float((1 - float(group["betas"][0])) ** 2 * value.mean())
    return _initial_state(key, group)


def _initial_state(key: str, group: dict[str, Any]) -> float:
    """Return the state before the first step: zero but for two optimizers."""
    if key == "sum" and "initial_accumulator_value" in group:  # Adagrad
        return float(group["initial_accumulator_value"])
    if key == "step_size" and "step_sizes" in group:  # Rprop
        return float(group["lr"])
    return 0.0
