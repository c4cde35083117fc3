"""Changes of existing parameters, checked against a model, and undone if a following step fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from creases.errors import InputError

#: Parameters, each with what is added to it.
ParameterChanges = list[tuple[Tensor, Tensor]]


def match_parameters(model: nn.Module, change: Mapping[str, Tensor], name: str, advice: str) -> ParameterChanges:
    """Return the parameters that a change names; ``name`` is the argument it came from."""
    parameters = dict(model.named_parameters())
    for path, move in change.items():
        if path not in parameters or parameters[path].shape != move.shape:
            shape = f"has shape {tuple(parameters[path].shape)}" if path in parameters else "does not exist"
            raise InputError(
                name,
                "fit the model",
                f"a change of shape {tuple(move.shape)} for {path!r}, which {shape}",
                advice,
            )
    return [(parameters[path], move.to(parameters[path])) for path, move in change.items()]


@contextmanager
def apply_changes(moves: ParameterChanges) -> Iterator[None]:
    """Apply the changes; restore the parameters if the block fails."""
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
