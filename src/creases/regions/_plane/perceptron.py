"""Small planes of perceptrons: all layers in one call of compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from creases._compiled import jit, jit_internal, small_work
from creases._program import Step, find_chain_break
from creases._typing import Floats
from creases.network import Network
from creases.regions._plane.complex import Mesh
from creases.regions._plane.kernel import DEPTH, NC, NE, NR, NV, REGION, finish, pack_signs, subdivide
from creases.regions._tolerance import SIGN_TOLERANCE

#: Vertices that the arrays of a small plane have room for.
ROOM = 2048

#: Microseconds that plain Python takes for a region, about; a plane has at most about as many as pairs of units.
MICROSECONDS = 120.0


class Layers(NamedTuple):
    """A perceptron as arrays; see :func:`creases.regions._plane.perceptron.subdivide_layers`."""

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
    small (:data:`ROOM`).
    """
    if len(start.vertices) >= ROOM or 32 * ROOM * max(net.sizes) > memory:
        return None
    layers = perceptron_layers(net)
    if layers is None:
        return None

    inputs = origin + start.vertices @ basis.T
    with small_work(MICROSECONDS * net.n_units**2):
        done, vertices, values, *rest, patterns = subdivide_layers(
            start.vertices, inputs, *layers, SIGN_TOLERANCE, ROOM
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


Array = NDArray[Any]


@jit_internal
def apply_affine(rows: Array, count: int, weight: Array, offset: Array, out: Array) -> None:
    """Write ``weight.T`` times each of the first rows, plus the offset, to ``out``; weight (inputs, units)."""
    for v in range(count):
        for u in range(len(offset)):
            out[v, u] = offset[u]
        for i in range(len(weight)):
            x = rows[v, i]
            if x != 0.0:
                for u in range(len(offset)):
                    out[v, u] += x * weight[i, u]


@jit_internal
def apply_bend(z: float, leak: float) -> float:
    """Return the value of a relu, with the slope ``leak`` where z is negative."""
    return z if z > 0.0 else (leak * z if leak != 0.0 else 0.0)  # not -0.0


@jit_internal
def term_sizes(sizes: Array, weight: Array, offset: Array) -> Array:
    """Return the sum of the magnitudes of each unit's terms, given the largest magnitudes of the inputs."""
    terms = np.abs(offset)
    for i in range(len(weight)):
        for u in range(len(terms)):
            terms[u] += sizes[i] * abs(weight[i, u])
    return terms


@jit_internal
def _activation_sizes(Z: Array, count: int, leaks: Array) -> Array:
    """Return the largest magnitude of each activation, from the extreme pre-activations."""
    sizes = np.empty(len(leaks))
    for u in range(len(leaks)):
        low = high = Z[0, u]
        for v in range(1, count):
            low, high = min(low, Z[v, u]), max(high, Z[v, u])
        sizes[u] = max(abs(apply_bend(low, leaks[u])), abs(apply_bend(high, leaks[u])))
    return sizes


@jit_internal
def _add_bits(patterns: Array, parent: Array, positive: Array, first: int, units: int) -> Array:
    """Return the patterns of new regions: those of their parents, with the bits of the units from ``first`` on."""
    new = np.empty((len(parent), patterns.shape[1]), np.uint8)
    for r in range(len(parent)):
        for j in range(patterns.shape[1]):
            new[r, j] = patterns[parent[r], j]
        for u in range(units):
            bit = (positive[r, u >> 6] >> np.uint64(u & 63)) & np.uint64(1)
            new[r, (first + u) >> 3] |= np.uint8(bit << np.uint64((first + u) & 7))
    return new


@jit_internal
def _box_complex(box: Array, room: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return vertices, ends, labels and kids of the edges of the box, and corners and starts of its one region."""
    X, ends = np.empty((room, 2)), np.empty((6 * room, 2), np.int32)
    label, kid = np.empty(6 * room, np.int32), np.empty(6 * room, np.int32)
    corners, starts = np.empty((4, 2), np.int32), np.array([0, 4], np.int32)
    for c in range(4):
        X[c, 0], X[c, 1] = box[c, 0], box[c, 1]
        ends[c, 0], ends[c, 1] = c, (c + 1) % 4
        label[c] = kid[c] = -1
        corners[c, 0] = corners[c, 1] = c
    return X, ends, label, kid, corners, starts


@jit_internal
def largest_magnitudes(rows: Array) -> Array:
    """Return the largest magnitude in each column."""
    sizes = np.zeros(rows.shape[1])
    for v in range(len(rows)):
        for i in range(len(sizes)):
            sizes[i] = max(sizes[i], abs(rows[v, i]))
    return sizes


@jit
def subdivide_layers(
    box: Array, corners_in: Array, widths: Array, weights: Array, offsets: Array, leaks: Array, bends: int, zero: float,
    room: int,
) -> tuple[bool, Array, Array, Array, Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """Split a box by all bends; False, and arrays without meaning, where it needs more than ``room`` vertices.

    It also gives up before a bend of more than ``16 * room`` values: all is then done again elsewhere, in less time.

    Parameters
    ----------
    box
        (4, 2) its corners, counter-clockwise.
    corners_in
        (4, n_in) the inputs there.
    widths
        Number of inputs, then of units of each layer.
    weights, offsets, leaks
        Of all layers in sequence; a layer's weights are (units, inputs), row by row. Leaks: of the layers with a bend.
    bends
        Number of layers with a bend: all, or all but the last.
    zero
        A pre-activation smaller than this times the size of its terms is zero.

    Returns
    -------
    tuple
        Whether it was done; vertices, values, and ends, labels, regions, corners, corner edges and starts as in
        :class:`creases.regions._plane.complex.Mesh`; patterns.
    """
    X, ends, label, kid, corners, starts = _box_complex(box, room)
    size = 2 * room
    stack, levels, verts = np.empty((size, 2), np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    edges, signs, todo = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    pairs = np.zeros((0, 4), np.int64)
    patterns = np.zeros((1, (widths[1 : bends + 1].sum() + 7) // 8), np.uint8)
    at = np.zeros(6, np.int64)
    at[NV] = at[NE] = 4
    rows, sizes = corners_in, largest_magnitudes(corners_in)
    first_weight = first_unit = 0
    done = True
    for layer in range(len(widths) - 1):
        n, units, count = widths[layer], widths[layer + 1], at[NV]
        done = layer == bends or count * units <= 16 * room
        if not done:
            break
        weight = weights[first_weight : first_weight + n * units].reshape(units, n).T.copy()
        offset = offsets[first_unit : first_unit + units]
        Z = np.empty((room if layer < bends else count, units))
        apply_affine(rows, count, weight, offset, Z)
        rows = Z
        if layer == bends:
            break
        leak, tolerance = leaks[first_unit : first_unit + units], zero * term_sizes(sizes, weight, offset)
        sizes = _activation_sizes(Z, count, leak)
        words = (units + 63) // 64
        pos, neg = np.empty((room, words), np.uint64), np.empty((room, words), np.uint64)
        cut = np.empty(words, np.uint64)
        pack_signs(Z, tolerance, pos, neg, count)
        out = (
            np.empty((4 * room, 2), np.int32), np.zeros(2 * room, np.int32), np.empty(2 * room, np.int32),
            np.empty((2 * room, words), np.uint64), np.empty((2 * room, words), np.uint64),
        )  # fmt: skip
        labels = np.arange(first_unit, first_unit + units).astype(np.int32)
        at[REGION] = at[DEPTH] = at[NC] = at[NR] = 0
        done = subdivide(
            X, Z, pos, neg, tolerance, pairs, labels, ends, label, kid, corners, starts, out,
            (stack, levels, verts, edges, signs, todo, cut), at,
        )  # fmt: skip
        if not done:
            break
        corners, starts = out[0][: at[NC]], out[1][: at[NR] + 1]
        patterns = _add_bits(patterns, out[2][: at[NR]], out[3], first_unit, units)
        for v in range(at[NV]):
            for u in range(units):
                Z[v, u] = apply_bend(Z[v, u], leak[u])
        first_weight += n * units
        first_unit += units
    ne = at[NE]
    new_ends, new_label, regions, verts, edges, starts = finish(ends[:ne], label[:ne], kid[:ne], corners, starts)
    nc = starts[-1]
    X = X[: at[NV]].copy()
    return done, X, rows[: at[NV]], new_ends, new_label, regions, verts[:nc], edges[:nc], starts, patterns
