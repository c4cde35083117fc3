"""Compiled: boxes of nodes shrink to where known sides of units hold and rows can reach 0 (numba)."""

from __future__ import annotations

import numpy as np

from creases._compiled import jit
from creases._typing import Bools, Floats, Ints
from creases.certify.proofs._rounding import TINY, UNIT

#: Widens what a division gives, relative to the numbers in it: far more than it rounds.
LOOSE = 1e-13

#: The unit of rounding of a chord, with room.
CHORD = 8 * UNIT

#: The most rounds, and by how much of a side a box must shrink for another.
ROUNDS, SHRINK = 30, 0.05


@jit
def shrink_boxes(
    low: Floats,
    high: Floats,
    sides: Ints,
    starts: Ints,
    columns: Ints,
    entries: Floats,
    units: Floats,
    F: Floats,
    L: Floats,
    rows: Floats,
    gamma: float,
) -> tuple[Bools, Bools]:
    """Shrink boxes (b, n) in place; return which are empty (b,), and which have shrunk (b,).

    Parameters
    ----------
    sides
        (b, m): -1 not known, 0 off, 1 on.
    starts, columns, entries
        The matrix of what enters the units, by rows: (m + 1,), and the columns and entries of each row.
    units
        (3, m): constants of what enters units, its errors, and leaks.
    F, L, rows
        (k, m), (k, n) and (2, k): rows of what leaves the units and of the input, their constants and their errors.
    gamma
        The relative error of a sum.
    """
    b, n = low.shape
    k, m = F.shape
    is_empty, has_shrunk = np.zeros(b, np.bool_), np.zeros(b, np.bool_)
    z_low, z_high, above, over, least = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    cap_low, cap_high, G = np.empty(m), np.empty(m), np.empty(n)
    new_low, new_high, margin = np.empty(n), np.empty(n), np.empty(n)
    c, slack, leak = units[0], units[1], units[2]
    for node in range(b):
        lo, hi = low[node], high[node]
        for _ in range(ROUNDS):
            for j in range(m):
                least_z, most_z = c[j] - slack[j], c[j] + slack[j]
                for e in range(starts[j], starts[j + 1]):
                    a, i = entries[e], columns[e]
                    if a > 0:
                        least_z += a * lo[i]
                        most_z += a * hi[i]
                    else:
                        least_z += a * hi[i]
                        most_z += a * lo[i]
                z_low[j], z_high[j] = least_z, most_z
                side = sides[node, j]
                cap_low[j] = 0.0 if side == 1 else -np.inf
                cap_high[j] = 0.0 if side == 0 else np.inf
                if side == 0 or most_z <= 0:
                    above[j], over[j], least[j] = leak[j], 0.0, leak[j]
                elif side == 1 or least_z >= 0:
                    above[j], over[j], least[j] = 1.0, 0.0, 1.0
                else:
                    chord = (most_z - leak[j] * least_z) / (most_z - least_z)
                    at_low, at_high = leak[j] * least_z - chord * least_z, most_z - chord * most_z
                    size = abs(leak[j] * least_z) + abs(chord * least_z) + abs(most_z) + abs(chord * most_z)
                    above[j], over[j], least[j] = chord, max(at_low, at_high) + CHORD * size + TINY, leak[j]
            for i in range(n):
                new_low[i], new_high[i] = lo[i], hi[i]
                margin[i] = LOOSE * (abs(lo[i]) + abs(hi[i])) + TINY
            for r in range(k):
                for i in range(n):
                    G[i] = L[r, i]
                top, error = rows[0, r], rows[1, r]
                for j in range(m):
                    w = F[r, j]
                    if w == 0:
                        continue
                    q = w * (above[j] if w > 0 else least[j])
                    if w > 0:
                        top += w * over[j]
                        error += gamma * abs(w * over[j])
                    top += q * c[j]
                    error += abs(q) * slack[j]
                    for e in range(starts[j], starts[j + 1]):
                        G[columns[e]] += q * entries[e]
                for i in range(n):
                    top += max(G[i] * lo[i], G[i] * hi[i])
                top += 1.01 * error + TINY
                if top < 0:
                    is_empty[node] = True
                    break
                top *= 1 + LOOSE
                for i in range(n):
                    if G[i] > 0:
                        new_low[i] = max(new_low[i], hi[i] - top / G[i] * (1 + LOOSE) - margin[i])
                    elif G[i] < 0:
                        new_high[i] = min(new_high[i], lo[i] - top / G[i] * (1 + LOOSE) + margin[i])
                for j in range(m):
                    # h - leak z, which the bound leaves out, is at most what is above 0: so is (1 - leak) z.
                    if F[r, j] < 0 and least[j] == leak[j]:
                        cap_high[j] = min(cap_high[j], top / ((1 - leak[j]) * -F[r, j]) * (1 + LOOSE))
            if is_empty[node]:
                break
            for j in range(m):
                up, down = cap_high[j] - (z_low[j] - 2 * slack[j]), (z_high[j] + 2 * slack[j]) - cap_low[j]
                if up < 0 or down < 0:
                    is_empty[node] = True
                    break
                for e in range(starts[j], starts[j + 1]):
                    a, i = entries[e], columns[e]
                    rise, fall = (up / a, down / a) if a > 0 else (down / -a, up / -a)
                    new_high[i] = min(new_high[i], lo[i] + rise * (1 + LOOSE) + margin[i])
                    new_low[i] = max(new_low[i], hi[i] - fall * (1 + LOOSE) - margin[i])
            if is_empty[node]:
                break
            goes_on = False
            for i in range(n):
                if new_low[i] > new_high[i]:
                    is_empty[node] = True
                width = hi[i] - lo[i]
                if width - (new_high[i] - new_low[i]) > SHRINK * width:
                    goes_on = True
                lo[i], hi[i] = new_low[i], new_high[i]
            if is_empty[node] or not goes_on:
                break
            has_shrunk[node] = True
    return is_empty, has_shrunk
