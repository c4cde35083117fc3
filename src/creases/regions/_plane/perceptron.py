"""Small planes of perceptrons: all layers in one call of compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from creases._compiled import small_work
from creases._program import Step, find_chain_break
from creases._typing import Floats
from creases.network import Network
from creases.regions._plane import split
from creases.regions._plane.mesh import Mesh
from creases.regions._tolerance import SIGN_TOLERANCE

#: Microseconds that plain Python takes for a region, about; a plane has at most about as many as pairs of units.
REGION = 120.0


class Layers(NamedTuple):
    """A perceptron as arrays; see :func:`creases.regions._plane.perceptron_kernel.subdivide_layers`."""

    widths: NDArray[np.int64]
    weights: Floats
    offsets: Floats
    leaks: Floats
    bends: int


def subdivide_perceptron(
    net: Network, start: Mesh, origin: Floats, basis: Floats, memory: int
) -> tuple[Mesh, NDArray[np.uint8], Floats] | None:
    """Return the mesh of a plane, the patterns (R, n_bytes) of its regions and the output (V, n_out) at its vertices.

    None where the network is not a perceptron, the values may take more than ``memory`` bytes, or the plane is not
    small (:data:`creases.regions._plane.split.SMALL`).
    """
    room = split.SMALL // 2
    if room <= len(start.vertices) or 32 * room * max(net.sizes) > memory:
        return None
    layers = perceptron_layers(net)
    if layers is None:
        return None
    from creases.regions._plane.perceptron_kernel import subdivide_layers

    inputs = origin + start.vertices @ basis.T
    with small_work(REGION * net.n_units**2):
        done, vertices, values, *rest, patterns = subdivide_layers(
            start.vertices, inputs, *layers, SIGN_TOLERANCE, room
        )
    return (Mesh(vertices, *rest), patterns, values) if done else None


def perceptron_layers(net: Network) -> Layers | None:
    """Return the layers of a perceptron, a relu after each but perhaps the last; None for other networks."""
    steps = _join_offsets(net.steps)
    is_alternating = all(step.is_bend == bool(i % 2) for i, step in enumerate(steps))
    if not is_alternating or find_chain_break(steps) is not None:
        return None
    weights, offsets, leaks = list[Floats](), list[Floats](), list[Floats]()
    widths = [net.n_in]
    for i, step in enumerate(steps):
        if i % 2:
            leaks.append(_numbers(step.leak, widths[-1]))
        else:
            weights.append(_numbers(step.tensors["weight"], widths[-1] * step.shape[0]))
            offsets.append(_numbers(step.offset, step.shape[0]))
            widths.append(step.shape[0])
    if not leaks or len(net.input_shape) != 1:
        return None
    arrays = (np.concatenate(weights), np.concatenate(offsets), np.concatenate(leaks))
    return Layers(np.array(widths), *arrays, len(leaks))


def _join_offsets(steps: Sequence[Step]) -> list[Step]:
    """Return the steps of a chain with each sum of a product and a constant, as in ONNX files, as one linear step."""
    joined: list[Step] = []
    for number, step in enumerate(steps):
        if step.op == "add" and joined and joined[-1].op == "linear" and joined[-1].offset is None:
            if step.inputs != (number,) or step.offset is None:
                return list(steps)
            joined[-1] = replace(joined[-1], tensors=joined[-1].tensors | {"offset": step.offset})
        else:
            follows = step.inputs == (number,)
            joined.append(replace(step, inputs=(len(joined),) if follows else step.inputs))
    return joined


def _numbers(tensor: Tensor | None, size: int) -> Floats:
    """Return the entries of a tensor in float64, row by row: zeros for None, a single number repeated."""
    if tensor is None:
        return np.zeros(size)
    numbers = tensor.detach().numpy().reshape(-1).astype(np.float64, copy=False)
    return numbers if len(numbers) == size else np.full(size, numbers[0])
