"""Inferring the shape of a model's input from its first layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from creases._text import plural
from creases.errors import InputError
from creases.network._reading.operators.names import words
from creases.network._reading.traced import function_name

#: Functions that may precede the layer that determines the width of the input.
_ELEMENTWISE = words(
    """
    add sub mul div neg __rsub__ __radd__ relu relu6 leaky_relu hardtanh clamp abs dropout batch_norm
    float double to contiguous clone flatten view reshape
    """
)


class _WidthFound(Exception):
    def __init__(self, width: int) -> None:
        self.width = width


class _Probe(Tensor):
    """An input of unknown shape, until a linear layer determines its width."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = function_name(func)
        kwargs = kwargs or {}
        weight = kwargs.get("weight", args[1] if len(args) > 1 else None)
        if name == "linear" and isinstance(weight, Tensor):
            raise _WidthFound(weight.shape[1])
        if name == "matmul" and isinstance(weight, Tensor) and not isinstance(weight, _Probe):
            raise _WidthFound(weight.shape[0])
        if name in ("size", "shape"):
            return 2 if len(args) > 1 and args[1] == 0 else (2,)
        if name in ("dim", "ndim"):
            return 2
        if name in _ELEMENTWISE:
            return next(arg for arg in args if isinstance(arg, _Probe))
        if name.startswith("conv") and isinstance(weight, Tensor):
            channels = weight.shape[1] * (args[6] if len(args) > 6 else 1)
            example = (channels, *(32,) * (weight.ndim - 2))
            _ask(f"starts with a convolution over {plural(channels, 'channel')}", example)
        _ask(f"starts with {name}")


def probe_input_shape(model: nn.Module) -> tuple[int, ...]:
    """Return the input shape of a model whose first layer is Linear; raise an InputError for others."""
    try:
        model(torch.empty(2).as_subclass(_Probe))
    except _WidthFound as result:
        return (result.width,)
    except InputError:
        raise
    except Exception:
        _ask("does not run on an input of unknown shape")
    _ask("has no linear layer", (2,))


def _ask(reason: str, example: tuple[int, ...] = (3, 32, 32)) -> NoReturn:
    hint = "pass the shape of one input without the batch axis, for example {0}"
    raise InputError("input_shape", f"be given for a model that {reason}", "", hint, [("input_shape", example)])
