"""A torch module from the MODEL argument: networks in files are rebuilt of torch's layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import nn

from creases.cli._model import load_code, load_model
from creases.errors import InputError


def load_module(model: str, input_shape: Sequence[int] | None = None) -> tuple[nn.Module, tuple[int, ...] | None]:
    """The torch module that a MODEL argument names, and the shape of its input where the file tells."""
    if Path(model).suffix in (".onnx", ".safetensors", ".npz"):
        net = load_model(model, input_shape)
        try:
            return net.module(), net.input_shape
        except InputError as problem:
            raise InputError(f"{problem}; give the torch module itself: path.py:name") from None
    if ":" not in model:
        load_model(model)  # refuses it with the list of what there is
    found = load_code(model)
    if not isinstance(found, nn.Module):
        raise InputError(f"model: {model} is a {type(found).__name__}, not a torch module; only these can be pruned")
    return found, None if input_shape is None else tuple(input_shape)
