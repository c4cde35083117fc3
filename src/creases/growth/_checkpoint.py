"""A growth run in a file: written completely or not at all, read without running code, resumed exactly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from creases._files import write_atomically
from creases.errors import FileError, InputError
from creases.network.surgery import AFFINE_LAYERS, Place, output_tensors, places, remove, widen

_VERSION = 1


@dataclass(frozen=True, eq=False)
class ModelState:
    """The widths of a model's places, and all its tensors."""

    widths: dict[str, int]
    tensors: dict[str, Tensor]

    @classmethod
    def from_model(cls, model: nn.Module, widths: dict[str, int]) -> ModelState:
        """Return the state of a model whose places have these widths."""
        return cls(dict(widths), {name: value.detach().cpu().clone() for name, value in model.state_dict().items()})

    def restore(self, model: nn.Module, example: Tensor, optimizer: optim.Optimizer | None = None) -> None:
        """Give a model these widths (its optimizer's state follows) and these values."""
        resize(model, self.widths, example, optimizer)
        try:
            model.load_state_dict(self.tensors)
        except RuntimeError as problem:
            raise InputError("checkpoint", "be of the same model", f"{problem}") from None


def resize(
    model: nn.Module, widths: dict[str, int], example: Tensor | None, optimizer: optim.Optimizer | None = None
) -> None:
    """Give the places of a model these widths; new units are zero, the last units are removed."""
    for name, width in widths.items():
        place = next((place for place in places(model, X=example) if place.name == name), None)
        if place is None:
            raise InputError("checkpoint", "be of the same model", f"one that grew {name!r}, which this model cannot")
        resize_place(model, place, width, optimizer)


def resize_place(model: nn.Module, place: Place, width: int, optimizer: optim.Optimizer | None = None) -> None:
    """Give a place of a model this width; new units are zero, the last units are removed."""
    if width < place.width:
        remove(model, place, range(width, place.width), optimizer=optimizer)
    elif width > place.width:
        layer = model.get_submodule(place.name)
        assert isinstance(layer, AFFINE_LAYERS)
        axis = output_tensors(layer).weight_axis
        k = width - place.width
        rows = layer.weight.detach().movedim(axis, 0)[:1]
        fan_in = torch.zeros((k, *rows.shape[1:]), dtype=rows.dtype, device=rows.device)
        widen(model, place, fan_in, optimizer=optimizer)


def load_optimizer_state(optimizer: optim.Optimizer, state: dict[str, Any]) -> None:
    """Load an optimizer's state, each tensor in its dtype; torch converts all to the parameter's."""
    optimizer.load_state_dict(state)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, values in state["state"].items():
        held = optimizer.state[parameters[number]]
        for name, value in values.items():
            if isinstance(value, Tensor) and held[name].dtype != value.dtype:
                held[name] = value.to(held[name].device, copy=True)


def save_checkpoint(path: str | Path, state: dict[str, Any]) -> None:
    """Write a run's state: tensors, numbers and text in dicts and lists."""
    with write_atomically(path) as temporary:
        torch.save({"creases-checkpoint": _VERSION, **state}, temporary)


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read what :func:`save_checkpoint` wrote; nothing in the file is run."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:  # from a file that is something else torch's unpickler raises almost anything
        raise FileError(f"cannot read {path} as a checkpoint: {problem}") from None
    if not isinstance(state, dict) or state.pop("creases-checkpoint", None) != _VERSION:
        raise FileError(f"{path} is not a checkpoint of a growth run of this version")
    return state
