"""A network as flat arrays: stages of ``z = W h + b`` with a (leaky) ReLU on each entry, one after another.

Nothing is multiplied out: affine steps without a bend between them are stages of their own, with a leak of 1. So the
weights are those of the network, and the real function is the same.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._program import Step
from creases._typing import Floats
from creases.certify._exact import step_matrices
from creases.network import Network

#: The most weights of all stages, with their padding; and the most entries of one matrix.
MAX_WEIGHTS, MAX_ENTRIES = 2**24, 2**26

#: Matrices of more entries are sparse.
DENSE_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class Stage:
    """Entries ``h = z`` where ``z > 0``, else ``leak z``, with ``z = W h' + b`` of the stage before."""

    W: Any  #: (m, n) an array, sparse if it is large
    b: Floats  #: (m,)
    leak: Floats  #: (m,); 1: affine


@dataclass(frozen=True, eq=False)
class Chain:
    """Stages of a dense network, padded with zeros to one width; the last one's outputs are those of the network."""

    net: Network
    stages: tuple[Stage, ...]
    widths: NDArray[np.int64]  #: (stages + 1,) from the inputs to the outputs
    W: Floats  #: (stages, width, width)
    b: Floats  #: (stages, width)
    leak: Floats  #: (stages, width)


def read_chain(net: Network) -> Chain | None:
    """Return the stages of a network in float64; None if it is too large or none that stages are made for."""
    stages = read_stages(net)
    return None if stages is None else pad_stages(net, stages)


def pad_stages(net: Network, stages: list[Stage]) -> Chain | None:
    """Return stages padded to one width; None if they are too large."""
    widths = [stages[0].W.shape[1], *(len(stage.b) for stage in stages)]
    width = max(widths)
    if len(stages) * width**2 > MAX_WEIGHTS:
        return None
    W, b, leak = np.zeros((len(stages), width, width)), np.zeros((len(stages), width)), np.ones((len(stages), width))
    for k, stage in enumerate(stages):
        m, n = stage.W.shape
        W[k, :m, :n], b[k, :m], leak[k, :m] = stage.W, stage.b, stage.leak
    return Chain(net, tuple(stages), np.array(widths), W, b, leak)


def read_stages(net: Network) -> list[Stage] | None:
    """Return the stages of a network in float64; None if it has choices or operations of other kinds, or is large.

    A value that only a later stage needs is carried through the stages in between.
    """
    if any(step.op != "relu" if step.is_bend else step.operation.entries == "averages" for step in net.steps):
        return None
    parts = _read_parts(net)
    if parts is None:
        return None
    last = [max((other.level for other in parts if k in other.W), default=0) for k in range(len(parts))]
    last[-1] = parts[-1].level + 1
    stages: list[Stage] = []
    state = [0]
    for level in range(1, last[-1]):
        new = [k for k, part in enumerate(parts) if part.level == level and last[k] > level]
        carried = [k for k in state if last[k] > level]
        rows = [_block_row(parts, k, state) for k in new] + [_block_row(parts, k, state, carry=True) for k in carried]
        b = [parts[k].b for k in new] + [np.zeros(len(parts[k].b)) for k in carried]
        leak = [parts[k].leak for k in new] + [np.ones(len(parts[k].b)) for k in carried]
        stages.append(Stage(_join(rows, 0), np.concatenate(b), np.concatenate(leak)))
        state = [*new, *carried]
    return stages or None


@dataclass(eq=False)
class _Part:
    """A part of a stage: entries ``h = z`` where ``z > 0``, else ``leak z``, with ``z`` affine in parts before it."""

    level: int  #: of its stage; 0 for the input
    W: dict[int, Any]  #: by the number of the other part
    b: Floats  #: (m,)
    leak: Floats  #: (m,)
    has_offset: bool = False


def _read_parts(net: Network) -> list[_Part] | None:
    """Return the input and what steps compute, each affine step with the constant and its bend; None: too large."""
    parts = [_Part(0, {}, np.zeros(net.n_in), np.ones(net.n_in))]
    part_of = [0]  # of each value
    readers = Counter(value for step in net.steps for value in step.inputs)
    is_whole = [False]  # whether a value is all that is read of its part
    for number, step in enumerate(net.steps, 1):
        sources = [part_of[value] for value in step.inputs]
        k, size = sources[0], prod(step.shape)
        can_extend = is_whole[step.inputs[0]] and (parts[k].leak == 1).all()
        is_whole.append(readers[number] == 1)
        if step.op == "reshape":
            is_whole[number] &= is_whole[step.inputs[0]]
        elif step.op == "relu":
            leak = np.zeros(size) if step.leak is None else step.leak.expand(step.shape).reshape(-1).double().numpy()
            if not can_extend:
                parts.append(_Part(parts[k].level + 1, {k: np.eye(size)}, np.zeros(size), leak))
                k = len(parts) - 1
            parts[k].leak = leak
        elif step.op == "add" and step.options["signs"] == [1] and can_extend and not parts[k].has_offset:
            parts[k].b, parts[k].has_offset = _offset(step), True
        else:
            matrices = step_matrices(step, [net.shapes[value] for value in step.inputs], MAX_ENTRIES)
            if matrices is None:
                return None
            W: dict[int, Any] = {}
            for source, matrix in zip(sources, map(_thin, matrices), strict=True):
                W[source] = W[source] + matrix if source in W else matrix
            level = 1 + max(parts[source].level for source in sources)
            parts.append(_Part(level, W, _offset(step), np.ones(size), step.offset is not None))
            k = len(parts) - 1
        part_of.append(k)
    if part_of[-1] != len(parts) - 1:  # the output is not what was computed last
        k = part_of[-1]
        parts.append(_Part(parts[k].level + 1, {k: np.eye(net.n_out)}, np.zeros(net.n_out), np.ones(net.n_out)))
    return parts


def _thin(W: Floats) -> Any:
    """Return a matrix, sparse if it is large."""
    if W.size <= DENSE_ENTRIES:
        return W
    from scipy.sparse import csr_array

    return csr_array(W)


def _offset(step: Step) -> Floats:
    if step.offset is None:
        return np.zeros(prod(step.shape))
    return step.offset.double().expand(step.shape).reshape(-1).numpy().copy()


def _block_row(parts: list[_Part], k: int, state: list[int], *, carry: bool = False) -> Any:
    """Return the rows of a stage that compute a part, or carry it, from the parts of the stage before."""
    m = len(parts[k].b)
    blocks = []
    for source in state:
        size = len(parts[source].b)
        if carry:
            blocks.append(np.eye(m) if source == k else np.zeros((m, size)))
        else:
            blocks.append(parts[k].W.get(source, np.zeros((m, size))))
    return _join(blocks, 1)


def _join(blocks: list[Any], axis: int) -> Any:
    """Return matrices below or beside each other, sparse if one is."""
    if len(blocks) == 1:
        return blocks[0]
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate(blocks, axis=axis)
    from scipy.sparse import csr_array, hstack, vstack

    return csr_array(vstack(blocks) if axis == 0 else hstack(blocks))
