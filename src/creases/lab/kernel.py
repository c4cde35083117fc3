"""Full-batch Adam on many networks of one shape: compiled loops, with the networks innermost.

All numbers of a block of L networks lie side by side, ``(..., L)``: every operation is one vector instruction over
networks, a block stays in the processor's cache for all its steps, and no sum runs over networks, so that a network's
numbers do not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

#: log2(e); ln(2) in two parts, of which the first times a small integer is exact; 1/13!, ..., 1/2!.
_EXP = [1.4426950408889634, 0.693145751953125, 1.4286068203094172e-06]
_EXP += [1 / float(np.prod(np.arange(1.0, k + 1))) for k in range(13, 1, -1)]

#: The least argument of exp: below it the result is zero but for rounding, and it stays a normal number.
_LEAST = {"float32": -87.0, "float64": -708.0}


def exp_constants(dtype: Any) -> NDArray[Any]:
    """Numbers for ``_exp`` in the precision of the networks."""
    return np.array([*_EXP, _LEAST[np.dtype(dtype).name]], dtype)


@intrinsic
def _power_of_two(context: Any, k: Any, like: Any) -> Any:
    """2^k for an int32 k, in the precision of ``like``: its exponent bits."""
    bits, shift, bias = (64, 52, 1023) if like == types.float64 else (32, 23, 127)

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer = context.get_value_type(types.int64 if bits == 64 else types.int32)
        wide = builder.sext(args[0], integer) if bits == 64 else args[0]
        moved = builder.shl(builder.add(wide, integer(bias)), integer(shift))
        return builder.bitcast(moved, context.get_value_type(like))

    return like(types.int32, like), build


def _loops(**more: Any) -> Callable[[F], F]:
    """Compile loops: fused multiply-add allowed, sums in the order that is written."""
    options: Any = {"error_model": "numpy", "fastmath": {"contract", "nsz"}, "cache": True} | more
    return lambda function: numba.njit(**options)(function)


@_loops(inline="always")
def _exp(x: Any, c: Any) -> Any:
    """exp(x) for x <= 0, by range reduction and Horner's rule: vectorises where libm's does not."""
    x = x if x > c[15] else c[15]
    k = np.floor(x * c[0] + c[14])  # c[14] = 1/2!: rounds
    r = (x - k * c[1]) - k * c[2]
    p = ((((c[3] * r + c[4]) * r + c[5]) * r + c[6]) * r + c[7]) * r + c[8]
    p = (((((p * r + c[9]) * r + c[10]) * r + c[11]) * r + c[12]) * r + c[13]) * r + c[14]
    one = c[14] + c[14]
    return ((p * r + one) * r + one) * _power_of_two(np.int32(k), x)  # type: ignore[call-arg]


@_loops(no_cpython_wrapper=True)
def _forward(widths: Any, leaks: Any, W: Any, A: Any, row: Any) -> None:
    """Activities of all layers from the inputs in the first rows of A; ``leaks``: of each layer's bend (1: none).

    A row is added up apart from A, as below from D: a loop that reads and writes one array would not vectorise.
    """
    a = w = 0
    for layer in range(len(widths) - 1):
        m, o, leak = widths[layer], widths[layer + 1], leaks[layer]
        b = w + o * m
        for u in range(o):
            for net in range(len(row)):
                row[net] = W[b + u, net]
            for k in range(m):
                for net in range(len(row)):
                    row[net] += W[w + u * m + k, net] * A[a + k, net]
            for net in range(len(row)):
                A[a + m + u, net] = row[net] if row[net] > 0 else leak * row[net]
        a, w = a + m, b + o


@_loops(no_cpython_wrapper=True)
def _slopes(Z: Any, classes: Any, D: Any, top: Any, total: Any, share: Any, c: Any) -> None:
    """Slopes D (C, L) of the cross-entropy, times ``share``, by the logits Z (C, L)."""
    C, L = Z.shape
    zero = share - share
    for net in range(L):
        top[net] = Z[0, net]
        total[net] = zero
    for j in range(1, C):
        for net in range(L):
            top[net] = max(top[net], Z[j, net])
    for j in range(C):
        for net in range(L):
            D[j, net] = _exp(Z[j, net] - top[net], c)
            total[net] += D[j, net]
    for net in range(L):
        total[net] = share / total[net]
    for j in range(C):
        for net in range(L):
            D[j, net] = D[j, net] * total[net] - (share if classes[net] == j else zero)


@_loops(no_cpython_wrapper=True)
def _backward(widths: Any, leaks: Any, W: Any, A: Any, D: Any, G: Any, row: Any) -> None:
    """Add one sample's gradients to G, from slopes in the last rows of D."""
    a, w = len(A) - widths[-1], len(W)
    for layer in range(len(widths) - 2, -1, -1):
        m, o = widths[layer], widths[layer + 1]
        a, w = a - m, w - o * m - o
        for k in range(m):
            for net in range(len(row)):
                D[a + k, net] = 0
        for u in range(o):
            for net in range(len(row)):
                row[net] = D[a + m + u, net]
                G[w + o * m + u, net] += row[net]
            for k in range(m):
                for net in range(len(row)):
                    G[w + u * m + k, net] += row[net] * A[a + k, net]
            if layer:
                for k in range(m):
                    for net in range(len(row)):
                        D[a + k, net] += row[net] * W[w + u * m + k, net]
        if layer:
            leak = leaks[layer - 1]
            for k in range(m):
                for net in range(len(row)):
                    D[a + k, net] = D[a + k, net] if A[a + k, net] > 0 else leak * D[a + k, net]


@_loops(nogil=True)
def adam(
    widths: Any, leaks: Any, W: Any, M: Any, V: Any, X: Any, y: Any, corrections: Any, settings: Any, c: Any
) -> None:
    """Train a block of L networks in place, on the mean cross-entropy; all numbers in one precision.

    Parameters
    ----------
    widths
        (depth + 1,) units of each layer, inputs first.
    leaks
        (depth,) slope of each layer's bend on its negative side, 1 for the last.
    W, M, V
        (P, L) parameters (each layer's weights row by row, then its biases), first and second moments.
    X, y
        (n, d, L) inputs and (n, L) classes.
    corrections
        (steps, 2): ``lr / (1 - beta1^t)`` and ``1 / sqrt(1 - beta2^t)`` for each step.
    settings
        beta1, 1 - beta1, beta2, 1 - beta2, eps, 1 / n.
    """
    (P, L), d, outputs = W.shape, widths[0], widths.sum() - widths[-1]
    b1, a1, b2, a2, eps, share = settings[0], settings[1], settings[2], settings[3], settings[4], settings[5]
    G = np.empty_like(W)
    A = np.empty((widths.sum(), L), W.dtype)  # activities of all layers
    D = np.empty_like(A)  # slopes of the loss by them
    row, top, total = np.empty(L, W.dtype), np.empty(L, W.dtype), np.empty(L, W.dtype)
    for step in range(len(corrections)):
        G[:] = 0
        for i in range(len(X)):
            for k in range(d):
                for net in range(L):
                    A[k, net] = X[i, k, net]
            _forward(widths, leaks, W, A, row)
            _slopes(A[outputs:], y[i], D[outputs:], top, total, share, c)
            _backward(widths, leaks, W, A, D, G, row)
        rate, root = corrections[step, 0], corrections[step, 1]
        for p in range(P):
            for net in range(L):
                M[p, net] = b1 * M[p, net] + a1 * G[p, net]
                V[p, net] = b2 * V[p, net] + a2 * G[p, net] * G[p, net]
                W[p, net] -= rate * M[p, net] / (np.sqrt(V[p, net]) * root + eps)
