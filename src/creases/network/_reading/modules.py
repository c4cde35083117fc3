"""Reading torch modules: a copy of the model runs on traced example values."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from creases._text import plural
from creases.errors import InputError, ReadError
from creases.network._network import Network
from creases.network._reading.functions import read_function
from creases.network._reading.operators.names import refusal, words
from creases.network._reading.traced import Function, RecordedTensor, Recorder, as_subclass, function_name

# Inferring the shape of a model's input from its first layer.

#: Functions that may precede the layer that determines the width of the input.
_ELEMENTWISE = words(
    """
    add sub mul div neg __rsub__ __radd__ relu relu6 leaky_relu hardtanh clamp abs dropout batch_norm
    float double to contiguous clone flatten view reshape
    """
)


class _Probe:
    """Follows an input of unknown shape until a linear layer determines its width."""

    width = 0

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any], probes: list[Any]) -> Any:
        """Return the input itself for a function of its entries, or an answer to a query."""
        name = function_name(func)
        weight = kwargs.get("weight", args[1] if len(args) > 1 else None)
        if name in ("linear", "matmul") and isinstance(weight, Tensor) and not isinstance(weight, RecordedTensor):
            self.width = weight.shape[1 if name == "linear" else 0]
            raise StopIteration
        if name in ("size", "shape"):
            return 2 if len(args) > 1 and args[1] == 0 else (2,)
        if name in ("dim", "ndim"):
            return 2
        if name in _ELEMENTWISE:
            return probes[0]
        if name.startswith("conv") and isinstance(weight, Tensor):
            channels = weight.shape[1] * (args[6] if len(args) > 6 else 1)
            example = (channels, *(32,) * (weight.ndim - 2))
            _ask(f"starts with a convolution over {plural(channels, 'channel')}", example)
        _ask(f"starts with {name}")


def probe_input_shape(model: nn.Module) -> tuple[int, ...]:
    """Return the input shape of a model whose first layer is Linear; raise an InputError for others."""
    x = as_subclass(torch.empty(2), RecordedTensor)
    probe = x.recorder = _Probe()
    try:
        model(x)
    except InputError:
        raise
    except Exception:
        if not probe.width:
            _ask("does not run on an input of unknown shape")
    return (probe.width,) if probe.width else _ask("has no linear layer", (2,))


def _ask(reason: str, example: tuple[int, ...] = (3, 32, 32)) -> NoReturn:
    hint = "pass the shape of one input without the batch axis, for example {0}"
    raise InputError("input_shape", f"be given for a model that {reason}", "", hint, [("input_shape", example)])


#: Hooks of torch.nn.utils that only compute a weight.
WEIGHT_HOOKS = ("WeightNorm", "SpectralNorm")


def read_module(model: nn.Module, input_shape: tuple[int, ...] | None) -> Network:
    """Read a torch module: its function in eval mode, in float64. The module itself does not change."""
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    _check_module(model)
    kinds = nn.modules.dropout._DropoutNd | nn.modules.batchnorm._BatchNorm | nn.RReLU
    parts = (part for part in model.modules() if part.training and isinstance(part, kinds))
    active = {type(part).__name__ for part in parts if getattr(part, "p", 1) > 0}
    if active:
        message = f"the model is in train mode, which changes its {' and '.join(sorted(active))}"
        warnings.warn(f"{message}: it is read as in eval mode; call model.eval() first", stacklevel=3)
    twin = _copy(model)
    shape = probe_input_shape(twin) if input_shape is None else input_shape
    return read_function(twin, shape, removal=partial(_removal_advice, twin), follow=partial(_follow, twin))


def _check_module(model: nn.Module) -> None:
    """Refuse a model that certainly cannot be read, without running it."""
    if isinstance(model, torch.jit.ScriptModule):
        raise ReadError("cannot read TorchScript; pass the original module, or an ONNX file")
    required = [
        p.name
        for p in inspect.signature(model.forward).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if len(required) > 1:
        raise ReadError(
            f"cannot read a model whose forward takes several inputs ({', '.join(required)}); "
            "wrap it in a module that takes a single tensor"
        )
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if is_lazy(tensor):
            raise InputError("model", "have initialized parameters", f"lazy {name!r}", "run the model once first")
        if tensor.is_complex():
            raise InputError("model", "have real weights", f"complex {name!r}")
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError("model", "have finite weights", f"NaN or infinite entries in {name!r}")
    for path, module in model.named_modules():
        hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
        if any(type(hook).__name__ not in WEIGHT_HOOKS for hook in hooks):
            raise ReadError(
                f"{path or 'model'} ({type(module).__name__}): has forward hooks, which may change values; remove them "
                "before reading (handle.remove()) and add them again afterwards"
            )


def _copy(model: nn.Module) -> nn.Module:
    """Return a copy of the model in eval mode, in float64, on the CPU."""
    computed = (t for m in model.modules() for t in vars(m).values() if isinstance(t, Tensor) and not t.is_leaf)
    memo: dict[int, Any] = {id(tensor): tensor.detach().clone() for tensor in computed}  # deepcopy refuses these
    try:
        return copy.deepcopy(model, memo).eval().to("cpu", torch.float64)
    except Exception as problem:
        raise ReadError(
            f"cannot copy the model ({problem}); creases reads a copy so that the model itself does not change"
        ) from None


@contextmanager
def follow_modules(
    model: nn.Module, enter: Callable[[str, nn.Module], Any], leave: Callable[[str, nn.Module, Any], Any]
) -> Iterator[None]:
    """Call ``enter(path, module)`` before and ``leave(path, module, output)`` after each run of a model's modules."""
    handles = []
    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(lambda module, _, path=path: enter(path, module)))
        handles.append(module.register_forward_hook(lambda module, _, out, path=path: leave(path, module, out)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _follow(model: nn.Module, recorder: Recorder) -> AbstractContextManager[None]:
    """Keep the recorder's place up to date while the model runs."""
    outer: list[tuple[str, str, bool, str]] = []

    def enter(path: str, module: nn.Module) -> None:
        outer.append((recorder.module, recorder.place, recorder.inside, recorder.builder.path))
        recorder.module = path
        recorder.place = f"{path or 'model'} ({type(module).__name__})"
        recorder.inside = is_torch_layer(module)
        if isinstance(module, nn.MultiheadAttention):  # it would fail later, at a transpose
            raise ReadError(f"{recorder.place}: {refusal('scaled_dot_product_attention')}")
        recorder.builder.path = recorder.name(path or type(module).__name__.lower()) if recorder.inside else path

    def leave(path: str, module: nn.Module, out: Any) -> None:
        recorder.module, recorder.place, recorder.inside, recorder.builder.path = outer.pop()

    return follow_modules(model, enter, leave)


def is_torch_layer(module: nn.Module) -> bool:
    """Return whether a module is a layer of torch, whose operations are named after it, rather than a container."""
    containers = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, containers)


def _removal_advice(model: nn.Module, path: str) -> str:
    """Return advice on how to read a module without its last operation."""
    if isinstance(model, nn.Sequential) and path == list(model._modules)[-1]:
        return "Read the model without it: creases.read(model[:-1])."
    if path and is_torch_layer(model.get_submodule(path)):
        return f"On a copy of the model set model.{path} = torch.nn.Identity(), and read that."
    return "Have forward return its input instead."
