"""Bounds of the gradient of a combination of values over a node, with the sides that are known there."""

from __future__ import annotations

import numpy as np

from creases.certify.proofs._checker.bounds import Bounds
from creases.certify.proofs._checker.parts import TINY, UNIT, Array, lift
from creases.certify.proofs._checker.program import Affine, Choice, Relu


def gradient_interval(bounds: Bounds, number: int, row: Array) -> tuple[Array, Array]:
    """Bound the gradient (n_in,) of ``row . value`` wherever it exists in a node.

    Where a unit is 0 in a neighbourhood its slope does not matter: any gives the right gradient.
    """
    exact, machine = bounds.exact, bounds.machine
    known: dict[int, tuple[Array, Array]] = {number: (row, row)}
    for i in reversed(range(number)):
        ends = known.pop(i + 1, None)
        if ends is None:
            continue
        step = machine.steps[i]
        if isinstance(step, Affine):
            parts = [part.back_interval(*ends, exact) for part in step.parts]
        elif isinstance(step, Relu):
            parts = [_relu_back(*ends, bounds.on(i), bounds.entering[i][1], lift(step.leak, exact), exact)]
        else:
            parts = [_choice_back(*ends, *bounds.entering[i], step)]
        for value, (low, high) in zip(step.inputs, parts, strict=True):
            if value in known:
                low, high = known[value][0] + low, known[value][1] + high
                if not exact:
                    low, high = low - 4 * UNIT * np.abs(low) - TINY, high + 4 * UNIT * np.abs(high) + TINY
            known[value] = low, high
    zero = np.zeros(machine.n_in, dtype=object if exact else float)
    return known.get(0, (zero, zero))


def _relu_back(low: Array, high: Array, on: Array, z_high: Array, leak: Array, exact: bool) -> tuple[Array, Array]:
    off = np.asarray(z_high <= 0)
    slopes = np.where(off & ~on, leak, 1), np.where(on, 1, leak)
    products = [end * slope for end in (low, high) for slope in slopes]
    least, most = products[0], products[0]
    for each in products[1:]:
        least, most = np.minimum(least, each), np.maximum(most, each)
    if exact:
        return least, most
    below, above = least - 4 * UNIT * np.abs(least) - TINY, most + 4 * UNIT * np.abs(most) + TINY
    return np.where(least >= 0, np.maximum(below, 0), below), np.where(most <= 0, np.minimum(above, 0), above)


def _choice_back(low: Array, high: Array, z_low: Array, z_high: Array, step: Choice) -> tuple[Array, Array]:
    lows, highs = z_low.reshape(step.size, step.K), z_high.reshape(step.size, step.K)
    possible = highs >= lows.max(axis=1)[:, None]
    alone = possible.sum(axis=1)[:, None] == 1
    low, high = (np.repeat(end[:, None], step.K, axis=1) for end in (low, high))
    least = np.where(possible, np.where(alone, low, np.minimum(low, 0)), 0)
    most = np.where(possible, np.where(alone, high, np.maximum(high, 0)), 0)
    return least.reshape(-1), most.reshape(-1)
