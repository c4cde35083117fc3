"""Reading a model as a network."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from pathlib import Path
from typing import Any

from torch import nn

from creases.errors import FileError, InputError
from creases.network._network import Network
from creases.network.reading._arrays import from_arrays

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
    shape = checked_shape(input_shape)
    if leak and not isinstance(model, list | tuple):
        raise InputError(f"leak: is for (W, b) arrays only, got leak={leak} with a {type(model).__name__}")
    if isinstance(model, Network):
        net = model
    elif isinstance(model, nn.Module):
        from creases.network.reading._trace import read_module

        return read_module(model, shape)
    elif isinstance(model, str | Path):
        net = _from_path(Path(model), shape)
    elif type(model).__name__ == "ModelProto":
        from creases.network.reading._onnx import read_onnx

        net = read_onnx(model, shape)
    elif isinstance(model, list | tuple):
        net = from_arrays(model, leak=leak)
    else:
        raise InputError(
            f"model: expected a torch.nn.Module, a path (.onnx or .safetensors), a list of (W, b) arrays or a Network, "
            f"got {type(model).__name__}"
        )
    if shape is not None and shape != net.input_shape:
        raise InputError(f"input_shape: the model's own is {net.input_shape}, got {shape}")
    return net


def checked_shape(given: Sequence[int] | None) -> tuple[int, ...] | None:
    """The shape of one input as a tuple, if it is one."""
    if given is None:
        return None
    try:
        shape = tuple(index(n) for n in given)
    except TypeError:
        raise InputError(f"input_shape: expected integers such as (3, 32, 32), got {given!r}") from None
    if not shape or any(n < 1 for n in shape):
        raise InputError(f"input_shape: sizes must be at least 1, got {shape}")
    return shape


def _from_path(path: Path, shape: tuple[int, ...] | None) -> Network:
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
        from creases.network.reading._onnx import read_onnx

        return read_onnx(path, shape)
    from creases.network._files import load

    return load(path)
