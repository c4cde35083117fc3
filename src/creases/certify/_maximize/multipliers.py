"""A bound from multipliers, valid whatever they are: Neumaier and Shcherbina's safe bounds [1]_ for a pass backwards.

Non-negative multiples of inequalities that hold in a node (rows of the domain, sides of units, the lines of its
relaxation) are added up; what is left is an affine function of the input, whose largest value over the box is known.
The multipliers are those of a linear program, but nothing depends on how well it was solved.

References
----------
.. [1] Neumaier, Shcherbina, "Safe bounds in linear and mixed-integer linear programming", Math. Programming 99, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._exact import exact_room
from creases.certify._maximize.dense import round_up
from creases.certify._maximize.nodes import FREE, ON, Nodes
from creases.certify.proofs._format import Multipliers
from creases.certify.proofs._rounding import TINY, gamma


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows ``A v <= b`` of a domain around the middle of its box, b rounded upwards: (r, n) and (r,)."""

    A: Floats
    b: Floats


def shift_rows(A: Floats, b: Floats, middle: Floats) -> Rows:
    """Return rows ``A x <= b`` for ``v = x - middle``."""
    return Rows(A, np.array([round_up(limit) for limit in exact_room(A, middle, b).fractions()], float))


@dataclass(frozen=True, eq=False)
class Weights:
    """Non-negative multipliers for a node."""

    rows: Floats  #: (k,) of the rows of the objective
    domain: Floats  #: (r,)
    sides: Floats  #: (units,) 0 where a side is not known
    tangents: Floats  #: (units,) of ``h >= z``: how much of a unit's coefficient goes to its side of slope 1


def bound_sum(
    nodes: Nodes, i: int, rows: Floats, offsets: Floats, domain: Rows, weights: Weights
) -> tuple[float, Multipliers, Floats]:
    """Bound ``weights.rows (rows y + offsets)`` from above in the i-th node, and return what a proof needs.

    Parameters
    ----------
    rows, offsets
        (k, n_out) and (k,).

    Returns
    -------
    float
        Infinite where the multipliers give none.
    Multipliers
        As in a proof.
    ndarray (units,)
        The coefficient of what leaves each unit.
    """
    one, dense = nodes.take(i), nodes.dense
    g = 2 * gamma(dense.n_terms + len(domain.b) + len(offsets))
    starts, sides = np.cumsum([0, *map(len, dense.leaks)]), one.sides[0]
    signed = np.where(sides == ON, weights.sides, -weights.sides) * (sides != FREE)
    slopes: dict[int, float] = {}
    effects = np.zeros(dense.n_units)

    def choose(j: int, h: Floats) -> tuple[Floats, Floats, Floats]:
        part, leak = slice(starts[j], starts[j + 1]), dense.leaks[j]
        effects[part] = h[0, 0]
        above, below, chosen = _tangents(one, j, part, h[0, 0], weights.tangents[part])
        for unit in chosen:
            slopes[int(starts[j] + unit)] = float((above if leak[unit] > 1 else below)[unit])
        return above, below, signed[part]

    row, size = weights.rows @ rows, np.abs(weights.rows) @ np.abs(rows)
    pull = one.pull(dense.output, row[None, None], one.out_slack, choose)
    G = pull.G[0, 0] - weights.domain @ domain.A
    error = float(
        pull.error[0, 0]
        + (size - np.abs(row)) @ one.out_slack[0]
        + g * (np.abs(weights.rows) @ np.abs(offsets))
        + g * (weights.domain @ (np.abs(domain.b) + np.abs(domain.A) @ nodes.v_size[i]))
    )
    if len(rows) > 1:  # the rows were added up with rounding: out_slack counts g once, for each number of terms again
        error *= 2.0
    constant = float(pull.constant[0, 0] + weights.rows @ offsets + weights.domain @ domain.b)
    reach = float(np.maximum(G * nodes.v_low[i], G * nodes.v_high[i]).sum())
    total = constant + reach + 1.01 * error + TINY
    used = Multipliers(
        tuple(weights.rows.tolist()) if weights.rows.any() else (),
        {int(r): float(weights.domain[r]) for r in np.flatnonzero(weights.domain)},
        {int(u): float(abs(signed[u])) for u in np.flatnonzero(signed)},
        slopes,
    )
    return (total if np.isfinite(total) else np.inf), used, effects


def _tangents(one: Nodes, j: int, part: slice, h: Floats, tangents: Floats) -> tuple[Floats, Floats, Ints]:
    """Return slopes of lines, of open units those that multipliers mean, and which units these are."""
    low, high, leak = one.low[0, part], one.high[0, part], one.dense.leaks[j]
    above, below = one.lines[j].above[0], one.lines[j].below[0]
    concave = leak > 1
    chosen = (one.sides[0, part] == FREE) & (low < 0) & (high > 0) & (leak != 1.0) & np.where(concave, h > 0, h < 0)
    share = np.clip(tangents / np.where(chosen, np.abs(h), 1.0), 0.0, 1.0)
    slope = np.clip(leak + (1.0 - leak) * share, np.minimum(leak, 1.0), np.maximum(leak, 1.0))
    return (
        np.where(chosen & concave, slope, above),
        np.where(chosen & ~concave, slope, below),
        np.flatnonzero(chosen),
    )
