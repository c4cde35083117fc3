"""What an edit did to a model, and how much it changed the function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from creases.errors import InputError
from creases.network.surgery._place import Place
from creases.network.surgery._sandbox import without_side_effects


@dataclass(frozen=True)
class Certificate:
    """What an edit of a model did.

    ``change`` is measured: the largest difference of any output on the ``data`` given to the edit, in eval mode.
    ``bound`` is proved: the function changes by no more than this at any input, but for rounding; None where no bound
    is known.
    """

    action: str  #: "widen", "deepen" or "remove"
    where: str  #: name of the place; for "deepen" that of the new one
    old_width: int  #: units before; 0 for "deepen", where there was no layer
    new_width: int
    parameters_before: int
    parameters_after: int
    change: float | None
    bound: float | None
    place: Place | None  #: the place as it is now, for the next edit; None for "deepen": ask ``places`` again


def count_parameters(model: nn.Module) -> int:
    """Number of a model's parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def apply_and_measure(model: nn.Module, data: Tensor | None, edit: Callable[[], Any]) -> float | None:
    """Make an edit; the largest change of any output on data (n, *shape), if given."""
    before = _outputs(model, data)
    edit()
    if before is None:
        return None
    after = _outputs(model, data)
    assert after is not None
    return max((_difference(old, new) for old, new in zip(before, after, strict=True)), default=0.0)


def _difference(old: Tensor, new: Tensor) -> float:
    return float((new.double() - old.double()).abs().max()) if old.numel() else 0.0


def _outputs(model: nn.Module, data: Tensor | None) -> list[Tensor] | None:
    """The model's outputs on data in eval mode."""
    if data is None:
        return None
    with without_side_effects(), _in_eval(model):
        try:
            outputs = model(data)
        except Exception as problem:
            raise InputError(f"data: the model does not run on it ({problem})") from None
        return [leaf.detach().clone() for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor)]


@contextmanager
def _in_eval(model: nn.Module) -> Iterator[None]:
    """In eval mode, and back to each module's own."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


#: Of float32 on a GPU, where convolutions keep 10 bits (TF32) and choose their order of summation by their size.
_TF32 = 1e-2


def same_outputs(old: list[Tensor], new: list[Tensor]) -> bool:
    """Whether two runs gave the same, but for the rounding of their precision."""
    if len(old) != len(new):
        return False
    for before, after in zip(old, new, strict=True):
        if before.shape != after.shape:
            return False
        if not before.is_floating_point():
            continue
        tolerance = max(1e3 * torch.finfo(before.dtype).eps, _TF32 if before.is_cuda else 0.0)
        a, b = before.double(), after.double()
        scale = float(a[a.isfinite()].abs().max()) if a.isfinite().any() else 1.0
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-30), equal_nan=True):
            return False
    return True
