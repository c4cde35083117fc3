"""Programs as ``.safetensors`` files: the weights as tensors, the steps as JSON in the header.

Reading such a file never executes code from it. The header's metadata has an entry ``creases-network``: a JSON object
with ``version`` (of this layout), ``input_shape`` and ``steps``. The tensors of step i are named ``i.name``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from creases._files import parse_json, write_atomically
from creases._program._affine import AFFINE_OPS
from creases._program._program import LINKS, Program
from creases._program._step import BEND_OPS, Step
from creases.errors import FileError

_ENTRY = "creases-network"
_VERSION = 1

#: Numbers of one value at one point; no network of a real file has more.
_LARGEST = 2**31


def save_program(program: Program, path: str | Path) -> Path:
    """Write a program to ``path`` (``.safetensors`` or ``.onnx``) atomically."""
    path = Path(path)
    if path.suffix == ".onnx":
        from creases.network._formats.onnx import write_onnx

        return write_onnx(program, path)
    if path.suffix != ".safetensors":
        suffix = path.suffix or "none"
        raise FileError(
            f"cannot write {path}: networks are saved as .safetensors or .onnx files, got suffix {suffix!r}"
        )
    with write_atomically(path) as temporary:
        temporary.write_bytes(program_to_bytes(program))
    return path


def program_to_bytes(program: Program) -> bytes:
    """Return the content of a program's ``.safetensors`` file."""
    tensors: dict[str, Tensor] = {}
    steps = []
    for i, step in enumerate(program.steps):
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
    record = {"version": _VERSION, "input_shape": list(program.input_shape), "steps": steps, "link": program.link}
    return save_tensors(tensors, {_ENTRY: json.dumps(record)})


def program_from_bytes(data: bytes, source: str) -> Program:
    """Return the program of :func:`program_to_bytes`; ``source`` names the data in errors."""
    try:
        tensors = load_tensors(data)
        length = int.from_bytes(data[:8], "little")  # of the header, a JSON object
        metadata = parse_json(data[8 : 8 + length]).get("__metadata__", {})
    except (SafetensorError, ValueError) as problem:
        raise FileError(f"cannot read {source}: it is damaged or not a safetensors file: {problem}") from problem
    if _ENTRY not in metadata:
        raise FileError(
            f"cannot read {source}: it holds tensors but no network, so it was not written by creases; load the "
            "weights into a torch module and pass that: creases.read(module)"
        )
    try:
        record = parse_json(metadata[_ENTRY])
        if record["version"] != _VERSION:
            raise FileError(
                f"cannot read {source}: its format has version {record['version']} and this creases reads version "
                f"{_VERSION}; update creases"
            )
        steps = tuple(_step(step, i, tensors) for i, step in enumerate(record["steps"]))
        if record["link"] not in ("", *LINKS):
            raise ValueError(f"its outputs go through {record['link']!r}")
        program = Program(steps, record["input_shape"], record["link"])
        _check_shapes(program)
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError, OverflowError) as problem:
        raise FileError(f"cannot read {source}: it is damaged; its steps do not fit together ({problem})") from problem
    return program


def _step(record: dict[str, Any], i: int, tensors: dict[str, Tensor]) -> Step:
    op, inputs = record["op"], tuple(record["inputs"])
    if op not in AFFINE_OPS and op not in BEND_OPS:
        raise ValueError(f"step {i} has an unknown operation, {op!r}")
    if not inputs or any(not 0 <= value <= i for value in inputs):
        raise ValueError(f"step {i} reads values {inputs}, which are computed later")
    weights = {name: tensors[f"{i}.{name}"] for name in record["tensors"]}
    return Step(op, inputs, tuple(record["shape"]), record["options"], weights, record["path"])


def _check_shapes(program: Program) -> None:
    """Check that every step returns its declared shape, without computing anything, and that all numbers are finite."""
    if not program.input_shape or any(type(n) is not int or n < 1 for n in program.input_shape):
        raise ValueError(f"the input has shape {program.input_shape}")
    values = [torch.zeros(1, *program.input_shape, dtype=program.dtype, device="meta")]
    for i, step in enumerate(program.steps):
        _check_weights(step, i, values)
        bare = replace(step, tensors={name: tensor.to("meta") for name, tensor in step.tensors.items()})
        values.append(bare.apply([values[value] for value in step.inputs]))
        if tuple(values[-1].shape[1:]) != step.shape or values[-1].shape[0] != 1:
            raise ValueError(f"step {i} declares shape {step.shape} but returns {tuple(values[-1].shape[1:])}")
        if values[-1].numel() > _LARGEST:
            raise ValueError(f"step {i} returns {values[-1].numel()} numbers")
    if len({t.dtype for step in program.steps for t in step.tensors.values() if t.is_floating_point()}) > 1:
        raise ValueError("its weights have several precisions")


def _check_weights(step: Step, i: int, values: list[Tensor]) -> None:
    """Check the numbers of a step: finite weights, indices of entries that there are."""
    for name, tensor in step.tensors.items():
        if name == "index":
            size = values[step.inputs[0]].numel()
            if tensor.dtype != torch.int64 or ((tensor < 0) | (tensor >= size)).any():
                raise ValueError(f"step {i} reads entries that its input does not have")
        elif not tensor.is_floating_point() or not tensor.isfinite().all():
            raise ValueError(f"step {i} has weights that are NaN, infinite or no numbers")
    if step.op == "choice" and not values[step.inputs[0]].shape[-1]:
        raise ValueError(f"step {i} chooses among nothing")
