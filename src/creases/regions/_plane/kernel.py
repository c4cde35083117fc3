"""Compiled subdivision of a planar complex by the creases of one bend (numba; imported only when first used).

The complex has shared vertices and a tree of edges. An edge that is cut remembers its two halves, so the region on its
other side uses the same vertex later and nothing is computed twice. The sign of every unit at every vertex is
decided once and packed into machine words: whether a unit cuts a region is then two ``or`` and an ``and`` over the
region's corners, and each new region costs one split. Signs are decided so that regions tile whatever the rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit

Array = NDArray[Any]

_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_LOWEST = np.zeros(64, np.int64)
for _i in range(64):
    _LOWEST[((0x03F79D71B4CB0A89 << _i) & (2**64 - 1)) >> 58] = _i

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@jit
def lowest_bit(word: Any) -> Any:
    low = word & (~word + _ONE)
    return _LOWEST[np.int64((low * _DEBRUIJN) >> np.uint64(58))]


@jit
def pack_signs(Z: Array, tolerance: Array, pos: Array, neg: Array, count: int) -> None:
    """Pack signs of the first rows of Z (V, U) into words (V, ceil(U / 64)); set entries within ``tolerance`` to 0."""
    U = Z.shape[1]
    for v in range(count):
        for w in range(pos.shape[1]):
            p = _ZERO
            n = _ZERO
            start = 64 * w
            for j in range(min(64, U - start)):
                z = Z[v, start + j]
                t = tolerance[start + j]
                p |= np.uint64(z > t) << np.uint64(j)
                n |= np.uint64(z < -t) << np.uint64(j)
            pos[v, w] = p
            neg[v, w] = n
            full = np.uint64(0xFFFFFFFFFFFFFFFF)
            width = min(64, U - start)
            if width < 64:
                full = (_ONE << np.uint64(width)) - _ONE
            zero = full & ~(p | n)
            while zero != _ZERO:
                j = lowest_bit(zero)
                Z[v, start + j] = 0.0
                zero &= zero - _ONE


@jit
def expand(
    corners: Array, lo: int, hi: int, ends: Array, kid: Array, verts: Array, edges: Array, n: int, todo: Array
) -> int:
    """Write corners lo..hi from row n on, every edge replaced by its uncut halves in order; return the next row."""
    for i in range(lo, hi):
        v = corners[i, 0]
        top = 0
        todo[0] = corners[i, 1]
        while top >= 0:
            e = todo[top]
            k = kid[e]
            if k < 0:
                verts[n] = v
                edges[n] = e
                n += 1
                v = ends[e, 1] if ends[e, 0] == v else ends[e, 0]
                top -= 1
            elif ends[e, 0] == v:
                todo[top] = k + 1
                todo[top + 1] = k
                top += 1
            else:
                todo[top] = k
                todo[top + 1] = k + 1
                top += 1
    return n


@jit
def _top_at(pos: Array, neg: Array, v: int, first: int, i: int, K: int) -> bool:
    """Whether candidate i of a choice, whose pairs start at unit ``first``, is among the largest at vertex v."""
    for j in range(K):
        if j == i:
            continue
        a, b = min(i, j), max(i, j)
        u = first + a * (2 * K - a - 1) // 2 + b - a - 1
        losing = neg[v, u >> 6] if i < j else pos[v, u >> 6]
        if (losing >> np.uint64(u & 63)) & _ONE:
            return False
    return True


@jit
def _pick(cut: Array, W: int, verts: Array, n: int, pos: Array, neg: Array, pairs: Array) -> int:
    """Return a unit that cuts the region, or -1; for a choice, a pair of candidates that are both largest somewhere."""
    for w in range(W):
        word = cut[w]
        while word != _ZERO:
            u = 64 * w + int(lowest_bit(word))
            word &= word - _ONE
            if len(pairs) == 0:
                return u
            first, K, i, j = pairs[u, 0], pairs[u, 1], pairs[u, 2], pairs[u, 3]
            bit = np.uint64(u & 63)
            wins = False
            loses = False
            for c in range(n):
                v = verts[c]
                if (pos[v, w] >> bit) & _ONE:
                    wins = wins or _top_at(pos, neg, v, first, i, K)
                elif (neg[v, w] >> bit) & _ONE:
                    loses = loses or _top_at(pos, neg, v, first, j, K)
            if wins and loses:
                return u
    return -1


@jit
def _demote_smallest_run(signs: Array, n: int, verts: Array, u: int, Z: Array, pos: Array, neg: Array) -> None:
    """Set the smallest run of equal signs to zero: more than two sign changes around a convex region are rounding."""
    start = 0
    while signs[start] == 0 or signs[start] == signs[start - 1 if start else n - 1]:
        start += 1
    best = np.inf
    best_at = start
    size = 0.0
    at = start
    for step in range(1, n + 1):
        i = (start + step - 1) % n
        size = max(size, abs(Z[verts[i], u]))
        j = (start + step) % n
        if step == n or (signs[j] != 0 and signs[j] != signs[at]):
            if size < best:
                best, best_at = size, at
            size, at = 0.0, j
    i = best_at
    mask = ~(_ONE << np.uint64(u & 63))
    while signs[i] == 0 or signs[i] == signs[best_at]:
        v = verts[i]
        pos[v, u >> 6] &= mask
        neg[v, u >> 6] &= mask
        Z[v, u] = 0.0
        i = (i + 1) % n


@jit
def cut_edge(e: int, u: int, m: int, ends: Array, X: Array, Z: Array, pos: Array, neg: Array, tolerance: Array) -> None:
    """Place vertex m where unit u is zero on edge e: position, pre-activations and signs by interpolation."""
    a, b = ends[e, 0], ends[e, 1]
    za, zb = Z[a, u], Z[b, u]
    t = za / (za - zb)
    X[m, 0] = X[a, 0] + t * (X[b, 0] - X[a, 0])
    X[m, 1] = X[a, 1] + t * (X[b, 1] - X[a, 1])
    for k in range(Z.shape[1]):
        Z[m, k] = Z[a, k] + t * (Z[b, k] - Z[a, k])
    for w in range(pos.shape[1]):
        crossing = (pos[a, w] & neg[b, w]) | (neg[a, w] & pos[b, w])
        p = (pos[a, w] | pos[b, w]) & ~crossing  # a sign that both ends share, or one has, holds in between
        n = (neg[a, w] | neg[b, w]) & ~crossing
        while crossing != _ZERO:
            j = lowest_bit(crossing)
            crossing &= crossing - _ONE
            k = 64 * w + j
            z = Z[m, k]
            if k != u and z > tolerance[k]:
                p |= _ONE << np.uint64(j)
            elif k != u and z < -tolerance[k]:
                n |= _ONE << np.uint64(j)
            else:
                Z[m, k] = 0.0
        pos[m, w] = p
        neg[m, w] = n


@jit
def _signs_around(verts: Array, n: int, u: int, pos: Array, neg: Array, signs: Array) -> int:
    """Write the signs of unit u at a region's corners to ``signs``; return how often they change around it."""
    w, bit = u >> 6, np.uint64(u & 63)
    changes = 0
    first = last = 0
    for c in range(n):
        v = verts[c]
        s = int((pos[v, w] >> bit) & _ONE) - int((neg[v, w] >> bit) & _ONE)
        signs[c] = s
        if s != 0:
            if last == 0:
                first = s
            elif s != last:
                changes += 1
            last = s
    return changes + (first != last)


@jit
def _cut_sides(
    u: int, n: int, verts: Array, edges: Array, signs: Array, X: Array, Z: Array, pos: Array, neg: Array,
    tolerance: Array, ends: Array, label: Array, kid: Array, at: Array,
) -> int:  # fmt: skip
    """Cut the (at most two) sides of a region where the sign of u changes, so that its chord connects corners."""
    c = 0
    while c < n:
        if signs[c] * signs[c + 1 if c + 1 < n else 0] < 0:
            e, m, k = edges[c], at[NV], at[NE]
            cut_edge(e, u, m, ends, X, Z, pos, neg, tolerance)
            kid[e] = k
            ends[k, 0], ends[k, 1] = ends[e, 0], m
            ends[k + 1, 0], ends[k + 1, 1] = m, ends[e, 1]
            label[k] = label[k + 1] = label[e]
            kid[k] = kid[k + 1] = -1
            at[NV] += 1
            at[NE] += 2
            for i in range(n, c + 1, -1):
                verts[i], edges[i], signs[i] = verts[i - 1], edges[i - 1], signs[i - 1]
            forward = ends[e, 0] == verts[c]
            verts[c + 1], signs[c + 1] = m, 0
            edges[c] = k if forward else k + 1
            edges[c + 1] = k + 1 if forward else k
            n += 1
            c += 1
        c += 1
    return n


@jit
def _push_halves(
    n: int, verts: Array, edges: Array, signs: Array, chord: int, ends: Array, stack: Array, levels: Array, depth: int
) -> None:
    """Replace the region on top of the stack by its halves on either side of the chord."""
    c = 0
    while signs[c] >= 0:
        c += 1
    enter = leave = 0
    entered = False
    for step in range(1, n):  # the zero corner before the positive run, and the one after it
        i = (c + step) % n
        if signs[i] > 0:
            if not entered:
                enter = (i + n - 1) % n
                entered = True
            leave = (i + 1) % n
    ends[chord, 0], ends[chord, 1] = verts[leave], verts[enter]
    top = levels[depth - 1]
    for half in range(2):
        c, stop = (enter, leave) if half == 0 else (leave, enter)
        while c != stop:
            stack[top, 0], stack[top, 1] = verts[c], edges[c]
            top += 1
            c = c + 1 if c + 1 < n else 0
        stack[top, 0], stack[top, 1] = verts[stop], chord
        top += 1
        levels[depth + half] = top


# Where a subdivision stands: region of the input, depth of the stack, number of vertices, edges, corners and regions.
REGION, DEPTH, NV, NE, NC, NR = range(6)


@jit
def subdivide(
    X: Array, Z: Array, pos: Array, neg: Array, tolerance: Array, pairs: Array, labels: Array, ends: Array,
    label: Array, kid: Array, corners: Array, starts: Array, out: tuple[Array, ...], work: tuple[Array, ...], at: Array,
) -> bool:  # fmt: skip
    """Split every region of a complex by every unit of one bend that cuts it; False when some array is full.

    The caller then makes room and calls again: the work resumes where it stopped.

    Parameters
    ----------
    X, Z, pos, neg
        Vertices (V, 2), pre-activations (V, U) and their packed signs (V, W).
    tolerance
        (U,) below which a pre-activation is zero.
    pairs
        (0, 4) for a relu. For a choice each of the U columns is a difference of two candidates i < j of one unit:
        (first column of the unit, K, i, j).
    labels
        (U,) what each column's creases are labelled with.
    ends, label, kid
        Edges: vertex pair (E, 2), label (E,), first of the two halves or -1 (E,).
    corners, starts
        Regions to split: rows (vertex, edge to the next vertex); region r is ``corners[starts[r]:starts[r + 1]]``.
    out
        New regions, the same way: corners (C, 2), starts (R + 1,), the region each is part of (R,), and the units that
        are positive / negative somewhere on it as words (R, W).
    work
        Scratch: stack (S, 2), levels, verts, edges, signs, todo, cut.
    at
        Where the work stands; see above.
    """
    out_corners, out_starts, parent, positive, negative = out
    stack, levels, verts, edges, signs, todo, cut = work
    W = pos.shape[1]
    while at[REGION] < len(starts) - 1 or at[DEPTH] > 0:
        depth = at[DEPTH]
        if depth == 0:
            r = at[REGION]
            size = starts[r + 1] - starts[r]
            if size > len(stack):
                return False
            for c in range(size):
                stack[c, 0], stack[c, 1] = corners[starts[r] + c, 0], corners[starts[r] + c, 1]
            levels[0], levels[1] = 0, size
            at[REGION] += 1
            at[DEPTH] = depth = 1
        nv, nr = at[NV], at[NR]
        if nv + 2 > len(X) or at[NE] + 5 > len(kid) or nr + 2 > len(out_starts) or depth + 3 > len(levels):
            return False
        if len(verts) < nv + 8:  # a region's sides hold at most every vertex
            return False
        lo = levels[depth - 1]
        n = expand(stack, lo, levels[depth], ends, kid, verts, edges, 0, todo)
        if at[NC] + n > len(out_corners) or lo + n + 4 > len(stack):
            return False
        for w in range(W):
            p = _ZERO
            m = _ZERO
            for c in range(n):
                p |= pos[verts[c], w]
                m |= neg[verts[c], w]
            cut[w] = p & m
            positive[nr, w] = p
            negative[nr, w] = m
        u = _pick(cut, W, verts, n, pos, neg, pairs)
        if u < 0:
            for c in range(n):
                out_corners[at[NC] + c, 0], out_corners[at[NC] + c, 1] = verts[c], edges[c]
            parent[nr] = at[REGION] - 1
            at[NC] += n
            at[NR] += 1
            out_starts[at[NR]] = at[NC]
            at[DEPTH] -= 1
        elif _signs_around(verts, n, u, pos, neg, signs) > 2:
            _demote_smallest_run(signs, n, verts, u, Z, pos, neg)
        else:
            n = _cut_sides(u, n, verts, edges, signs, X, Z, pos, neg, tolerance, ends, label, kid, at)
            chord = at[NE]
            label[chord] = labels[u]
            kid[chord] = -1
            at[NE] += 1
            _push_halves(n, verts, edges, signs, chord, ends, stack, levels, depth)
            at[DEPTH] += 1
    return True


@jit
def finish(ends: Array, label: Array, kid: Array, corners: Array, starts: Array) -> tuple[Array, ...]:
    """Drop cut edges: every region with uncut edges only, edges renumbered, and the region on each side of an edge.

    Returns ends (E, 2), label (E,), sides (E, 2) [left and right region of end 0 -> end 1, -1 outside], corner
    vertices, corner edges and starts.
    """
    R = len(starts) - 1
    number = np.full(len(ends), -1, np.int32)
    E = 0
    for e in range(len(ends)):
        if kid[e] < 0:
            number[e] = E
            E += 1
    new_ends = np.empty((E, 2), np.int32)
    new_label = np.empty(E, np.int32)
    sides = np.full((E, 2), -1, np.int32)
    for e in range(len(ends)):
        if number[e] >= 0:
            new_ends[number[e], 0], new_ends[number[e], 1] = ends[e, 0], ends[e, 1]
            new_label[number[e]] = label[e]
    out_v = np.empty(2 * E, np.int32)
    out_e = np.empty(2 * E, np.int32)
    out_starts = np.zeros(R + 1, np.int32)
    todo = np.empty(len(ends) + 1, np.int32)
    n = 0
    for r in range(R):
        k = expand(corners, starts[r], starts[r + 1], ends, kid, out_v, out_e, n, todo)
        k -= n
        for c in range(n, n + k):
            e = number[out_e[c]]
            out_e[c] = e
            sides[e, 0 if new_ends[e, 0] == out_v[c] else 1] = r
        n += k
        out_starts[r + 1] = n
    return new_ends, new_label, sides, out_v, out_e, out_starts
