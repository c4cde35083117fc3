"""The matrices of a network between bends, multiplied out without rounding."""

from __future__ import annotations

from math import prod

import numpy as np

from creases._program import Step
from creases.certify._exact import Dyadic, step_matrices
from creases.network import Network

#: Most multiplications of integers to multiply out a network.
MULTIPLICATIONS = 2**22

Form = dict[int, Dyadic]  # (columns of the source, size) by source; -1: the constant (1, size)


def exact_functions(net: Network) -> list[list[Dyadic]] | None:
    """Return c (m,), B (m, n) and W (m, m_j) of each bend and of the output; None if that takes too long.

    Bends are ReLUs; affine steps have the weights of the network, as in ``dense_form``.
    """
    columns = [net.n_in]
    values: list[Form] = [_source(0, net.n_in)]
    functions: list[list[Dyadic]] = []
    left = MULTIPLICATIONS
    for step in net.steps:
        if step.is_bend:
            functions.append(_flatten(values[step.inputs[0]], columns))
            columns.append(prod(step.shape))
            values.append(_source(len(columns) - 1, columns[-1]))
            continue
        left -= prod(step.shape) * sum(
            prod(net.shapes[i]) * sum(len(part.integers) for part in values[i].values()) for i in step.inputs
        )
        form = (
            None if left < 0 else _apply(step, [values[i] for i in step.inputs], [net.shapes[i] for i in step.inputs])
        )
        if form is None:
            return None
        values.append(form)
    return [*functions, _flatten(values[-1], columns)]


def _source(number: int, size: int) -> Form:
    return {number: Dyadic(np.eye(size, dtype=int).astype(object), 0)}


def _apply(step: Step, inputs: list[Form], shapes: list[tuple[int, ...]]) -> Form | None:
    matrices = step_matrices(step, shapes)
    if matrices is None:
        return None
    out: Form = {}
    if step.offset is not None:
        out[-1] = Dyadic.of(step.offset.expand(step.shape).double().numpy().reshape(1, -1))
    for form, matrix in zip(inputs, matrices, strict=True):
        for number, part in form.items():
            product = part.times(Dyadic.of(matrix.T))
            out[number] = out[number].plus(product) if number in out else product
    return out


def _flatten(form: Form, columns: list[int]) -> list[Dyadic]:
    size = next(iter(form.values())).integers.shape[1]
    parts = [form.get(-1, Dyadic(np.zeros((1, size), dtype=object), 0))]
    parts += [form.get(k, Dyadic(np.zeros((count, size), dtype=object), 0)) for k, count in enumerate(columns)]
    constant, *rest = (Dyadic(part.integers.T, part.exponent) for part in parts)
    return [Dyadic(constant.integers[:, 0], constant.exponent), *rest]
