"""A growth run in a file: written completely or not at all, read without running code, resumed exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from creases._files import open_regular, write_atomically
from creases._text import OneLine
from creases.errors import CreasesError, FileError, InputError
from creases.growth._checks import check_groups
from creases.network import Place, places, remove, widen
from creases.network.surgery import AFFINE_LAYERS, count_outputs, output_tensors

_VERSION = 4

#: What to do about a checkpoint that cannot be used.
DELETE = "delete it to begin again, or pass another file"


@contextmanager
def blame_checkpoint(path: Path) -> Iterator[None]:
    """Say that a checkpoint is damaged where resuming from it fails."""
    try:
        yield
    except CreasesError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as problem:
        raise FileError(f"cannot resume from {path}: it is damaged ({problem!r}); {DELETE}") from problem


@dataclass(frozen=True, eq=False, repr=False)
class ModelState(OneLine):
    """The structure of a model that growth changed: the widths of its places, and all its tensors."""

    widths: dict[str, int]
    tensors: dict[str, Tensor]

    @classmethod
    def from_model(cls, model: nn.Module, widths: dict[str, int]) -> ModelState:
        """Return the state of a model whose places have these widths."""
        tensors = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        return cls(dict(widths), tensors)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> ModelState:
        """Return the state that :meth:`to_dict` wrote; one whose widths are not sizes of its tensors is refused."""
        widths, tensors = saved["widths"], saved["tensors"]
        sizes = {n for tensor in tensors.values() for n in tensor.shape}
        if wrong := [name for name, width in widths.items() if width not in sizes]:
            raise ValueError(f"no tensor has the width of {wrong[0]!r}, {widths[wrong[0]]!r}")
        return cls(widths, tensors)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as dicts, lists, numbers and tensors."""
        return {"widths": self.widths, "tensors": self.tensors}

    def restore(self, model: nn.Module, example: Tensor, optimizer: optim.Optimizer | None = None) -> None:
        """Give a model these widths (its optimizer's state follows) and these values."""
        refused = ("checkpoint", "come from the same model")
        try:
            resize(model, self.widths, example, optimizer)
        except InputError as problem:
            if problem.param == "checkpoint":
                raise
            raise InputError(*refused, f"{problem}") from None
        try:
            model.load_state_dict(self.tensors)
        except RuntimeError as problem:
            raise InputError(*refused, f"{problem}") from None


def resize(
    model: nn.Module,
    widths: Mapping[str, int],
    example: Tensor | None,
    optimizer: optim.Optimizer | None = None,
    known: Sequence[Place] | None = None,
) -> None:
    """Give the places of a model these widths; new units are zero, the last units are removed.

    ``known``: all places of the model as it is now, where they are known already.
    """
    layers = dict(model.named_modules())
    found = {name: layers.get(name) for name in widths}
    if all(isinstance(at, AFFINE_LAYERS) and count_outputs(at) == widths[name] for name, at in found.items()):
        return
    present = places(model, X=example) if known is None else known
    alone = are_independent(present)
    for name, width in widths.items():
        place = next((place for place in present if place.name == name), None)
        if place is None:
            raise InputError(
                "checkpoint", "come from the same model", f"one that grew {name!r}, which this model cannot"
            )
        if place.width != width:
            resize_place(model, place, width, optimizer)
            present = present if alone else places(model, X=example)


def are_independent(present: Sequence[Place]) -> bool:
    """Return whether no layer reads the units of two places: then the others stay as they are when one changes."""
    paths = [link.path for place in present for link in (*place.carriers, *place.consumers)]
    return len(paths) == len(set(paths))


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
    """Load an optimizer's state, each tensor in its dtype; torch converts all to the parameter's.

    Its groups stay the same dicts, as users and schedulers may hold them.
    """
    groups = optimizer.param_groups
    optimizer.load_state_dict(state)
    check_groups(groups, optimizer.param_groups)
    for group, loaded in zip(groups, optimizer.param_groups, strict=True):
        group.clear()
        group.update(loaded)
    optimizer.param_groups = groups
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, values in state["state"].items():
        held = optimizer.state[parameters[number]]
        for name, value in values.items():
            if isinstance(value, Tensor) and held[name].dtype != value.dtype:
                held[name] = value.to(held[name].device, copy=True)


def save_checkpoint(path: str | Path, state: dict[str, Any]) -> None:
    """Write a run's state: tensors, numbers and text in dicts and lists."""
    with write_atomically(path) as temporary:
        content = BytesIO()  # on a full disk torch's own writer raises errors of its own
        torch.save({"creases-checkpoint": _VERSION, **state}, content)
        temporary.write_bytes(content.getbuffer())


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read what :func:`save_checkpoint` wrote; nothing in the file is run."""
    try:
        with open_regular(path) as file:
            state = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as problem:  # from a file that is something else torch's unpickler raises almost anything
        raise FileError(f"cannot read {path} as a checkpoint: {problem}") from None
    version = state.pop("creases-checkpoint", None) if isinstance(state, dict) else None
    if not isinstance(state, dict) or version != _VERSION:
        raise FileError(f"{path} is not a checkpoint of a growth run of this version")
    return state
