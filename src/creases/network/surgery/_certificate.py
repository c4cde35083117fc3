"""Certificates of edits: what changed in a model and how much its function changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from creases.errors import InputError
from creases.network.surgery._edits import without_side_effects
from creases.network.surgery._place import Place


@dataclass(frozen=True)
class Certificate:
    """What an edit changed in a model.

    ``change`` is measured: the largest difference of any output on the ``X`` passed to the edit, in eval mode.
    ``bound`` is proved: up to rounding, the function changes by no more than this at any input; None if no bound is
    known.
    """

    action: str  #: "widen", "deepen", "remove" or "remove layer"
    place_name: str  #: name of the place; for "deepen" that of the new one
    old_width: int  #: units before; 0 for "deepen", which adds a layer
    new_width: int
    parameters_before: int
    parameters_after: int
    change: float | None
    bound: float | None
    place: Place | None  #: the place after the edit, for the next one; None for "deepen": call ``places`` again


def count_parameters(model: nn.Module) -> int:
    """Return the number of a model's parameters; shared ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def certify_edit(model: nn.Module, X: Tensor | None, edit: Callable[[], Any], **facts: Any) -> Certificate:
    """Apply an edit and return its certificate with the other ``facts``."""
    before = count_parameters(model)
    change = apply_and_measure(model, X, edit)
    return Certificate(parameters_before=before, parameters_after=count_parameters(model), change=change, **facts)


def apply_and_measure(model: nn.Module, X: Tensor | None, edit: Callable[[], Any]) -> float | None:
    """Apply an edit and return the largest change of any output on X (n, *shape); None without X."""
    before = _outputs(model, X)
    edit()
    if before is None:
        return None
    pairs = [(old, new) for old, new in zip(before, _outputs(model, X) or [], strict=True) if old.numel()]
    return max((float((new.double() - old.double()).abs().max()) for old, new in pairs), default=0.0)


def _outputs(model: nn.Module, X: Tensor | None) -> list[Tensor] | None:
    """Return the model's outputs on X in eval mode."""
    if X is None:
        return None
    with without_side_effects(), evaluation_mode(model):
        try:
            outputs = model(X)
        except Exception as problem:
            raise InputError("X", "be inputs that the model runs on", f"{problem}") from None
        return [leaf.detach().clone() for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor)]


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode without gradients; restore the mode of each module afterwards."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


#: Tolerance for float32 on a GPU: convolutions use 10 bits (TF32) and an order of summation that depends on sizes.
_TF32_TOLERANCE = 1e-2


def same_outputs(old: list[Tensor], new: list[Tensor]) -> bool:
    """Return whether two runs have the same outputs up to rounding."""
    if len(old) != len(new):
        return False
    for before, after in zip(old, new, strict=True):
        if before.shape != after.shape:
            return False
        if not before.is_floating_point():
            continue
        tolerance = max(1e3 * torch.finfo(before.dtype).eps, _TF32_TOLERANCE if before.is_cuda else 0.0)
        a, b = before.double(), after.double()
        scale = float(a[a.isfinite()].abs().max()) if a.isfinite().any() else 1.0
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-30), equal_nan=True):
            return False
    return True
