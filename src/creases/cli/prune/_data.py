"""Data to prune by: rows to tune with and rows to judge by."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from creases import problems
from creases.errors import InputError
from creases.growth.experiment import resolve_data
from creases.problems import match_outputs, read_table
from creases.prune import evaluation_mode

#: Share of the rows that is only judged by.
HELD_OUT = 0.25

#: Rows below which nothing is held out.
LEAST_ROWS = 20


class Rows(NamedTuple):
    """Inputs (n, *shape) and classes (n,)."""

    X: Tensor
    y: Tensor


class Data(NamedTuple):
    """What a network is pruned by."""

    name: str
    tune: Rows
    judge: Rows
    held_out: bool  #: whether the rows to judge by are others
    box: list[tuple[float, float]]  #: the range of every input


def read_data(given: str, target: str | None, model: nn.Module, shape: tuple[int, ...] | None, seed: int) -> Data:
    """Rows of a table, of a built-in problem, or of the images (their test split to judge by), for a network."""
    name = resolve_data(given)
    if Path(name).is_file():
        problem = read_table(Path(name), target)
    else:
        if target is not None:
            raise InputError(f"--target: is for tables; {given!r} is a built-in problem")
        problem = problems.get(name)
    if problem.classes is None:
        raise InputError(
            f"--data: {problem.name} has numbers to predict; pruning keeps an accuracy, which needs classes"
        )
    like = next(p for p in model.parameters())
    size = shape or (problem.X.shape[1],)
    if int(np.prod(size)) != problem.X.shape[1]:
        raise InputError(
            f"--data: {problem.name} has {problem.X.shape[1]} inputs, the network takes {' x '.join(map(str, size))}"
        )
    outputs = _outputs(model, size, like)
    own = _rows(problem, size, like, outputs)
    if name in ("mnist", "cifar10"):
        judge, held = _rows(problems.get(name, split="test"), size, like, outputs), True
        tune = own
    else:
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(own.y)))
        held = len(order) >= LEAST_ROWS
        cut = round(HELD_OUT * len(order)) if held else 0
        later, first = order[:cut], order[cut:]
        tune = Rows(own.X[first], own.y[first])
        judge = Rows(own.X[later], own.y[later]) if held else tune
    low, high = problem.X.min(axis=0), problem.X.max(axis=0)
    wide = np.where(high > low, high, low + 1.0)  # a column of one value still needs a box
    return Data(problem.name, tune, judge, held, list(zip(low.tolist(), wide.tolist(), strict=True)))


def _outputs(model: nn.Module, shape: tuple[int, ...], like: Any) -> int:
    with evaluation_mode(model):
        return int(model(torch.zeros(2, *shape, dtype=like.dtype, device=like.device)).shape[-1])


def _rows(problem: problems.Problem, shape: tuple[int, ...], like: Any, outputs: int) -> Rows:
    X = torch.from_numpy(problem.X).to(like.dtype).reshape(-1, *shape)
    return Rows(X, torch.from_numpy(match_outputs(problem, outputs).y))
