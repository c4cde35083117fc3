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


def apply_and_measure(model: nn.Module, X: Tensor | None, edit: Callable[[], Any]) -> float | None:
    """Apply an edit and return the largest change of any output on X (n, *shape); None without X."""
    before = _outputs(model, X)
    edit()
    if before is None:
        return None
    after = _outputs(model, X)
    assert after is not None
    return max((_difference(old, new) for old, new in zip(before, after, strict=True)), default=0.0)


def _difference(old: Tensor, new: Tensor) -> float:
    return float((new.double() - old.double()).abs().max()) if old.numel() else 0.0


def _outputs(model: nn.Module, X: Tensor | None) -> list[Tensor] | None:
    """Return the model's outputs on X in eval mode."""
    if X is None:
        return None
    with without_side_effects(), _eval_mode(model):
        try:
            outputs = model(X)
        except Exception as problem:
            raise InputError("X", "be inputs that the model runs on", f"{problem}") from None
        return [leaf.detach().clone() for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor)]


@contextmanager
def _eval_mode(model: nn.Module) -> Iterator[None]:
    """Put a model in eval mode, and each of its modules back in its own mode at the end."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
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
