"""The polytope ``Q x <= p`` where a pattern holds.

On a region every pre-activation is an affine function of the input, and the region is where each unit stays on its
side: ``z <= 0`` or ``-z <= 0`` for a relu, ``z_k - z_s <= 0`` for every other candidate k of a choice that takes s.

Two exact ways to the coefficients. *Forward*: the input's unit directions go through the network's own linear maps,
cheap when the input has few dimensions. *Reverse*: one backward pass per pre-activation, cheap when there are few
units. A unit whose coefficients cancel (duplicated or dead units feed it) has a zero normal up to rounding; the
tolerance policy makes it exactly zero, otherwise rounding would look like a crease.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import apply_sides, memory_limit, propagate, split_sides
from creases._text import OneLine
from creases._typing import Floats, Progress
from creases._validation import check_numbers
from creases.errors import InputError
from creases.network import Network
from creases.regions._resources import MemoryLimit, no_progress
from creases.regions._tolerance import SIGN_TOLERANCE

#: Bytes held while coefficients are computed, as a multiple of theirs: copies, with and without the sign of the side.
COPIES = 3


@dataclass(frozen=True, repr=False)
class Polytope(OneLine):
    """The closed set ``Q x <= p`` where a pattern of sides holds, and the piece ``J x + y`` there."""

    Q: Floats  #: (c, d), one row per relu unit and K - 1 per choice among K, in the order of the units
    p: Floats  #: (c,)
    units: NDArray[np.int64]  #: (c,) the unit of each row
    across: NDArray[np.int16]  #: (c,) the side its unit takes beyond the row
    J: Floats  #: (m, d)
    y: Floats  #: (m,)


def check_point(net: Network, x: Any, name: str = "x") -> Floats:
    """Return ``x`` as one finite point (n_in,) in float64."""
    batch, _ = net.as_batch(x, name)
    if len(batch) != 1:
        raise InputError(name, f"be one point of shape {net.input_shape}", f"{len(batch)} of them")
    point = check_numbers(x, name).reshape(-1)  # not rounded to the network's dtype
    if not np.isfinite(point).all():
        index = int(np.argmin(np.isfinite(point)))
        raise InputError(name, "be finite", f"{point[index]} at index {index}")
    return point


def region_polytope(
    net: Network, sides: NDArray[np.integer], *, memory: MemoryLimit | None = None, progress: Progress | None = None
) -> Polytope:
    """Return the polytope where units have the given sides (n_units,); it may be empty.

    Every unit has rows, also those that bound nothing: a zero normal is no constraint. ``progress`` is called with the
    number of input directions (backward passes, where they are fewer) that are done, and of all.
    """
    sides = np.asarray(sides)
    if sides.shape != (net.n_units,):
        raise InputError("sides", f"have shape ({net.n_units},), one side for each unit", f"{sides.shape}")
    net = net.to(torch.float64)
    by_bend = split_sides(net, sides)
    *bends, (J, y) = _coefficients(net, by_bend, memory or MemoryLimit(None, ""), progress or no_progress)
    sizes = _magnitudes(net, by_bend, bends)
    rows = [_rows(net, i, *parts) for i, parts in enumerate(zip(by_bend, bends, sizes, strict=True))]
    none = np.zeros((0, net.n_in)), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int16)
    Q, p, units, across = (np.concatenate(parts) for parts in zip(none, *rows, strict=True))
    return Polytope(Q, p, units, across, J.cpu().numpy(), y.cpu().numpy())


def _rows(
    net: Network, bend: int, side: Tensor, coefficients: tuple[Tensor, Tensor], size: Tensor
) -> tuple[NDArray[Any], ...]:
    """Return Q, p, units, across of one bend, from its pre-activations ``A x + c`` and their term sizes (2, n)."""
    (A, c), (first, count) = coefficients, (net.unit_starts[bend], side.numel())
    units = np.arange(first, first + count)
    if net.steps[net.bends[bend]].op == "relu":
        sign = torch.where(side.flatten(), -1.0, 1.0).to(A)
        Q, p = sign[:, None] * A, -sign * c
        across = (~side).flatten()
    else:
        K = net.candidates[bend]
        side = side.reshape(count, 1)
        others = torch.arange(K, device=side.device).expand(count, K)
        others = others[others != side].reshape(count, K - 1)
        base = K * torch.arange(count, device=side.device)[:, None]
        winner, loser = (base + side).expand(-1, K - 1).flatten(), (base + others).flatten()
        Q, p = A[loser] - A[winner], c[winner] - c[loser]
        size = size[:, winner] + size[:, loser]
        across, units = others.flatten(), np.repeat(units, K - 1)
    nothing = Q.norm(dim=1) <= SIGN_TOLERANCE * size[0]
    Q[nothing] = 0
    p[nothing & (p.abs() <= SIGN_TOLERANCE * size[1])] = 0
    return Q.cpu().numpy(), p.cpu().numpy(), units, across.to(torch.int16).cpu().numpy()


def _magnitudes(net: Network, sides: Sequence[Tensor], bends: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Return for each bend the term sizes (2, n) of its pre-activations' gradients and constants.

    The gradient of a sum is at most as long as the sum of its terms' gradients; the lengths, one number for each value,
    go through the network with the magnitudes of its weights. What cancels passes on the size of what it was made of.
    """
    start = torch.stack([torch.ones(net.n_in, dtype=net.dtype), torch.zeros(net.n_in, dtype=net.dtype)])
    out: list[Tensor] = []

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if not step.is_bend:
            gradient, constant = step.linear_magnitude(inputs)
            return torch.stack([gradient, constant if step.offset is None else constant + step.offset.abs()])
        bend, size = len(out), inputs[0].flatten(1)
        A, c = bends[bend]
        value = torch.stack([A.norm(dim=1), c.abs()])
        carried = torch.where(value <= SIGN_TOLERANCE * size, size, value).reshape(inputs[0].shape)
        out.append(size)
        return apply_sides(step.op, carried, sides[bend][None], step.leak).abs()

    propagate(net, {0: start.to(net.device).reshape(2, *net.input_shape)}, through)
    return out


def _coefficients(
    net: Network, sides: Sequence[Tensor], memory: MemoryLimit, progress: Progress
) -> list[tuple[Tensor, Tensor]]:
    """Coefficients A (n, d), c (n,) of every bend's pre-activations, and of the output last."""
    counts = [prod(net.shapes[net.steps[i].inputs[0]]) for i in net.bends] + [net.n_out]
    needed = 8 * net.n_in * sum(counts) * COPIES
    memory.require(needed, f"a region of {net.n_units:,} units and {net.n_in:,} inputs")
    with torch.no_grad():
        constants = [c.flatten() for c in _affine(net, sides, torch.zeros(1, net.n_in, dtype=net.dtype), offset=True)]
    by_directions = net.n_in < 3 * sum(counts)  # a backward pass costs about three directions
    find = _forward if by_directions else _reverse
    linear = find(net, sides, counts, memory.block(memory_limit()), progress)
    return list(zip(linear, constants, strict=True))


def _forward(
    net: Network, sides: Sequence[Tensor], counts: Sequence[int], memory: int, progress: Progress
) -> list[Tensor]:
    eye = torch.eye(net.n_in, dtype=net.dtype)
    out = [torch.empty(n, net.n_in, dtype=net.dtype, device=net.device) for n in counts]
    with torch.no_grad():
        for block in _blocks(net, net.n_in, memory):
            for A, part in zip(out, _affine(net, sides, eye[block]), strict=True):
                A[:, block] = part.T
            progress("finding the region", block.stop, net.n_in)
    return out


def _reverse(
    net: Network, sides: Sequence[Tensor], counts: Sequence[int], memory: int, progress: Progress
) -> list[Tensor]:
    out = [torch.zeros(n, net.n_in, dtype=net.dtype, device=net.device) for n in counts]
    for which, A in enumerate(out):
        for block in _blocks(net, len(A), memory):
            with torch.enable_grad():
                x = torch.zeros(block.stop - block.start, net.n_in, dtype=net.dtype, requires_grad=True)
                rows = _affine(net, sides, x, stop=which)[which][:, block].diagonal()  # row i of copy i
                if rows.requires_grad:
                    A[block] = torch.autograd.grad(rows.sum(), x)[0].to(A)
            progress("finding the region", sum(counts[:which]) + block.stop, sum(counts))
    return out


def _blocks(net: Network, rows: int, memory: int) -> list[slice]:
    """Rows in blocks that fit the memory bound when each takes a run through the network."""
    activations = sum(net.sizes)
    size = max(1, memory // (4 * 8 * activations))
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def _affine(
    net: Network, sides: Sequence[Tensor], x: Tensor, *, offset: bool = False, stop: int | None = None
) -> list[Tensor]:
    """Evaluate the map of these sides at ``x`` (n, d): inputs of the bends up to ``stop``, then the output."""
    out: list[Tensor] = []

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if not step.is_bend:
            return step.apply(inputs) if offset else step.linear(inputs)
        out.append(inputs[0].flatten(1))
        return apply_sides(step.op, inputs[0], sides[len(out) - 1][None], step.leak)

    start = x.to(net.device).reshape(-1, *net.input_shape)
    if stop is not None and stop < len(net.bends):
        propagate(net, {0: start}, through, 0, net.bends[stop] + 1)
        return out
    output = propagate(net, {0: start}, through)[len(net.steps)]
    return [*out, output.flatten(1)]
