"""A dense network as flat arrays: stages of ``z = W h + b`` with a (leaky) ReLU on each entry, one after another.

Nothing is multiplied out: affine steps without a bend between them are stages of their own, with a leak of 1. So the
weights are those of the network, and the real function is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from creases._program import Step
from creases._typing import Floats
from creases.network import Network

#: The most weights of all stages, with their padding.
MAX_WEIGHTS = 2**24


@dataclass(frozen=True, eq=False)
class Stage:
    """Entries ``h = z`` where ``z > 0``, else ``leak z``, with ``z = W h' + b`` of the stage before."""

    W: Floats  #: (m, n)
    b: Floats  #: (m,)
    leak: Floats  #: (m,); 1: affine


@dataclass(frozen=True, eq=False)
class Chain:
    """Stages of a dense network, padded with zeros to one width; the last one's outputs are those of the network."""

    stages: tuple[Stage, ...]
    widths: NDArray[np.int64]  #: (stages + 1,) from the inputs to the outputs
    W: Floats  #: (stages, width, width)
    b: Floats  #: (stages, width)
    leak: Floats  #: (stages, width)

    def values(self, X: Floats) -> Floats:
        """Return the outputs (p, m) at points (p, n), in float64."""
        h = X
        for stage in self.stages:
            z = h @ stage.W.T + stage.b
            h = np.where(z > 0, z, stage.leak * z)
        return h


def read_chain(net: Network) -> Chain | None:
    """Return the stages of a network in float64; None if it is not a chain of dense layers and ReLUs, or too large."""
    stages = read_stages(net)
    return None if stages is None else pad_stages(stages)


def pad_stages(stages: list[Stage]) -> Chain | None:
    """Return stages padded to one width; None if they are too large."""
    widths = [stages[0].W.shape[1], *(len(stage.b) for stage in stages)]
    width = max(widths)
    if len(stages) * width**2 > MAX_WEIGHTS:
        return None
    W, b, leak = np.zeros((len(stages), width, width)), np.zeros((len(stages), width)), np.ones((len(stages), width))
    for k, stage in enumerate(stages):
        m, n = stage.W.shape
        W[k, :m, :n], b[k, :m], leak[k, :m] = stage.W, stage.b, stage.leak
    return Chain(tuple(stages), np.array(widths), W, b, leak)


def read_stages(net: Network) -> list[Stage] | None:
    """Return the stages of a network in float64; None if it is not a chain of dense layers and ReLUs."""
    stages: list[Stage] = []
    is_open = False  # whether the last stage has neither a constant nor a bend yet
    n = net.n_in
    for number, step in enumerate(net.steps):
        if step.inputs != (number,):
            return None
        if step.op == "reshape":
            continue
        if len(step.shape) != 1:
            return None
        m = step.shape[0]
        if step.op == "relu":
            leak = np.zeros(m) if step.leak is None else step.leak.expand(m).numpy()
            if not stages or stages[-1].leak.min(initial=1.0) < 1 or stages[-1].leak.max(initial=1.0) > 1:
                stages.append(Stage(np.eye(m), np.zeros(m), np.ones(m)))
            stages[-1] = Stage(stages[-1].W, stages[-1].b, np.ascontiguousarray(leak, np.float64))
            is_open = False
            continue
        W, b = _matrix(step, n), _offset(step, m)
        if W is None:
            return None
        if step.op == "add" and is_open and step.options["signs"] == [1]:
            stages[-1] = Stage(stages[-1].W, b, np.ones(m))
            is_open = False
        else:
            stages.append(Stage(W, b, np.ones(m)))
            is_open = step.offset is None
        n = m
    return stages or None


def _matrix(step: Step, n: int) -> Floats | None:
    """Return the matrix of an affine step on vectors (n,); None for other steps."""
    if step.op == "linear":
        return np.ascontiguousarray(step.tensors["weight"].numpy(), np.float64)
    if step.op == "scale" and step.shape == (n,):
        return np.diag(np.broadcast_to(step.tensors["factor"].numpy(), (n,)).astype(np.float64))
    if step.op == "add" and step.shape == (n,) and len(step.inputs) == 1:
        return float(step.options["signs"][0]) * np.eye(n)
    return None


def _offset(step: Step, m: int) -> Floats:
    if step.offset is None:
        return np.zeros(m)
    return np.broadcast_to(step.offset.numpy(), (m,)).astype(np.float64)
