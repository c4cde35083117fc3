"""Pieces: the affine function ``J x + y`` that a pattern selects.

Two exact ways. *Forward* (DESIGN, decision 2): on a slice ``x = origin + basis t`` every value of the network is affine
in t, so it is carried as k + 1 coefficient tensors of its own shape through the network's own operations. *Reverse*:
one backward pass per output. The first is cheap for few directions, the second for few outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from torch import Tensor

from creases.network.bends import select, sides

if TYPE_CHECKING:
    from creases.network.network import Network
    from creases.network.step import Step


class Piece(NamedTuple):
    """Coefficients of an affine function ``J x + y``."""

    J: Any  #: (..., n_out, n_in)
    y: Any  #: (..., n_out)


def default_memory() -> int:
    """Bytes that one block of a streamed computation may take: 1 GiB."""
    return 2**30


def last_uses(net: Network) -> list[list[int]]:
    """For each step the values that nothing after it reads."""
    last: dict[int, int] = {}
    for i, step in enumerate(net.steps):
        for value in step.inputs:
            last[value] = i
    return [[value for value in set(step.inputs) if last[value] == i] for i, step in enumerate(net.steps)]


def forward(net: Network, x: Tensor, keep: Literal["output", "sides"] = "output") -> list[Tensor]:
    """Run the network on a batch (b, *input_shape): its output alone in a list, or the sides of every bend."""
    values: dict[int, Tensor] = {0: x}
    kept: list[Tensor] = []
    for i, (step, done) in enumerate(zip(net.steps, last_uses(net), strict=True)):
        inputs = [values[value] for value in step.inputs]
        if keep == "sides" and step.is_bend:
            kept.append(sides(step.op, inputs[0]))
        values[i + 1] = step.apply(inputs)
        for value in done:
            del values[value]
    return kept if keep == "sides" else [values[len(net.steps)]]


def slice_pieces(net: Network, bend_sides: Sequence[Tensor], origin: Tensor, basis: Tensor) -> Piece:
    """Pieces that given sides select, as functions of t on the slice ``x = origin + basis t``.

    Parameters
    ----------
    bend_sides
        For each bend the sides (r, *units), as :func:`creases.network.bends.sides` gives them.
    origin, basis
        (n_in,) and (n_in, k).

    Returns
    -------
    Piece
        J (r, n_out, k) and y (r, n_out): the network on the region is ``J t + y``.
    """
    k = basis.shape[1]
    start = torch.cat([origin[None], basis.T]).reshape(1, k + 1, *net.input_shape)
    values: dict[int, Tensor] = {0: start}  # (r or 1, k + 1, *shape): entry 0 the constant, 1..k the directions
    remaining = iter(bend_sides)
    for i, (step, done) in enumerate(zip(net.steps, last_uses(net), strict=True)):
        inputs = [values[value] for value in step.inputs]
        if step.is_bend:
            values[i + 1] = select(step.op, inputs[0], next(remaining).unsqueeze(1), step.leak)
        else:
            values[i + 1] = _carry(step, inputs)
        for value in done:
            del values[value]
    out = values[len(net.steps)]
    out = out.reshape(len(out), k + 1, net.n_out)  # (r or 1, k + 1, m)
    regions = len(bend_sides[0]) if bend_sides else 1
    out = out.expand(regions, -1, -1)
    return Piece(out[:, 1:].transpose(1, 2), out[:, 0])


def _carry(step: Step, inputs: list[Tensor]) -> Tensor:
    """An affine step applied to coefficient tensors (r or 1, k + 1, ...): the offset goes to the constant alone."""
    regions, rows = max(len(x) for x in inputs), inputs[0].shape[1]
    flat = step.linear([x.expand(regions, *x.shape[1:]).flatten(0, 1) for x in inputs])
    out = flat.reshape(regions, rows, *flat.shape[1:])
    if step.offset is None:
        return out
    return torch.cat([out[:, :1] + step.offset, out[:, 1:]], dim=1)


def piece_batches(net: Network, x: Tensor, memory: int) -> Iterator[Piece]:
    """Pieces J (b, n_out, n_in), y (b, n_out) of a batch, in blocks that fit ``memory`` bytes."""
    by_directions = net.n_in < 2 * net.n_out  # a direction costs about half of a backward pass
    activations = sum(prod(step.shape) for step in net.steps) + net.n_in
    copies = (net.n_in + 1) if by_directions else 3
    per_sample = (activations * copies + 2 * net.n_out * net.n_in) * x.element_size()
    block = max(1, memory // max(1, per_sample))
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
        value = forward(net, x)[0].reshape(len(x), net.n_out)  # (b, m)
        J = x.new_empty(len(x), net.n_out, net.n_in)
        for j in range(net.n_out):
            if not value.requires_grad:
                J.zero_()
                break
            (gradient,) = torch.autograd.grad(value[:, j].sum(), x, retain_graph=j + 1 < net.n_out)
            J[:, j] = gradient.flatten(1)
    x, value = x.detach(), value.detach()
    return Piece(J, value - torch.einsum("bmd,bd->bm", J, x.flatten(1)))
