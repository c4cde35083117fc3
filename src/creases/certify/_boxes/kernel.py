"""The compiled search over boxes (numba; imported only when first used).

Boxes wait on a stack with bounds of what enters each unit. A box is bounded stage by stage: intervals, then, for units
that may be on either side, linear bounds carried backwards (see ``creases.certify.propagation``). It is done when every
case has a row that is negative over the whole box; otherwise it is split and both halves go onto the stack with its
bounds.

All bounds hold in real arithmetic. Coefficients are what was computed; what their rounding changes is at most the sum
of their magnitudes times ``errors``, which are relative to the sizes of all terms over the whole box of the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit, jit_internal
from creases._typing import Floats

Ints = NDArray[np.int64]

#: More than what all underflows of a pass add up to.
TINY = 1e-280


class Stages(NamedTuple):
    """A dense network over a box, padded to one width."""

    widths: Ints  #: (stages + 1,)
    W: Floats  #: (stages, width, width)
    b: Floats  #: (stages, width)
    leak: Floats  #: (stages, width)
    errors: Floats  #: (stages, width) what rounding may add for each unit of a coefficient
    reach: Floats  #: (n,) the largest magnitude of each input
    lost: Floats  #: (stages,) what underflow of coefficients can matter before each stage
    rounding: float  #: relative error of a sum of constants


class Rows(NamedTuple):
    """Cases: an input is in case c where ``C y + D x + e >= 0`` for all rows ``starts[c]`` to ``starts[c + 1]``."""

    C: Floats  #: (k, m)
    D: Floats  #: (k, n)
    e: Floats  #: (k,)
    starts: Ints  #: (cases + 1,)
    inputs: Ints  #: (cases,) how many of a case's rows, its first ones, are of inputs alone
    margin: float  #: a row is negative over a box if its bound is below minus this
    near: float  #: a point whose least row is at least minus this may be a violation


class Stack(NamedTuple):
    """Boxes that wait, with bounds of what enters units and the cases that are open."""

    boxes: Floats  #: (capacity, n, 2)
    low: Floats  #: (capacity, stages, width)
    high: Floats  #: (capacity, stages, width)
    is_open: Ints  #: (capacity, cases)
    node: Ints  #: (capacity,) number in the tree


class Log(NamedTuple):
    """What became of each box, for the tree of a proof; of no length if it is not kept."""

    node: Ints  #: (limit,)
    axis: Ints  #: (limit,) input that was split, -1: none
    at: Floats  #: (limit,) where
    child: Ints  #: (limit,) number of the first half
    row: Ints  #: (limit, cases) row by which a case is closed, -1: it is not closed here


class Work(NamedTuple):
    """Space for one box."""

    box: Floats  #: (n, 2)
    low: Floats  #: (stages, width)
    high: Floats  #: (stages, width)
    lines: Floats  #: (stages, 4, width) slope and intercept above, slope and intercept below
    g: Floats  #: (width,)
    spare: Floats  #: (width,)
    nothing: Floats  #: (n,) zeros
    x: Floats  #: (n,)
    corner: Floats  #: (n,)
    still: Ints  #: (cases,)


@jit_internal
def _copy(source: Floats, target: Floats) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@jit_internal
def _upper(net: Stages, work: Work, stage: int, constant: float, of_inputs: Floats) -> float:
    """Return no less than the largest ``g z + constant + of_inputs x`` over a box, z what enters units of a stage.

    ``work.g`` holds the coefficients and is overwritten; the coefficients of the inputs are left in it.
    """
    g, spare = work.g, work.spare
    size, error, total = abs(constant), 0.0, constant
    for k in range(stage, -1, -1):
        m, n = net.widths[k + 1], net.widths[k]
        for j in range(n):
            spare[j] = 0.0
        for i in range(m):
            factor = g[i]
            if factor != 0.0:
                term = factor * net.b[k, i]
                total += term
                size += abs(term)
                error += abs(factor) * net.errors[k, i]
                for j in range(n):
                    spare[j] += factor * net.W[k, i, j]
        if k == 0:
            break
        for j in range(n):
            value = spare[j]
            above = value > 0.0
            slope = work.lines[k - 1, 0, j] if above else work.lines[k - 1, 2, j]
            term = value * (work.lines[k - 1, 1, j] if above else work.lines[k - 1, 3, j])
            total += term
            size += abs(term)
            g[j] = value * slope
    for j in range(net.widths[0]):
        value = spare[j] + of_inputs[j]
        g[j] = value
        total += max(value * work.box[j, 0], value * work.box[j, 1])
        size += 2.0 * abs(value) * net.reach[j]
    upper = total + (error + net.rounding * size) * 1.000001 + net.lost[stage] + TINY
    return upper if np.isfinite(upper) else np.inf  # nan and minus infinity are of overflow


@jit_internal
def _set_lines(net: Stages, work: Work, k: int) -> None:
    """Set slope and intercept of lines above and below each unit of a stage."""
    for i in range(net.widths[k + 1]):
        a, lo, hi = net.leak[k, i], work.low[k, i], work.high[k, i]
        work.lines[k, 1, i] = work.lines[k, 3, i] = 0.0
        if a == 1.0 or lo >= 0.0:
            work.lines[k, 0, i] = work.lines[k, 2, i] = 1.0
        elif hi <= 0.0:
            work.lines[k, 0, i] = work.lines[k, 2, i] = a
        else:
            slope = (hi - a * lo) / (hi - lo)
            left, right = (a - slope) * lo, (1.0 - slope) * hi
            tangent = 1.0 if 101.0 * hi >= -100.0 * lo else a
            if a < 1.0:
                over = max(left, right)
                work.lines[k, 0, i], work.lines[k, 1, i] = slope, over + 1e-15 * abs(over) + TINY
                work.lines[k, 2, i] = tangent
            else:
                under = min(left, right)
                work.lines[k, 2, i], work.lines[k, 3, i] = slope, under - 1e-15 * abs(under) - TINY
                work.lines[k, 0, i] = tangent


@jit_internal
def _bend_range(lo: float, hi: float, leak: float) -> tuple[float, float]:
    """Return the range of a unit's output."""
    p, q = (lo if lo > 0.0 else leak * lo), (hi if hi > 0.0 else leak * hi)
    if leak >= 0.0:
        return p, q
    return (0.0 if lo < 0.0 and hi > 0.0 else min(p, q)), max(p, q)


@jit_internal
def _intervals(net: Stages, work: Work, k: int) -> None:
    """Intersect the bounds of a stage with intervals from the stage before."""
    m, n = net.widths[k + 1], net.widths[k]
    for j in range(n):
        if k == 0:
            work.g[j], work.spare[j] = work.box[j, 0], work.box[j, 1]
        else:
            work.g[j], work.spare[j] = _bend_range(work.low[k - 1, j], work.high[k - 1, j], net.leak[k - 1, j])
    for i in range(m):
        least, most = net.b[k, i], net.b[k, i]
        for j in range(n):
            w = net.W[k, i, j]
            p, q = w * work.g[j], w * work.spare[j]
            least += min(p, q)
            most += max(p, q)
        least, most = least - net.errors[k, i] - TINY, most + net.errors[k, i] + TINY
        if np.isfinite(least) and least > work.low[k, i]:
            work.low[k, i] = least
        if np.isfinite(most) and most < work.high[k, i]:
            work.high[k, i] = most


@jit_internal
def _bound_units(net: Stages, work: Work) -> None:
    """Tighten the bounds of what enters all units, stage after stage, and set their lines."""
    for k in range(len(net.widths) - 2):
        m = net.widths[k + 1]
        _intervals(net, work, k)
        for i in range(m):
            if k == 0 or net.leak[k, i] == 1.0:
                continue
            for sign in (1.0, -1.0):
                if work.low[k, i] >= 0.0 or work.high[k, i] <= 0.0:
                    break
                for j in range(m):
                    work.g[j] = 0.0
                work.g[i] = sign
                value = _upper(net, work, k, 0.0, work.nothing)
                if sign > 0:
                    work.high[k, i] = min(work.high[k, i], value)
                else:
                    work.low[k, i] = max(work.low[k, i], -value)
        _set_lines(net, work, k)


@jit_internal
def _steepness(net: Stages, work: Work, row: Floats, of_inputs: Floats, most: Floats) -> None:
    """Raise ``most`` (n,) to the largest magnitudes of the derivatives of a row over a box, up to rounding."""
    low, high = work.g, work.spare
    stages = len(net.widths) - 1
    for i in range(net.widths[stages]):
        low[i] = high[i] = row[i]
    for k in range(stages - 1, -1, -1):
        for j in range(net.widths[k]):
            work.lines[k, 1, j] = work.lines[k, 3, j] = 0.0  # intercepts are no longer needed
        for i in range(net.widths[k + 1]):
            p, q = low[i], high[i]
            if p == 0.0 and q == 0.0:
                continue
            for j in range(net.widths[k]):
                w = net.W[k, i, j]
                work.lines[k, 1, j] += min(w * p, w * q)
                work.lines[k, 3, j] += max(w * p, w * q)
        for j in range(net.widths[k]):
            p, q = work.lines[k, 1, j], work.lines[k, 3, j]
            if k > 0:
                a = net.leak[k - 1, j]
                least = a if work.low[k - 1, j] < 0.0 else 1.0
                largest = 1.0 if work.high[k - 1, j] > 0.0 else a
                low[j] = min(min(p * least, p * largest), min(q * least, q * largest))
                high[j] = max(max(p * least, p * largest), max(q * least, q * largest))
            else:
                size = max(abs(p + of_inputs[j]), abs(q + of_inputs[j]))
                most[j] = max(most[j], size)


@jit_internal
def _row_value(rows: Rows, r: int, x: Floats, y: Floats) -> float:
    """Return a row at a point with outputs y."""
    total: float = rows.e[r]
    for i in range(rows.C.shape[1]):
        total += rows.C[r, i] * y[i]
    for j in range(rows.D.shape[1]):
        total += rows.D[r, j] * x[j]
    return total


@jit_internal
def _largest_case(net: Stages, rows: Rows, work: Work, x: Floats) -> float:
    """Return the largest over cases of the smallest row at a point: not negative, up to rounding, in a violation.

    The outputs are left in ``work.g``.
    """
    for j in range(net.widths[0]):
        work.g[j] = x[j]
    for k in range(len(net.widths) - 1):
        for i in range(net.widths[k + 1]):
            total = net.b[k, i]
            for j in range(net.widths[k]):
                total += net.W[k, i, j] * work.g[j]
            work.spare[i] = total if total > 0.0 else net.leak[k, i] * total
        for i in range(net.widths[k + 1]):
            work.g[i] = work.spare[i]
    best = -np.inf
    for case in range(len(rows.starts) - 1):
        least = np.inf
        for r in range(rows.starts[case], rows.starts[case + 1]):
            least = min(least, _row_value(rows, r, x, work.g))
        best = max(best, least)
    return best


@jit_internal
def _largest_row(net: Stages, rows: Rows, work: Work, case: int, corner: Floats) -> tuple[float, int]:
    """Return the smallest upper bound of a case's rows and its row; set the corner that has this bound.

    Stops at a row that is negative over the whole box.
    """
    stages, least, worst = len(net.widths) - 1, np.inf, -1
    for r in range(rows.starts[case], rows.starts[case + 1]):
        for i in range(net.widths[stages]):
            work.g[i] = rows.C[r, i]
        value = _upper(net, work, stages - 1, rows.e[r], rows.D[r])
        if value < least:
            least, worst = value, r
            for j in range(net.widths[0]):
                corner[j] = work.box[j, 1] if work.g[j] > 0.0 else work.box[j, 0]
        if value < -rows.margin:
            break
    return least, worst


@jit_internal
def _lowest_row(rows: Rows, case: int, x: Floats, y: Floats) -> int:
    """Return the row of a case that is least at a point with outputs y: that which may be negative over a whole box.

    Rows of inputs are left out where there are others: at their limit they never become negative, however narrow a box
    is.
    """
    least, lowest = np.inf, -1
    first = rows.starts[case] + rows.inputs[case]
    for r in range(first if first < rows.starts[case + 1] else rows.starts[case], rows.starts[case + 1]):
        value = _row_value(rows, r, x, y)
        if value < least:
            least, lowest = value, r
    return lowest


@jit_internal
def _widest(net: Stages, rows: Rows, work: Work, row: int, most: Floats) -> int:
    """Return the input to split: that which can change a row most; -1 if no side can be divided."""
    n, axis = net.widths[0], -1
    if row >= 0:
        _steepness(net, work, rows.C[row], rows.D[row], most)
    for by_steepness in (True, False):
        widest = 0.0
        for j in range(n):
            low, high = work.box[j, 0], work.box[j, 1]
            middle = 0.5 * (low + high)
            size = (most[j] if by_steepness else 1.0) * (high - low)
            if size > widest and low < middle < high:
                axis, widest = j, size
        if axis >= 0:
            break
    return axis


@jit
def search_boxes(
    net: Stages, rows: Rows, stack: Stack, log: Log, work: Work, count: int, limit: int, next_node: int, point: Floats
) -> tuple[int, int, float]:
    """Bound and split boxes from the top of a stack until it is empty or full, a limit of boxes, or a likely violation.

    Parameters
    ----------
    count
        Boxes on the stack.
    limit
        Boxes to bound.
    next_node
        Number of the next node of the tree; children get it and those after it.
    point
        (n,) set to the best point.

    Returns
    -------
    count, done, best
        Boxes left, boxes bounded, and the largest least row of a point.
    """
    n, cases, is_logged = net.widths[0], len(rows.starts) - 1, len(log.node) > 0
    x, corner, still = work.x, work.corner, work.still
    done, best = 0, -np.inf
    while count and done < limit and count < len(stack.boxes):
        count -= 1
        _copy(stack.boxes[count], work.box)
        _copy(stack.low[count], work.low)
        _copy(stack.high[count], work.high)
        _bound_units(net, work)
        widest, top, left = -1, -np.inf, 0
        for case in range(cases):
            still[case] = stack.is_open[count, case]
            if still[case]:
                value, worst = _largest_row(net, rows, work, case, corner)
                if value < -rows.margin:
                    still[case] = 0
                    if is_logged:
                        log.row[done, case] = worst
                else:
                    left += 1
                    if value > top:
                        top, widest = value, case
                        for j in range(n):
                            x[j] = corner[j]
        axis = -1
        if left:
            for at_center in (False, True):
                for j in range(n):
                    if at_center:
                        x[j] = 0.5 * (work.box[j, 0] + work.box[j, 1])
                value = _largest_case(net, rows, work, x)
                if value > best:
                    best = value
                    for j in range(n):
                        point[j] = x[j]
            row = _lowest_row(rows, widest, x, work.g)
            for j in range(n):
                corner[j] = 0.0
            axis = _widest(net, rows, work, row, corner)
            if axis < 0:
                count += 1  # a point in float64 whose rows are not decided
                break
            middle = 0.5 * (work.box[axis, 0] + work.box[axis, 1])
            if is_logged:
                log.at[done] = middle
                log.child[done] = next_node
            node = stack.node[count]
            for half in range(1, -1, -1):  # the lower half on top
                _copy(work.box, stack.boxes[count])
                stack.boxes[count, axis, 1 - half] = middle
                _copy(work.low, stack.low[count])
                _copy(work.high, stack.high[count])
                for case in range(cases):
                    stack.is_open[count, case] = still[case]
                stack.node[count] = next_node + half
                count += 1
            if is_logged:
                log.node[done] = node
            next_node += 2
        elif is_logged:
            log.node[done] = stack.node[count]
        if is_logged:
            log.axis[done] = axis
        done += 1
        if best >= -rows.near:
            break
    return count, done, best
