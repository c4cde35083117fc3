"""A network from any function written in torch operations: run it on traced examples, and check on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from creases.errors import CreasesError, ReadError
from creases.network._network import Network
from creases.network._reading.operators.refused import MONOTONE, at_the_end
from creases.network._reading.traced import Recorder, Traced, Unreadable
from creases.network.program._step import Step

Function = Callable[[Any], Any]

#: Largest disagreement of the whole network with the function on fresh inputs, relative to the largest output.
_VERIFIED = 1e-9


class Run(NamedTuple):
    """What one run gave: the steps written down, the examples and the function's own values there."""

    steps: list[Step]
    x: Tensor
    out: Tensor


def read_function(
    function: Function,
    shape: tuple[int, ...],
    *,
    removal: Callable[[str], str],
    follow: Callable[[Recorder], AbstractContextManager[None]] = lambda recorder: nullcontext(),
    batches: tuple[int, int] = (2, 3),
) -> Network:
    """A network from a function of a batch (b, *shape) written in torch operations.

    Parameters
    ----------
    removal
        How to remove the last operation, given its place, for advice.
    follow
        Entered for each run: may keep the recorder's place up to date.
    batches
        Sizes of the batches to read with and to check with.
    """
    with torch.no_grad(), torch.random.fork_rng(devices=[]), torch.device("cpu"):
        first, second = (
            _run(function, _example(batch, shape, seed), follow, removal) for seed, batch in enumerate(batches)
        )
        net = Network(first.steps, shape)
        _verify(net, second)
    return net


def _example(batch: int, shape: tuple[int, ...], seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, *shape, generator=generator, dtype=torch.float64)


def _run(
    function: Function,
    x: Tensor,
    follow: Callable[[Recorder], AbstractContextManager[None]],
    removal: Callable[[str], str],
) -> Run:
    """Run the function on traced example values."""
    recorder = Recorder(x)
    with follow(recorder):
        try:
            out = function(recorder.start())
        except CreasesError:
            raise
        except Exception as problem:
            shape = ", ".join(map(str, x.shape[1:]))
            raise ReadError(
                f"{recorder.place}: fails on a batch of shape ({len(x)}, {shape}): {problem}. Is input_shape right?"
            ) from problem
    value = _value(out, removal)
    tape = recorder.tape
    tape.path = "output"
    return Run(tape.program(value if value.shape else tape.reshape(value, (1,))), x, out)


def _value(out: Any, removal: Callable[[str], str]) -> Any:
    """The value that a model gave as its output."""
    if not isinstance(out, Tensor):
        parts = [part.value for part in tree_leaves(out) if isinstance(part, Traced)]
        for part in parts:
            if isinstance(part, Unreadable):
                raise ReadError(part.why)
        raise ReadError(
            f"model: its output is a {type(out).__name__}, not a tensor; wrap it in a module that returns one tensor"
        )
    if not isinstance(out, Traced):
        raise ReadError("model: its output does not depend on its input through operations that torch can follow")
    if not isinstance(out.value, Unreadable):
        return out.value
    end = out.value
    raise ReadError(at_the_end(end.name, end.place, removal(end.path)) if end.name in MONOTONE else end.why)


def _verify(net: Network, run: Run) -> None:
    """The network must agree with the function on fresh inputs and in another batch size."""
    with torch._C.DisableTorchFunctionSubclass():
        value, expected = net(run.x).flatten(), run.out.flatten()
        scale = max(1e-300, float(expected.abs().max())) if expected.numel() else 1.0
        if value.shape == expected.shape and (value - expected).abs().max() <= _VERIFIED * scale:
            return
    raise ReadError(
        f"{_first_difference(net.steps, run.steps)}: the model does something else on another batch; it must treat the "
        "samples of a batch one by one, without random numbers and without counting calls"
    )


def _first_difference(first: Sequence[Step], second: Sequence[Step]) -> str:
    for a, b in zip(first, second, strict=False):
        same = (a.op, a.inputs, a.shape, a.options, [*a.tensors]) == (b.op, b.inputs, b.shape, b.options, [*b.tensors])
        if not same or any(not torch.equal(a.tensors[name], b.tensors[name]) for name in a.tensors):
            return f"{a.path} ({a.op})"
    return "model"
