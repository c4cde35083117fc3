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
from fractions import Fraction

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._maximize.dense import gamma, round_up
from creases.certify._maximize.nodes import FREE, ON, TINY, Nodes
from creases.certify.proofs._format import Multipliers


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows ``A v <= b`` of a domain around the middle of its box, b rounded upwards: (r, n) and (r,)."""

    A: Floats
    b: Floats


def shift_rows(A: Floats, b: Floats, middle: Floats) -> Rows:
    """Return rows ``A x <= b`` for ``v = x - middle``."""
    point = [Fraction(value) for value in middle.tolist()]
    limits = [
        round_up(Fraction(limit) - sum(Fraction(a) * m for a, m in zip(row, point, strict=True)))
        for row, limit in zip(A.tolist(), b.tolist(), strict=True)
    ]
    return Rows(A, np.array(limits, float))


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
    dense, g = nodes.dense, gamma(nodes.dense.n_terms + len(domain.b) + len(offsets))
    out = dense.output
    row = weights.rows @ rows
    size = np.abs(weights.rows) @ np.abs(rows)
    G = row @ out.B - weights.domain @ domain.A
    constant = float(row @ out.c + weights.rows @ offsets + weights.domain @ domain.b)
    v_size = nodes.v_size[i]
    error = float(
        size @ nodes.out_slack[i]
        + g * (np.abs(weights.rows) @ np.abs(offsets))
        + g * (weights.domain @ (np.abs(domain.b) + np.abs(domain.A) @ v_size))
    )
    if len(rows) > 1:  # the rows were added up with rounding: out_slack counts g once, for each number of terms again
        error *= 2.0
    coefficients = [row @ W for W in out.W]
    signed = np.where(nodes.sides[i] == ON, weights.sides, -weights.sides) * (nodes.sides[i] != FREE)
    slopes: dict[int, float] = {}
    effects = np.zeros(dense.n_units)
    starts = np.cumsum([0, *map(len, dense.leaks)])
    for j in reversed(range(len(dense.bends))):
        part = slice(starts[j], starts[j + 1])
        lines, bend = nodes.lines[j], dense.bends[j]
        above, below = lines.above[i], lines.below[i]
        h = effects[part] = coefficients[j]
        above, below, chosen = _tangents(nodes, i, j, part, h, weights.tangents[part], above, below)
        for unit in chosen:
            slopes[int(starts[j] + unit)] = float((above if dense.leaks[j][unit] > 1 else below)[unit])
        up, down = np.maximum(h, 0.0), np.minimum(h, 0.0)
        z = up * above + down * below + signed[part]
        constant += float(up @ lines.above_intercept[i] + down @ lines.below_intercept[i] + z @ bend.c)
        error += float(
            np.abs(z) @ nodes.slack[j][i]
            + g * (up @ np.abs(lines.above_intercept[i]) - down @ np.abs(lines.below_intercept[i]))
        )
        G = G + z @ bend.B
        for k, W in enumerate(bend.W):
            coefficients[k] = coefficients[k] + z @ W
    reach = float(np.maximum(G * nodes.v_low[i], G * nodes.v_high[i]).sum())
    total = constant + reach + 1.01 * error + TINY
    used = Multipliers(
        tuple(weights.rows.tolist()) if weights.rows.any() else (),
        {int(r): float(weights.domain[r]) for r in np.flatnonzero(weights.domain)},
        {int(u): float(abs(signed[u])) for u in np.flatnonzero(signed)},
        slopes,
    )
    return (total if np.isfinite(total) else np.inf), used, effects


def _tangents(
    nodes: Nodes, i: int, j: int, part: slice, h: Floats, tangents: Floats, above: Floats, below: Floats
) -> tuple[Floats, Floats, Ints]:
    """Return lines with the slopes that multipliers mean for open units, and which units these are."""
    low, high, leak = nodes.low[i, part], nodes.high[i, part], nodes.dense.leaks[j]
    bent = (nodes.sides[i, part] == FREE) & (low < 0) & (high > 0) & (leak != 1.0)
    concave = leak > 1
    chosen = bent & np.where(concave, h > 0, h < 0)
    if not chosen.any():
        return above, below, np.zeros(0, np.int64)
    share = np.clip(tangents / np.where(chosen, np.abs(h), 1.0), 0.0, 1.0)
    slope = np.clip(leak + (1.0 - leak) * share, np.minimum(leak, 1.0), np.maximum(leak, 1.0))
    return (
        np.where(chosen & concave, slope, above),
        np.where(chosen & ~concave, slope, below),
        np.flatnonzero(chosen),
    )
