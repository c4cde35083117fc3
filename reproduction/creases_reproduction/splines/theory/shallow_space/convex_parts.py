"""A network as a difference ``F - G`` of two convex functions, in exact arithmetic.

A linear layer splits its weights by sign, ``F_z = W+ F + W- G + b`` and ``G_z = W+ G + W- F``; a ReLU takes
``F = max(F_z, G_z)`` and ``G = G_z``. Both parts are convex, and affine on every region of the network. All numbers are
integers: the weights are multiplied by powers of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._program import Step, check_chain
from creases._typing import Floats
from creases.network import Network

Integers = NDArray[np.object_]  #: Python integers of any size


@dataclass(frozen=True, eq=False)
class ConvexParts:
    """The values of F and G as integers, times ``2^shift``."""

    F: Integers
    G: Integers
    shift: int


def region_parts(net: Network, sides: NDArray[np.int16]) -> ConvexParts:
    """Return the affine functions F and G (R, n_out, n_in + 1), slopes and a constant, on regions with given sides."""
    inputs = np.zeros((len(sides), net.n_in, net.n_in + 1), dtype=object)
    inputs[:, range(net.n_in), range(net.n_in)] = 1
    start = iter(np.cumsum([0, *(step.shape[0] for step in net.steps if step.is_bend)]).tolist())

    def select(F: Integers, G: Integers) -> Integers:
        first = next(start)
        active = sides[:, first : first + F.shape[1], None] > 0
        return np.where(active, F, G)

    return _propagate(net, ConvexParts(inputs, np.zeros_like(inputs), 0), select)


def point_parts(net: Network, points: Floats) -> ConvexParts:
    """Return the values of F and G (k, n_out, 1) at points (k, n_in) of float64."""
    values, shift = as_integers(points)
    values = values[:, :, None]
    return _propagate(net, ConvexParts(values, np.zeros_like(values), shift), np.maximum)


def as_integers(values: Any) -> tuple[Integers, int]:
    """Return floats as integers times ``2^-shift``."""
    array = np.asarray(values, np.float64)
    ratios = [value.as_integer_ratio() for value in array.ravel().tolist()]
    shift = max((denominator.bit_length() - 1 for _, denominator in ratios), default=0)
    integers = np.empty(array.size, dtype=object)
    integers[:] = [(numerator << shift) // denominator for numerator, denominator in ratios]
    return integers.reshape(array.shape), shift


def _propagate(net: Network, parts: ConvexParts, maximum: Callable[[Integers, Integers], Integers]) -> ConvexParts:
    check_chain(net.steps, "model", "theory.to_shallow_plane takes any network of two inputs")
    for step in net.steps:
        parts = _linear(step, parts) if step.op == "linear" else _relu(step, parts, maximum)
    return parts


def _linear(step: Step, parts: ConvexParts) -> ConvexParts:
    weight, up = as_integers(step.tensors["weight"].cpu().numpy())
    width = len(weight)
    given = np.zeros(width) if step.offset is None else np.broadcast_to(step.offset.cpu().numpy(), width)
    offset, fine = as_integers(given)
    more = max(0, fine - parts.shift - up)  # so that the offset is an integer too
    weight, up = weight * 2**more, up + more
    above, below = np.maximum(weight, 0), np.maximum(-weight, 0)
    F, G = above @ parts.F + below @ parts.G, above @ parts.G + below @ parts.F
    F[..., -1] += offset * 2 ** (parts.shift + up - fine)
    return ConvexParts(F, G, parts.shift + up)


def _relu(step: Step, parts: ConvexParts, maximum: Callable[[Integers, Integers], Integers]) -> ConvexParts:
    """Apply ``z > 0 ? z : leak z`` to ``z = F - G``; with ``M = max(F, G)`` all weights of the parts are positive."""
    given = 0.0 if step.leak is None else step.leak.cpu().numpy()
    leak, up = as_integers(np.broadcast_to(given, step.shape))
    leak, one = leak[:, None], 2**up
    F, G = parts.F, parts.G
    M = maximum(F, G)
    convex = leak <= one
    above = np.where(convex, (one - leak) * M + np.maximum(leak, 0) * F, leak * F)
    below = one * G + np.where(convex, np.maximum(-leak, 0) * F, (leak - one) * M)
    return ConvexParts(above, below, parts.shift + up)
