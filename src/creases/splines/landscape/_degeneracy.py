"""Where the Gram part of the Hessian loses rank beyond the gauge, why, and which units are responsible.

The gradients of a unit with ``v != 0`` span ``{a_i, x a_i}``, a its slopes at the data: two dimensions, so rank
``2 H + 1`` (one more with a skip) is the most, and the other eigenvalues are the gauge's zeros. Units only tell data
apart by the gap between data in which they break. With k such gaps in use, all functions constant on the k + 1 pieces
are spanned; modulo these, ``x a_i`` is the row of a's values on the pieces with two different data or more. The rank is
``(k + 1) + rank(M)``, M those rows (a row of ones more for a skip), and rank(M) is a count too: rows that change at
different places are independent, and two at one place span the row of ones as well unless they are proportional.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from creases._typing import Floats
from creases._validation import check_column
from creases.errors import InputError
from creases.splines._residuals import check_overflow, unit_values
from creases.splines._spline import Shallow

Kind = Literal[
    "no input weight",  # w = 0: a constant, or nothing
    "none active",  # sees no datum
    "no output weight",  # v = 0: where it breaks does not matter
    "shared pattern",  # sees the same data as another
    "complementary patterns",  # sees the data that another does not
    "all active",  # sees all data: its bias is the output's
    "single datum",  # one of its pieces has one datum, through which the line may turn
]


@dataclass(frozen=True)
class Degeneracy:
    """Zero eigenvalues of the Gram matrix beyond the gauge, with one cause."""

    kind: Kind
    units: tuple[int, ...]  #: the unit that adds less than two dimensions, after those before it that are in its way
    extra: int  #: how many


def degeneracies(net: Shallow, x: Any) -> tuple[Degeneracy, ...]:
    """Each cause of zero eigenvalues beyond the gauge, at a network and inputs x (N,).

    Units are taken in turn, those with ``v != 0`` first; each is asked which of its two dimensions are new, so the
    ``extra`` add up to what the rank is short of, exactly. (For units with v = 0 alone this is decided in float64:
    their one vector, phi, may lie in what the others span.)

    >>> net = Shallow([1.0, 1.0, -1.0], [0.0, 0.1, 9.0], [1.0, 1.0, 1.0])
    >>> [(found.kind, found.units, found.extra) for found in degeneracies(net, [-2.0, -1.0, 1.0, 2.0])]
    [('shared pattern', (0, 1), 2), ('all active', (2,), 1)]
    """
    x = np.unique(check_column(x, "x"))
    if not len(x):
        raise InputError("x: expected at least one datum, got none")
    rows = _Rows(net, x)
    found = [] if rows.line or net.c1 == 0 else [Degeneracy("single datum", (), 1)]  # one datum shows no slope
    found += [rows.take(i) for i in np.flatnonzero(net.v != 0).tolist()]
    found += _without_output(net, x, rows)
    return tuple(one for one in found if one.extra)


def gram_rank(net: Shallow, x: Any) -> int:
    """Rank of the Gram part of the Hessian, and of the tangent kernel at x (N,): see the module."""
    most = 2 * net.width + (2 if net.c1 != 0 else 1)
    return most - sum(one.extra for one in degeneracies(net, x))


class _Rows:
    """What the units taken so far span: places where they break, and whether the row of ones is among them."""

    def __init__(self, net: Shallow, x: Floats) -> None:
        self.net, self.n = net, len(x)
        with np.errstate(over="ignore"):
            self.on = net.w[:, None] * x + net.b[:, None] > 0  # (H, n)
        self.count = self.on.sum(axis=1)
        bends = (self.count > 0) & (self.count < self.n) & (net.leak != 1)
        self.gap = np.where(bends, np.where(self.on[:, -1], self.n - self.count, self.count), 0)  # 0: none
        cuts = np.unique(np.concatenate([[0], self.gap[net.v != 0], [self.n]]))
        big = np.diff(cuts) > 1  # pieces with two data or more
        self.big = int(big.sum())
        self.column = dict(zip(cuts.tolist(), np.concatenate([[0], np.cumsum(big)]).tolist(), strict=True))
        self.line = net.c1 != 0 and self.big > 0  # whether ones is spanned: a skip is a row of ones
        self.gaps: dict[int, list[int]] = {}  # units by gap
        self.columns: dict[int, list[int]] = {}  # units by where their row of M changes
        self.whole: list[int] = []  # units that see all data
        self.slopes = [np.ones(len(x))] if self.line else []  # slopes of a at the data, of the units whose row was new

    def take(self, i: int) -> Degeneracy:
        """Take unit i (v != 0) in, and say what it adds less than two dimensions for."""
        gap, before = int(self.gap[i]), self.gaps.get(int(self.gap[i]), [])
        level = int(gap > 0 and not before)  # a new function that is constant on the pieces
        slope, rivals = self._slope(i, gap)
        if slope:
            self.slopes.append(np.where(self.on[i], 1.0, self.net.leak[i]))
        twins = [j for j in (before if gap else self.whole) if (self.on[j] == self.on[i]).all()]
        if gap:
            self.gaps.setdefault(gap, []).append(i)
        elif self.count[i] == self.n:
            self.whole.append(i)
        kind: Kind
        others: list[int]
        if self.net.w[i] == 0:
            kind, others = "no input weight", []
        elif self.count[i] == 0:
            kind, others = "none active", []
        elif twins:
            kind, others = "shared pattern", twins[:1]
        elif before:
            kind, others = "complementary patterns", before[:1]
        elif not gap:
            kind, others = "all active", []
        else:
            kind, others = "single datum", rivals
        return Degeneracy(kind, (*others, i), 2 - level - slope)

    def _slope(self, i: int, gap: int) -> tuple[int, list[int]]:
        """Whether the row of ``x a_i`` is new, and the units before it whose rows change where it does."""
        left, right = self._values(i)
        column = self.column[gap]
        if gap and 0 < column < self.big:
            rivals = list(self.columns.setdefault(column, []))
            self.columns[column].append(i)
            if not rivals:
                return 1, []
            first, last = self._values(rivals[0])
            if self.line or left * last == right * first:
                return 0, rivals
        else:
            rivals = []
            level = left if gap and column == self.big else right
            if self.line or level == 0 or self.big == 0:
                return 0, rivals
        self.line = True
        return 1, rivals

    def _values(self, i: int) -> tuple[float, float]:
        """Slopes of unit i's bend left and right of its gap; equal where it has none."""
        leak = float(self.net.leak[i])
        return 1.0 if self.on[i, 0] else leak, 1.0 if self.on[i, -1] else leak


def _without_output(net: Shallow, x: Floats, rows: _Rows) -> list[Degeneracy]:
    """Units with v = 0: each adds its phi, if that is new to what is spanned, and no second dimension."""
    silent = np.flatnonzero(net.v == 0)
    if not len(silent):
        return []
    basis = _basis(x, rows)
    units = unit_values(net, x)[1]
    check_overflow("net", units[silent])
    found = []
    for i in silent.tolist():
        phi = units[i] / (np.linalg.norm(units[i]) or 1.0)
        rest = phi - basis @ (basis.T @ phi)
        rest -= basis @ (basis.T @ rest)
        new = float(np.linalg.norm(rest)) > 1e-10
        if new:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
        kind: Kind = "no output weight"
        if net.w[i] == 0:
            kind = "no input weight"
        elif rows.count[i] == 0:
            kind = "none active"
        found.append(Degeneracy(kind, (i,), 1 if new else 2))
    return found


def _basis(x: Floats, rows: _Rows) -> Floats:
    """Orthonormal columns (n, r) that span what the units with v != 0, the bias and the skip do.

    Piece by piece: constants, and x about the piece's middle, which the new rows of M combine.
    """
    cuts = sorted(rows.column)
    inner = x.copy()
    levels = np.zeros((len(x), len(cuts) - 1))
    for p, (start, stop) in enumerate(pairwise(cuts)):
        inner[start:stop] -= x[start:stop].mean()
        levels[start:stop, p] = (stop - start) ** -0.5
    slopes = np.array([row * inner for row in rows.slopes]).reshape(-1, len(x)).T
    return np.column_stack([levels, np.linalg.qr(slopes)[0]])
