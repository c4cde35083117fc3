"""A network in exact arithmetic: float64 numbers are integers times powers of two, and so are all sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import torch

from creases._program import Step
from creases._typing import Floats
from creases.certify.proofs._checker.parts import Dense, Dyadic
from creases.certify.proofs._checker.program import Affine, Machine, build_machine
from creases.errors import InputError
from creases.network import Network

#: The most entries of the matrix of a step, unless it is a weight as it stands.
MATRIX_ENTRIES = 2**22

#: The most products of an exact evaluation: a few seconds; and of one after the time is over.
MAX_PRODUCTS, LATE_PRODUCTS = 2**22, 2**15


def exact_outputs(
    net: Network, x: Floats | Sequence[Fraction], max_products: int = MAX_PRODUCTS
) -> list[Fraction] | None:
    """Return the outputs of a float64 network at an input (n_in,), without rounding; None if too large or infinite."""
    machine, products = _machine(net)
    if isinstance(x, np.ndarray) and not np.isfinite(x).all():
        return None
    return None if machine is None or products > max_products else machine.evaluate(np.asarray(x).ravel())[-1].tolist()


@lru_cache(maxsize=4)
def _machine(net: Network) -> tuple[Machine | None, int]:
    """Return a network as who checks a proof evaluates it, if its matrices are not too large; and its products."""
    for step in net.steps:
        is_free = step.is_bend or step.op == "linear" or step.operation.entries == "moves"
        if not is_free and prod(step.shape) * max(prod(net.shapes[value]) for value in step.inputs) > MATRIX_ENTRIES:
            return None, 0
    try:
        machine = build_machine(net)
    except InputError:  # entries that would be rounded, or are not finite
        return None, 0
    parts = [part for step in machine.steps if isinstance(step, Affine) for part in step.parts]
    return machine, sum(int(np.count_nonzero(part.M)) if isinstance(part, Dense) else len(part.kept) for part in parts)


def bend_exactly(z: Dyadic, leak: Floats) -> Dyadic:
    """Return numbers where they are positive, elsewhere times a leak."""
    positive = np.asarray(z.whole > 0, bool)
    if not leak.any():
        return Dyadic(np.where(positive, z.whole, 0), z.power)
    factor = Dyadic.of(np.where(positive, 1.0, leak))
    return Dyadic(np.asarray(z.whole * factor.whole, object), z.power + factor.power)


def multiply_exactly(W: Floats, x: Dyadic) -> Dyadic:
    """Return the product of a matrix of floats (m, n) and numbers (n,); zeros cost nothing."""
    rows, columns = W.nonzero()
    weights = Dyadic.of(W[rows, columns])
    out = np.zeros(W.shape[0], dtype=object)
    if len(rows):
        order = np.argsort(rows, kind="stable")
        first = np.flatnonzero(np.diff(rows[order], prepend=-1))
        products = (weights.whole * x.whole[columns])[order]
        out[rows[order][first]] = np.add.reduceat(products, first)
    return Dyadic(out, weights.power + x.power)


def exact_room(A: Floats, x: Floats, b: Floats) -> Dyadic:
    """Return ``b - A x`` (r,) without rounding."""
    return Dyadic.of(b) + multiply_exactly(-A, Dyadic.of(x))


def step_matrices(
    step: Step, shapes: Sequence[tuple[int, ...]], max_entries: int = MATRIX_ENTRIES
) -> list[Floats] | None:
    """Return the matrix (size of the output, size of the input) of an affine step for each input; None if too large."""
    if step.op == "linear" and len(step.shape) == 1:
        return [step.tensors["weight"].double().numpy()]
    size, counts = prod(step.shape), [prod(shape) for shape in shapes]
    if max(count * max(count, size) for count in counts) > max_entries:
        return None
    matrices = []
    for k, count in enumerate(counts):
        basis = [torch.zeros(count, *shape, dtype=torch.float64) for shape in shapes]
        basis[k] = torch.eye(count, dtype=torch.float64).reshape(count, *shapes[k])
        with torch.no_grad():
            matrices.append(np.ascontiguousarray(step.linear(basis).reshape(count, size).numpy().T))
    return matrices
