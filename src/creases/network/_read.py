"""Reading a model as a network."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from pathlib import Path
from typing import Any

from torch import nn

from creases._files import read_bytes
from creases._validation import check_number
from creases.errors import FileError, InputError
from creases.network._network import Network
from creases.network._reading.arrays import from_arrays, is_sklearn, read_npz, read_sklearn

#: What functions that take a network accept: see :func:`as_network`.
NetworkLike = Network | nn.Module | str | Path

_PICKLES = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".pickle")


def read(
    model: Any, input_shape: Sequence[int] | None = None, *, leak: float = 0.0, max_memory: float | None = None
) -> Network:
    """Read a model as the continuous piecewise-linear function it computes.

    Of a model that ends in softmax, log-softmax or a sigmoid the scores before it are read: its decisions are theirs.
    ``net.link`` names what was left out, and a :class:`creases.errors.LinkWarning` says so.

    Parameters
    ----------
    model
        A ``torch.nn.Module`` (its function in eval mode, with a warning where it is in train mode and that differs;
        read in float64, not changed), the path of an ``.onnx`` file or an ``onnx.ModelProto``, the path of a network
        saved with :meth:`Network.save`, the path of an ``.npz`` file with arrays W0, b0, W1, b1, ... (and perhaps a
        number ``leak``), a list of ``(W, b)`` arrays, a fitted ``MLPClassifier`` or ``MLPRegressor`` of scikit-learn,
        also in a ``Pipeline`` after scalers (its outputs without softmax or logistic function: logits), a fitted
        estimator of creases, or a network, which is returned as it is.
    input_shape
        Shape of one input, without the batch axis. Needed for modules that do not start with a linear layer.
    leak
        For ``(W, b)`` arrays: slope of the bends between the layers on their negative side.
    max_memory
        For ONNX: bytes that its operations may take while it is read, by default half a gigabyte and sixteen times the
        file. A file of a hundred bytes can ask for a terabyte; its sizes are known before memory is taken. Refused for
        other models, which bring their numbers with them.

    Raises
    ------
    LimitError
        If reading an ONNX model would take more than ``max_memory``.
    ReadError
        If the model is not piecewise linear or uses an operation that cannot be read; the message names the place.

    Examples
    --------
    >>> import torch
    >>> net = read(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)))
    >>> net.n_in, net.n_out, net.n_units
    (2, 1, 8)
    """
    shape = check_input_shape(input_shape)
    check_number(leak, "leak")
    kind = f"a {type(model).__name__}"
    if max_memory is not None:
        check_number(max_memory, "max_memory", above=0)
        if not _is_onnx(model):
            raise InputError("max_memory", "be None unless the model is ONNX", f"{max_memory:g} with {kind}")
    if leak and not isinstance(model, list | tuple):
        raise InputError("leak", "be 0 unless the model is a list of (W, b) arrays", f"{leak} with {kind}")
    if isinstance(model, Network):
        net = model
    elif isinstance(model, nn.Module):
        from creases.network._reading.modules import read_module

        return read_module(model, shape)
    elif _is_onnx(model):
        from creases.network._reading.onnx.graph import read_onnx

        return read_onnx(model, shape, max_memory=max_memory)
    elif isinstance(model, str | Path):
        net = _read_file(Path(model))
    elif isinstance(model, list | tuple):
        net = from_arrays(model, leak=leak)
    elif is_sklearn(model):
        net = read_sklearn(model)
    elif isinstance(owned := getattr(model, "network", None), Network):  # such as the model of a table
        net = owned
    else:
        raise InputError(
            "model",
            "be a torch.nn.Module, a file name (.onnx, .safetensors or .npz), a list of (W, b) arrays, a perceptron of "
            "scikit-learn or a Network",
            type(model).__name__,
        )
    if shape is not None and shape != net.input_shape:
        raise InputError("input_shape", f"be that of the model, {net.input_shape}", f"{shape}")
    return net


def as_network(model: Any, input_shape: Sequence[int] | None = None) -> Network:
    """Return a network unchanged, and anything else that :func:`read` accepts as a network.

    Functions that take a network call this first, so that they take torch modules and file names as well.

    Examples
    --------
    >>> import torch
    >>> net = as_network(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU()))
    >>> as_network(net) is net
    True
    """
    return read(model, input_shape)


def check_input_shape(value: Sequence[int] | None) -> tuple[int, ...] | None:
    """Return the shape of one input as a tuple; None stays None."""
    if value is None:
        return None
    expected = "be a sequence of positive integers such as (3, 32, 32)"
    try:
        shape = tuple(index(n) for n in value)
    except TypeError:
        raise InputError("input_shape", expected, repr(value)) from None
    if not shape or any(n < 1 for n in shape):
        raise InputError("input_shape", expected, f"{shape}")
    return shape


def _is_onnx(model: Any) -> bool:
    is_file = isinstance(model, str | Path) and Path(model).suffix.lower() == ".onnx"
    return is_file or type(model).__name__ == "ModelProto"


def _read_file(path: Path) -> Network:
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise FileError(
            f"cannot read {path}: {suffix} files are pickles, which can run arbitrary code; load the model in Python "
            "and pass the module, creases.read(module), or save it as .onnx"
        )
    if suffix not in (".safetensors", ".npz"):
        raise FileError(
            f"cannot read {path}: a network is an .onnx, .safetensors or .npz file, not one with "
            f"{f'suffix {suffix}' if suffix else 'no suffix'}"
        )
    if not path.is_file():
        raise FileError(f"cannot read {path}: there is no such file")
    if suffix == ".npz":
        return read_npz(path)
    return Network.from_bytes(read_bytes(path), str(path))
