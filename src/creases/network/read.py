"""Reading a model as a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from creases.errors import FileError, InputError
from creases.network.arrays import from_arrays
from creases.network.network import Network

_PICKLES = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".pickle")


def read(model: Any, input_shape: Sequence[int] | None = None, *, leak: float = 0.0) -> Network:
    """Read a model as the continuous piecewise-linear function it is.

    Parameters
    ----------
    model
        A ``torch.nn.Module`` (its function in eval mode, read in float64; the module itself is left alone), the path of
        an ``.onnx`` file or an ``onnx.ModelProto``, the path of a network saved with :meth:`Network.save`, a list of
        ``(W, b)`` arrays, or a network, which is returned as it is.
    input_shape
        Shape of one input, without the batch axis. Needed for modules that do not start with a linear layer.
    leak
        For ``(W, b)`` arrays: slope of the bends between the layers on their negative side.

    Raises
    ------
    ReadError
        If the model is not piecewise linear or cannot be followed; the message names the place.

    Examples
    --------
    >>> import torch
    >>> net = read(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)))
    >>> net.n_in, net.n_out, net.n_units
    (2, 1, 8)
    """
    if leak and not isinstance(model, list | tuple):
        raise InputError(f"leak: is for (W, b) arrays only, got leak={leak} with a {type(model).__name__}")
    if isinstance(model, Network):
        net = model
    elif isinstance(model, nn.Module):
        from creases.network.trace import read_module

        return read_module(model, input_shape)
    elif isinstance(model, str | Path):
        net = _from_path(Path(model), input_shape)
    elif type(model).__name__ == "ModelProto":
        from creases.network.onnx import read_onnx

        net = read_onnx(model, input_shape)
    elif isinstance(model, list | tuple):
        net = from_arrays(model, leak=leak)
    else:
        raise InputError(
            f"model: expected a torch.nn.Module, a path (.onnx or .safetensors), a list of (W, b) arrays or a Network, "
            f"got {type(model).__name__}"
        )
    if input_shape is not None and tuple(input_shape) != net.input_shape:
        raise InputError(f"input_shape: the model's own is {net.input_shape}, got {tuple(input_shape)}")
    return net


def _from_path(path: Path, input_shape: Sequence[int] | None) -> Network:
    kind = path.suffix.lower()
    if kind in _PICKLES:
        raise FileError(
            f"{path}: {kind} files are pickles, which can run any code, so creases does not open them. Load it in "
            "Python and pass the module: creases.read(module); or save the network as .safetensors or export .onnx"
        )
    if kind not in (".onnx", ".safetensors"):
        raise FileError(
            f"{path}: expected an .onnx file or a network saved by creases (.safetensors), got {kind or 'no'} suffix"
        )
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    if kind == ".onnx":
        from creases.network.onnx import read_onnx

        return read_onnx(path, input_shape)
    from creases.network.files import load

    return load(path)
