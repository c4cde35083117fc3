"""Reading torch modules: run a copy of the model once on traced example values."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError, ReadError
from creases.network.network import Network
from creases.network.ops.refused import MONOTONE, at_the_end
from creases.network.probe import probe_input_shape
from creases.network.traced import AGREEMENT, Recorder, Traced, Unreadable

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_WEIGHT_HOOKS = ("WeightNorm", "SpectralNorm")  # of torch.nn.utils: they only compute the weight


def read_module(model: nn.Module, input_shape: Sequence[int] | None) -> Network:
    """A torch module as a network: its function in eval mode, in float64. The module itself is left alone."""
    _check_module(model)
    ours = _copy(model)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        shape = tuple(int(n) for n in input_shape) if input_shape is not None else probe_input_shape(ours)
        return read_function(ours, shape, lambda recorder: _follow(ours, recorder))


def read_function(
    model: Callable[[Any], Any], shape: tuple[int, ...], follow: Callable[[Recorder], None] = lambda recorder: None
) -> Network:
    """A network from any function of a batch (b, *shape) written in torch operations."""
    if any(n < 1 for n in shape):
        raise InputError(f"input_shape: sizes must be at least 1, got {shape}")
    first, out = _run(model, _example(2, shape, seed=0), follow)
    net = Network(first.tape.program(out.value), shape)  # type: ignore[arg-type]
    again = _example(3, shape, seed=1)
    second, expected = _run(model, again, follow)
    _verify(net, again, expected, second)
    return net


def _example(batch: int, shape: tuple[int, ...], seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, *shape, generator=generator, dtype=torch.float64)


def _run(model: Callable[[Any], Any], x: Tensor, follow: Callable[[Recorder], None]) -> tuple[Recorder, Traced]:
    """Run the model on traced example values; what it wrote down, and its output."""
    recorder = Recorder(x)
    follow(recorder)
    try:
        out = model(recorder.start())
    except ReadError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError, AssertionError, NotImplementedError) as problem:
        shape = ", ".join(map(str, x.shape[1:]))
        raise ReadError(
            f"{recorder.place}: the model fails on a batch of shape ({len(x)}, {shape}): {problem}. Is input_shape right?"
        ) from problem
    if not isinstance(out, Tensor):
        raise ReadError(
            f"model: its output is a {type(out).__name__}, not a tensor; wrap it in a module that returns one tensor"
        )
    if not isinstance(out, Traced):
        raise ReadError("model: its output does not depend on its input through operations that torch can follow")
    if isinstance(out.value, Unreadable):
        raise ReadError(_ending(model, out.value))
    return recorder, out


def _verify(net: Network, x: Tensor, expected: Tensor, second: Recorder) -> None:
    """The network must agree with the model on fresh inputs and in another batch size."""
    with torch._C.DisableTorchFunctionSubclass():
        value = net(x)
        scale = max(1e-300, float(expected.abs().max())) if expected.numel() else 1.0
        if value.shape == expected.shape and (value - expected).abs().max() <= AGREEMENT * scale:
            return
    where = _first_difference(net, second, expected)
    raise ReadError(
        f"{where}: the model does something else on another batch; it must treat the samples of a batch one by one, "
        "without random numbers and without counting calls"
    )


def _first_difference(net: Network, second: Recorder, out: Any) -> str:
    for ours, theirs in zip(net.steps, second.tape.program(out.value), strict=False):
        same = (ours.op, ours.inputs, ours.shape, ours.options) == (
            theirs.op,
            theirs.inputs,
            theirs.shape,
            theirs.options,
        )
        if not same or any(not torch.equal(t, theirs.tensors.get(k, t[:0])) for k, t in ours.tensors.items()):
            return f"{ours.path} ({ours.op})"
    return "model"


def _ending(model: Any, end: Unreadable) -> str:
    """Advice for a model whose last operation cannot be read."""
    if end.name not in MONOTONE:
        return end.why
    if isinstance(model, nn.Sequential) and end.path == list(model._modules)[-1]:
        removal = "Read the model without it: creases.read(model[:-1])."
    elif end.path:
        removal = f"On a copy of the model set model.{end.path} = torch.nn.Identity(), and read that."
    else:
        removal = "Let forward return its argument instead."
    return at_the_end(end.name, end.path or "model", removal)


# -- the copy ---------------------------------------------------------------------------------------------------------


def _check_module(model: nn.Module) -> None:
    required = [
        p.name
        for p in inspect.signature(model.forward).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if len(required) > 1:
        raise ReadError(
            f"model: its forward takes several inputs ({', '.join(required)}); wrap it in a module that takes one tensor"
        )
    for path, module in model.named_modules():
        hooks = [hook for kind in _HOOKS for hook in getattr(module, kind).values()]
        if any(type(hook).__name__ not in _WEIGHT_HOOKS for hook in hooks):
            raise ReadError(
                f"{path or 'model'} ({type(module).__name__}): has forward hooks, which may change values; remove them "
                "before reading (handle.remove()) and add them again after"
            )
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
            raise InputError(f"model: parameter {name!r} has no size yet; run the model once before reading it")
        if tensor.is_complex():
            raise InputError(f"model: parameter {name!r} is complex; a network has real weights")
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError(f"model: {name!r} has NaN or infinite entries; a partition needs finite weights")


def _copy(model: nn.Module) -> nn.Module:
    """The model in eval mode, float64, on the CPU."""
    computed = (t for m in model.modules() for t in vars(m).values() if isinstance(t, Tensor) and not t.is_leaf)
    memo: dict[int, Any] = {id(tensor): tensor.detach().clone() for tensor in computed}  # deepcopy refuses these
    try:
        ours = copy.deepcopy(model, memo)
    except Exception as problem:
        raise ReadError(
            f"model: cannot be copied ({problem}); creases reads a copy and leaves the model alone"
        ) from problem
    return ours.eval().to("cpu", torch.float64)


def _follow(model: nn.Module, recorder: Recorder) -> None:
    """Keep the recorder's place up to date while the model runs."""
    outer: list[tuple[str, str, bool, str]] = []

    def enter(path: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any) -> None:
            outer.append((recorder.module, recorder.place, recorder.inside, recorder.tape.path))
            recorder.module = path
            recorder.place = f"{path or 'model'} ({type(module).__name__})"
            recorder.inside = _is_torchs(module)
            recorder.tape.path = recorder.name(path or type(module).__name__.lower()) if recorder.inside else path

        return hook

    def leave(module: nn.Module, args: Any, out: Any) -> None:
        recorder.module, recorder.place, recorder.inside, recorder.tape.path = outer.pop()

    for path, module in model.named_modules():
        for kind in ("_forward_hooks", "_forward_pre_hooks"):
            hooks = getattr(module, kind)
            for key in [key for key, hook in hooks.items() if getattr(hook, "creases", False)]:
                del hooks[key]
        entering = enter(path)
        entering.creases = leave.creases = True  # type: ignore[attr-defined]
        module.register_forward_pre_hook(entering)
        module.register_forward_hook(leave)


def _is_torchs(module: nn.Module) -> bool:
    """A layer of torch's own, whose operations go under its name; containers only hold others."""
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, nn.Sequential)
