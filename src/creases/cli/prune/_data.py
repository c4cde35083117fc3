"""What is pruned, and by what: a torch module, rows for fine-tuning and rows for validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from creases.cli._model import load_code, load_model
from creases.errors import InputError
from creases.network.surgery import evaluation_mode
from creases.problems import Problem, get, match_outputs
from creases.tables import read_table, resolve_data

#: Fraction of the rows that is held out for validation.
VALIDATION = 0.25

#: Number of rows below which nothing is held out.
MIN_ROWS = 20


class Rows(NamedTuple):
    """Inputs (n, *shape) and classes (n,)."""

    X: Tensor
    y: Tensor


class Data(NamedTuple):
    """The data that a network is pruned by."""

    name: str
    tune: Rows
    validation: Rows
    held_out: bool  #: whether the validation rows are not used for fine-tuning
    box: list[tuple[float, float]]  #: the range of every input


def read_data(data: str, target: str | None, model: nn.Module, shape: tuple[int, ...] | None, seed: int) -> Data:
    """Return rows of a table or a built-in problem for a network; images are validated on their test split."""
    name = resolve_data(data)
    if Path(name).is_file():
        problem = read_table(Path(name), target)
    else:
        if target is not None:
            raise InputError("target", f"be left out for the built-in problem {data!r}", repr(target))
        problem = get(name)
    if problem.classes is None:
        raise InputError("data", "have classes, to measure an accuracy", f"numbers to predict in {problem.name}")
    like = next(p for p in model.parameters())
    size = shape or (problem.X.shape[1],)
    if int(np.prod(size)) != problem.X.shape[1]:
        raise InputError(
            "data",
            f"have {' x '.join(map(str, size))} inputs, as the network",
            f"{problem.X.shape[1]} in {problem.name}",
        )
    with evaluation_mode(model):
        outputs = int(model(torch.zeros(2, *size, dtype=like.dtype, device=like.device)).shape[-1])
    rows = _rows(problem, size, like, outputs)
    if name in ("mnist", "cifar10"):
        tune, validation, held = rows, _rows(get(name, split="test"), size, like, outputs), True
    else:
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(rows.y)))
        held = len(order) >= MIN_ROWS
        cut = round(VALIDATION * len(order)) if held else 0
        later, first = order[:cut], order[cut:]
        tune = Rows(rows.X[first], rows.y[first])
        validation = Rows(rows.X[later], rows.y[later]) if held else tune
    low, high = problem.X.min(axis=0), problem.X.max(axis=0)
    wide = np.where(high > low, high, low + 1.0)  # a constant column still needs an interval
    return Data(problem.name, tune, validation, held, list(zip(low.tolist(), wide.tolist(), strict=True)))


def _rows(problem: Problem, shape: tuple[int, ...], like: Any, outputs: int) -> Rows:
    X = torch.from_numpy(problem.X).to(like.dtype).reshape(-1, *shape)
    return Rows(X, torch.from_numpy(match_outputs(problem, outputs).y))


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
