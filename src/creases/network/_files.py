"""Networks in files: one ``.safetensors`` file, the weights as tensors and the steps as JSON in its header.

Nothing in such a file is ever run. The header's metadata has one entry, ``creases-network``: a JSON object with
``version`` (of this layout), ``input_shape`` and ``steps``. The tensors of step i are named ``i.name``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from creases._files import write_atomically
from creases.errors import FileError
from creases.network.program._affine import AFFINE_OPS
from creases.network.program._bends import BEND_OPS
from creases.network.program._step import Step

if TYPE_CHECKING:
    from creases.network._network import Network

_ENTRY = "creases-network"
_VERSION = 1


def save(net: Network, path: str | Path) -> Path:
    """Write a network to ``path`` (``.safetensors`` or ``.onnx``), whole or not at all."""
    path = Path(path)
    if path.suffix == ".onnx":
        from creases.network.reading._onnx import write_onnx

        return write_onnx(net, path)
    if path.suffix != ".safetensors":
        ending = path.suffix or "none"
        raise FileError(f"{path}: networks are saved as .safetensors or .onnx files, got suffix {ending!r}")
    with write_atomically(path) as temporary:
        temporary.write_bytes(to_bytes(net))
    return path


def load(path: str | Path) -> Network:
    """Read a network that :func:`save` wrote."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path}: cannot be read: {problem.strerror}") from problem
    return from_bytes(data, str(path))


def to_bytes(net: Network) -> bytes:
    """A network as the bytes of its file."""
    tensors: dict[str, Tensor] = {}
    steps = []
    for i, step in enumerate(net.steps):
        tensors.update({f"{i}.{name}": t.detach().cpu().clone().contiguous() for name, t in step.tensors.items()})
        steps.append(
            {
                "op": step.op,
                "inputs": list(step.inputs),
                "shape": list(step.shape),
                "options": step.options,
                "tensors": sorted(step.tensors),
                "path": step.path,
            }
        )
    record = {"version": _VERSION, "input_shape": list(net.input_shape), "steps": steps}
    return save_tensors(tensors, {_ENTRY: json.dumps(record)})


def from_bytes(data: bytes, source: str = "network") -> Network:
    """The network of :func:`to_bytes`; ``source`` names it in errors."""
    from creases.network._network import Network

    try:
        tensors = load_tensors(data)
        metadata = _metadata(data)
    except (SafetensorError, ValueError) as problem:
        raise FileError(f"{source}: is damaged or not a safetensors file: {problem}") from problem
    if _ENTRY not in metadata:
        raise FileError(
            f"{source}: holds tensors but no network; it was not written by creases. Load the weights into a torch "
            "module and pass that: creases.read(module)"
        )
    try:
        record = json.loads(metadata[_ENTRY])
        if record["version"] != _VERSION:
            raise FileError(
                f"{source}: is of version {record['version']}; this creases reads version {_VERSION}. Update creases"
            )
        steps = [_step(step, i, tensors) for i, step in enumerate(record["steps"])]
        net = Network(steps, record["input_shape"])
        _try(net)
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError) as problem:
        raise FileError(f"{source}: is damaged: its steps do not fit together ({problem})") from problem
    return net


def _metadata(data: bytes) -> dict[str, Any]:
    """The metadata of a safetensors file: its header is a JSON object after 8 bytes of length."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]).get("__metadata__", {})  # type: ignore[no-any-return]


def _step(record: dict[str, Any], i: int, tensors: dict[str, Tensor]) -> Step:
    op, inputs = record["op"], tuple(record["inputs"])
    if op not in AFFINE_OPS and op not in BEND_OPS:
        raise ValueError(f"step {i} is of an unknown kind, {op!r}")
    if not inputs or any(not 0 <= value <= i for value in inputs):
        raise ValueError(f"step {i} reads values {inputs}, which are not there yet")
    own = {name: tensors[f"{i}.{name}"] for name in record["tensors"]}
    return Step(op, inputs, tuple(record["shape"]), record["options"], own, record["path"])


def _try(net: Network) -> None:
    """Run one point through: every step must give the shape it says."""
    values = [torch.zeros(1, *net.input_shape, dtype=net.dtype)]
    for i, step in enumerate(net.steps):
        values.append(step.apply([values[value] for value in step.inputs]))
        if tuple(values[-1].shape[1:]) != step.shape:
            raise ValueError(f"step {i} says shape {step.shape} and gives {tuple(values[-1].shape[1:])}")
