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
from creases.certify._nodes import FREE, ON, Nodes
from creases.certify.proofs._format import Multipliers
from creases.certify.proofs._rounding import TINY, gamma, round_up


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
    form, output, leak = nodes.form, nodes.form.output, nodes.form.leak
    g = 2 * gamma(form.n_terms + len(domain.b) + len(offsets))
    sides = nodes.sides[i]
    signed = np.where(sides == ON, weights.sides, -weights.sides) * (sides != FREE)
    slopes: dict[int, float] = {}

    def choose(units: slice, h: Floats) -> tuple[Floats, Floats, Floats]:
        above, below, chosen = _tangents(nodes, i, units, h[0], weights.tangents[units])
        for unit in chosen:
            slopes[int(units.start + unit)] = float((above if leak[units][unit] > 1 else below)[unit])
        return above, below, signed[units]

    row, size = weights.rows @ rows, np.abs(weights.rows) @ np.abs(rows)
    slack = np.array([size @ nodes.out_slack[i]])
    above = nodes.carry_back((row @ output.W)[None], (row @ output.c)[None], slack, np.array([i]), choose=choose)
    G = above.A[0] - weights.domain @ domain.A
    error = float(
        above.error[0]
        + g * (np.abs(weights.rows) @ np.abs(offsets))
        + g * (weights.domain @ (np.abs(domain.b) + np.abs(domain.A) @ nodes.inputs.size[i]))
    )
    if len(rows) > 1:  # the rows were added up with rounding: out_slack counts g once, for each number of terms again
        error *= 2.0
    constant = float(above.b[0] + weights.rows @ offsets + weights.domain @ domain.b)
    reach = float(np.maximum(G * nodes.inputs.low[i], G * nodes.inputs.high[i]).sum())
    total = constant + reach + 1.01 * error + TINY
    used = Multipliers(
        tuple(weights.rows.tolist()) if weights.rows.any() else (),
        {int(r): float(weights.domain[r]) for r in np.flatnonzero(weights.domain)},
        {int(u): float(abs(signed[u])) for u in np.flatnonzero(signed)},
        slopes,
    )
    return (total if np.isfinite(total) else np.inf), used, above.depends[0]


def _tangents(nodes: Nodes, i: int, units: slice, h: Floats, tangents: Floats) -> tuple[Floats, Floats, Ints]:
    """Return slopes of lines, of open units those that multipliers mean, and which units these are."""
    leak, above, below = nodes.form.leak[units], nodes.lines.above[i, units], nodes.lines.below[i, units]
    concave = leak > 1
    chosen = nodes.open_units()[i, units] & np.where(concave, h > 0, h < 0)
    share = np.clip(tangents / np.where(chosen, np.abs(h), 1.0), 0.0, 1.0)
    slope = np.clip(leak + (1.0 - leak) * share, np.minimum(leak, 1.0), np.maximum(leak, 1.0))
    return (
        np.where(chosen & concave, slope, above),
        np.where(chosen & ~concave, slope, below),
        np.flatnonzero(chosen),
    )
