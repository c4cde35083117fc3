"""Changes of present parameters: checked against a model, made, and taken back where what follows fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from creases.errors import InputError

#: Parameters, each with what is added to it.
ParameterChanges = list[tuple[Tensor, Tensor]]


def match_parameters(model: nn.Module, change: Mapping[str, Tensor], name: str, advice: str) -> ParameterChanges:
    """The parameters that a change (by their names) is of; refused in an argument's name where they are others."""
    found = dict(model.named_parameters())
    for path, move in change.items():
        if path not in found or found[path].shape != move.shape:
            has = f"has shape {tuple(found[path].shape)}" if path in found else "is not there"
            raise InputError(
                f"{name}: changes {path!r} by a tensor of shape {tuple(move.shape)}, which {has} in this model; "
                f"{advice}"
            )
    return [(found[path], move.to(found[path])) for path, move in change.items()]


@contextmanager
def apply_changes(moves: ParameterChanges) -> Iterator[None]:
    """Make the changes; where the block fails, the parameters are what they were."""
    before = [parameter.detach().clone() for parameter, _ in moves]
    with torch.no_grad():
        for parameter, move in moves:
            parameter.add_(move)
    try:
        yield
    except Exception:
        with torch.no_grad():
            for (parameter, _), value in zip(moves, before, strict=True):
                parameter.copy_(value)
        raise
