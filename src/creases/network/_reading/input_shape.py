"""The shape of a model's input, from the first layer that touches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.network._reading.operators.names import words
from creases.network._reading.traced import function_name

#: What may come before the layer that says how wide the input is.
_ELEMENTWISE = words(
    """
    add sub mul div neg __rsub__ __radd__ relu relu6 leaky_relu hardtanh clamp abs dropout batch_norm
    float double to contiguous clone flatten view reshape
    """
)


class _Found(Exception):
    def __init__(self, width: int) -> None:
        self.width = width


class _Probe(Tensor):
    """Stands for an input of unknown shape until a linear layer says how wide it is."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = function_name(func)
        kwargs = kwargs or {}
        weight = kwargs.get("weight", args[1] if len(args) > 1 else None)
        if name == "linear" and isinstance(weight, Tensor):
            raise _Found(weight.shape[1])
        if name == "matmul" and isinstance(weight, Tensor) and not isinstance(weight, _Probe):
            raise _Found(weight.shape[0])
        if name in ("size", "shape"):
            return 2 if len(args) > 1 and args[1] == 0 else (2,)
        if name in ("dim", "ndim"):
            return 2
        if name in _ELEMENTWISE:
            return next(arg for arg in args if isinstance(arg, _Probe))
        if name.startswith("conv") and isinstance(weight, Tensor):
            channels = weight.shape[1] * (args[6] if len(args) > 6 else 1)
            example = (channels, *(32,) * (weight.ndim - 2))
            _ask(f"starts with a convolution over {channels} channels, so give it, for example input_shape={example}")
        _ask(f"starts with {name}, so give it without the batch axis, for example input_shape=(3, 32, 32)")


def probe_input_shape(model: nn.Module) -> tuple[int, ...]:
    """Input shape of a model whose first layer is Linear; for others an InputError that asks for it."""
    try:
        model(torch.empty(2).as_subclass(_Probe))
    except _Found as found:
        return (found.width,)
    except InputError:
        raise
    except Exception:
        _ask("does not say it, so give it without the batch axis, for example input_shape=(3, 32, 32)")
    _ask("has no layer that says it, so give it without the batch axis, for example input_shape=(2,)")


def _ask(why: str) -> NoReturn:
    raise InputError(f"input_shape: cannot be inferred: the model {why}")
