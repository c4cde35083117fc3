"""Torch modules from the MODEL argument: networks in files are rebuilt from torch's layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import nn

from creases.cli._model import load_code, load_model
from creases.errors import InputError


def load_module(model: str, input_shape: Sequence[int] | None = None) -> tuple[nn.Module, tuple[int, ...] | None]:
    """Return the torch module that a MODEL argument names, and the shape of its input where it is known."""
    if Path(model).is_dir() or Path(model).suffix in (".onnx", ".safetensors", ".npz"):
        net = load_model(model, input_shape)
        try:
            return net.module(), net.input_shape
        except InputError as problem:
            hint = "give the torch module itself: path.py:name"
            raise InputError(problem.param, problem.expected, problem.got, hint) from None
    if ":" not in model:
        load_model(model)  # refuses it with the list of what there is
    module = load_code(model)
    if not isinstance(module, nn.Module):
        raise InputError("model", "be a torch module", f"{type(module).__name__} in {model}")
    return module, None if input_shape is None else tuple(input_shape)
