"""Reading functions written in torch operations: run on traced examples, verified on others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from creases._program._forward_pass import propagate
from creases._program._step import Step
from creases.errors import CreasesError, LinkWarning, ReadError
from creases.network._network import Network
from creases.network._reading.builder import Value, are_equal
from creases.network._reading.operators.names import MONOTONE, final_advice
from creases.network._reading.traced import DoublePrecision, Recorder, TracedTensor, Unreadable

Function = Callable[[Any], Any]

#: Largest difference between network and function on new inputs, relative to the largest output, or to its terms.
_TOLERANCE = 1e-9


def read_function(
    function: Function,
    shape: tuple[int, ...],
    *,
    removal: Callable[[str], str],
    follow: Callable[[Recorder], AbstractContextManager[None]] = lambda recorder: nullcontext(),
    batches: tuple[int, int] = (2, 3),
) -> Network:
    """Read a function of a batch (b, *shape) that is written in torch operations.

    Parameters
    ----------
    removal
        Returns advice on how to remove the last operation, given its path.
    follow
        A context manager entered for each run, which may keep the recorder's place up to date.
    batches
        Sizes of the batches to read and to verify with.
    """
    with torch.no_grad(), torch.random.fork_rng(devices=[]), torch.device("cpu"):
        generators = [torch.Generator().manual_seed(seed) for seed in (0, 1)]
        examples = (
            torch.randn(batch, *shape, generator=generator, dtype=torch.float64)
            for batch, generator in zip(batches, generators, strict=True)
        )
        (steps, _, _, link), second = (_run(function, x, follow, removal) for x in examples)
        net = Network(steps, shape, link)
        _verify(net, *second[:3])
    if net.link:
        message = f"the model ends in {net.link}, which is not piecewise linear: the scores before it are read"
        warnings.warn(f"{message}; its decisions are the same (net.link names it)", LinkWarning, stacklevel=4)
    return net


def _run(
    function: Function,
    x: Tensor,
    follow: Callable[[Recorder], AbstractContextManager[None]],
    removal: Callable[[str], str],
) -> tuple[list[Step], Tensor, Tensor, str]:
    """Run the function on traced example values; return steps, x, outputs (or scores before a link), the link."""
    recorder = Recorder(x)
    with follow(recorder):
        try:
            with DoublePrecision():
                out = function(recorder.start())
        except CreasesError:
            raise
        except Exception as problem:
            shape = ", ".join(map(str, x.shape[1:]))
            raise ReadError(
                f"{recorder.place}: fails on a batch of shape ({len(x)}, {shape}): {problem}. Is input_shape right?"
            ) from problem
    value, link = _value(out, removal)
    if 0 in value.shape:
        shape = ", ".join(map(str, value.shape))
        raise ReadError(f"cannot read the model: its output has shape ({shape}), which holds no number")
    builder = recorder.builder
    builder.path = "output"
    steps = builder.needed_steps(value if value.shape else builder.reshape(value, (1,)))
    return steps, x, value.example if link else out, link


def _value(out: Any, removal: Callable[[str], str]) -> tuple[Value, str]:
    """Return the value that a model returned as its output, or its scores before a link, and the link's name."""
    if not isinstance(out, Tensor):
        for part in tree_leaves(out):
            if isinstance(part, TracedTensor) and not isinstance(part.value, Value):
                raise ReadError(part.value.why)
        raise ReadError(
            f"cannot read the model: its output is a {type(out).__name__}, not a tensor; wrap it in a module that "
            "returns a single tensor"
        )
    if not isinstance(out, TracedTensor):
        raise ReadError("cannot read the model: its output does not depend on its input through torch operations")
    end = out.value
    if isinstance(end, Value):
        return end, ""
    if isinstance(end, Unreadable):
        if end.scores is not None:
            return end.scores, end.name
        if end.name in MONOTONE:
            raise ReadError(final_advice(end.name, end.place, removal(end.path)))
    raise ReadError(end.why)


def _verify(net: Network, steps: list[Step], x: Tensor, out: Tensor) -> None:
    """Check that the network agrees with the function on new inputs in a batch of another size."""
    with torch._C.DisableTorchFunctionSubclass():
        value, expected = net(x).flatten(), out.flatten()
        scale = max(1e-300, float(expected.abs().max())) if expected.numel() else 1.0
        if value.shape == expected.shape and (value - expected).abs().max() <= _TOLERANCE * scale:
            return
        differing = (f"{a.path} ({a.op})" for a, b in zip(net.steps, steps, strict=False) if not are_equal(a, b))
        place = next(differing, "" if len(net.steps) == len(steps) else "model")
        # Every step was verified by itself. Where both runs have the same steps, large terms that cancel explain more.
        if not place and value.shape == expected.shape:
            terms = _term_sizes(net, x).expand(x.shape[0], *net.output_shape).flatten()
            if ((value - expected).abs() <= _TOLERANCE * terms).all():
                return
    raise ReadError(
        f"{place or 'model'}: the model computes a different function on a different batch; it must "
        "treat samples independently, use no random numbers and keep no state between calls"
    )


def _term_sizes(net: Network, x: Tensor) -> Tensor:
    """Return the largest sum over points of the magnitudes of each output's terms, (1, *output_shape).

    Unlike the outputs themselves it does not become small where terms cancel, or where a clamp cuts them.
    """

    def apply_step(i: int, sizes: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if not step.is_bend:
            return step.magnitude(sizes)
        if step.op == "relu":
            return sizes[0] if step.leak is None else sizes[0] * step.leak.abs().clamp(min=1.0)
        return sizes[0].amax(-1)

    return propagate(net, {0: x.abs().amax(0, keepdim=True)}, apply_step)[len(net.steps)]
