"""Pieces: the affine function ``J x + y`` that a pattern selects.

Two exact ways. *Forward* (DESIGN, decision 2): on a slice ``x = origin + basis t`` every value of the network is affine
in t, so it is carried as k + 1 coefficient tensors of its own shape through the network's own operations. *Reverse*:
one backward pass per output. The first is cheap for few directions, the second for few outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.network.program._bends import apply_sides, sides_at
from creases.network.program._carry import propagate
from creases.network.program._patterns import split_sides, unpack_sides

if TYPE_CHECKING:
    from creases.network._network import Network
    from creases.network.program._step import Step


class Piece(NamedTuple):
    """Coefficients of an affine function ``J x + y``."""

    J: Any  #: (..., n_out, n_in)
    y: Any  #: (..., n_out)


def memory_limit() -> int:
    """Bytes that one block of a streamed computation may take: 1 GiB."""
    return 2**30


def forward(net: Network, x: Tensor, keep: Literal["output", "sides"] = "output") -> list[Tensor]:
    """Run the network on a batch (b, *input_shape): its output alone in a list, or the sides of every bend."""
    kept: list[Tensor] = []

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if keep == "sides" and step.is_bend:
            kept.append(sides_at(step.op, inputs[0]))
        return step.apply(inputs)

    values = propagate(net, {0: x}, through)
    return kept if keep == "sides" else [values[len(net.steps)]]


def slice_pieces(net: Network, chosen: Sequence[Tensor], origin: Tensor, basis: Tensor) -> Piece:
    """Pieces that given sides select, as functions of t on the slice ``x = origin + basis t``.

    Parameters
    ----------
    chosen
        For each bend the sides (r, *units), as :func:`creases.network.program._bends.sides_at` gives them.
    origin, basis
        (n_in,) and (n_in, k).

    Returns
    -------
    Piece
        J (r, n_out, k) and y (r, n_out): the network on the region is ``J t + y``.
    """
    k = basis.shape[1]
    start = torch.cat([origin[None], basis.T]).reshape(1, k + 1, *net.input_shape)
    remaining = iter(chosen)

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if step.is_bend:
            return apply_sides(step.op, inputs[0], next(remaining).unsqueeze(1), step.leak)
        return _with_offset(step, inputs)

    # Values are (r or 1, k + 1, *shape): entry 0 the constant, 1..k the directions.
    out = propagate(net, {0: start}, through)[len(net.steps)]
    out = out.reshape(len(out), k + 1, net.n_out)  # (r or 1, k + 1, m)
    regions = len(chosen[0]) if chosen else 1
    out = out.expand(regions, -1, -1)
    return Piece(out[:, 1:].transpose(1, 2), out[:, 0])


def _with_offset(step: Step, inputs: list[Tensor]) -> Tensor:
    """An affine step applied to coefficient tensors (r or 1, k + 1, ...): the offset goes to the constant alone."""
    regions, rows = max(len(x) for x in inputs), inputs[0].shape[1]
    flat = step.linear([x.expand(regions, *x.shape[1:]).flatten(0, 1) for x in inputs])
    out = flat.reshape(regions, rows, *flat.shape[1:])
    if step.offset is None:
        return out
    return torch.cat([out[:, :1] + step.offset, out[:, 1:]], dim=1)


def pattern_pieces(
    net: Network, patterns: NDArray[np.uint8], origin: NDArray[np.float64], basis: NDArray[np.float64]
) -> Piece:
    """Pieces that packed patterns (r, n_bytes) select on the slice ``x = origin + basis t``, in float64.

    J (r, n_out, k) and y (r, n_out) as numpy arrays, made in blocks of :func:`default_memory`.
    """
    net = net.to(torch.float64)
    start, directions = (torch.from_numpy(array).to(net.device) for array in (origin, basis))
    k = basis.shape[1]
    J, y = np.empty((len(patterns), net.n_out, k)), np.empty((len(patterns), net.n_out))
    block = max(1, memory_limit() // (4 * 8 * (k + 1) * max(net.sizes)))
    with torch.no_grad():
        for first in range(0, len(patterns), block):
            rows = slice(first, first + block)
            part = slice_pieces(net, split_sides(net, unpack_sides(net, patterns[rows])), start, directions)
            J[rows], y[rows] = part.J.cpu().numpy(), part.y.cpu().numpy()
    return Piece(J, y)


#: Bytes of activations that a processor's cache holds: backward passes over more of them wait for memory.
_CACHE = 2**24


def piece_batches(net: Network, x: Tensor, memory: int) -> Iterator[Piece]:
    """Pieces J (b, n_out, n_in), y (b, n_out) of a batch, in blocks that fit ``memory`` bytes."""
    by_directions = net.n_in < 2 * net.n_out  # a direction costs about half of a backward pass
    activations = sum(net.sizes)
    copies = (net.n_in + 1) if by_directions else 3
    per_sample = (activations * copies + 2 * net.n_out * net.n_in) * x.element_size()
    block = memory // max(1, per_sample)
    if x.device.type == "cpu" and not by_directions:
        block = min(block, _CACHE // max(1, activations * x.element_size()))
    block = max(1, block)
    for start in range(0, len(x), block):
        part = x[start : start + block]
        yield _by_directions(net, part) if by_directions else _by_outputs(net, part)


def _by_directions(net: Network, x: Tensor) -> Piece:
    with torch.no_grad():
        origin = x.new_zeros(net.n_in)
        basis = torch.eye(net.n_in, dtype=x.dtype, device=x.device)
        J, y = slice_pieces(net, forward(net, x, keep="sides"), origin, basis)
        return Piece(J.expand(len(x), -1, -1), y.expand(len(x), -1))


def _by_outputs(net: Network, x: Tensor) -> Piece:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        value = _to_differentiate(net, x).reshape(len(x), net.n_out)  # (b, m)
        J = x.new_empty(len(x), net.n_out, net.n_in)
        for j in range(net.n_out):
            if not value.requires_grad:
                J.zero_()
                break
            (gradient,) = torch.autograd.grad(value[:, j].sum(), x, retain_graph=j + 1 < net.n_out)
            J[:, j] = gradient.flatten(1)
    x, value = x.detach(), value.detach()
    return Piece(J, value - torch.einsum("bmd,bd->bm", J, x.flatten(1)))


def _to_differentiate(net: Network, x: Tensor) -> Tensor:
    """The network's output; a choice among gathered candidates (max-pooling) leads straight to the chosen entries.

    So a backward pass moves one number for each unit, not its whole window.
    """
    readers = [value for step in net.steps for value in step.inputs]
    gathers = {i + 1: step for i, step in enumerate(net.steps) if step.op == "gather" and step.offset is None}
    choices = [step for step in net.steps if step.op == "choice"]
    windows = {i: gathers[i] for (i,) in (step.inputs for step in choices) if i in gathers and readers.count(i) == 1}

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if i + 1 in windows:
            return inputs[0]
        if step.op == "choice" and step.inputs[0] in windows:
            return _chosen(inputs[0].flatten(1), windows[step.inputs[0]].tensors["index"].flatten(0, -2), step.shape)
        return step.apply(inputs)

    return propagate(net, {0: x}, through)[len(net.steps)]


def _chosen(entries: Tensor, windows: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The largest entry of each window: (b, *shape) from entries (b, n) and windows (units, K) of their places."""
    with torch.no_grad():
        side = entries[:, windows].argmax(dim=-1, keepdim=True)  # (b, units, 1)
        place = torch.take_along_dim(windows[None], side, dim=2).squeeze(-1)
    return entries.gather(1, place).reshape(-1, *shape)
