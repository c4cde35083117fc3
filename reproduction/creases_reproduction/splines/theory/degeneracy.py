"""The rank of the Gram part of the Hessian: where it is deficient beyond the gauge, why, and due to which units.

The gradients of a unit with ``v != 0`` span ``{a_i, x a_i}``, where a are its slopes at the samples: two dimensions, so
the rank is at most ``2 H + 1`` (one more with a skip), and the other eigenvalues are the zeros of the gauge. Units
differ only by the gap between samples that contains their breakpoint. If k gaps contain one, all functions constant on
the k + 1 pieces are spanned; modulo these, ``x a_i`` is the row of the values of a on the pieces with at least two
different samples. The rank is ``(k + 1) + rank(M)``, where M are those rows (and a row of ones for a skip), and rank(M)
is a count too: rows that change at different places are independent, and two that change at the same place span the row
of ones as well unless they are proportional.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from creases._typing import Floats
from creases._validation import check_column
from creases.errors import InputError
from creases.splines import Shallow
from creases_reproduction.splines.theory.residuals import check_overflow, unit_values

Kind = Literal[
    "no input weight",  # w = 0: a constant, or zero
    "none active",  # active on no sample
    "no output weight",  # v = 0: its breakpoint does not matter
    "shared pattern",  # active on the same samples as another
    "complementary patterns",  # active where another is not
    "all active",  # active on all samples: its bias is the output's
    "single sample",  # one of its pieces has a single sample, about which the line can turn
]


@dataclass(frozen=True)
class Degeneracy:
    """Zero eigenvalues of the Gram matrix beyond the gauge that have a common cause."""

    kind: Kind
    units: tuple[int, ...]  #: the unit that adds less than two dimensions, preceded by the units that already span them
    extra: int  #: number of zero eigenvalues


def degeneracies(net: Shallow, x: Any) -> tuple[Degeneracy, ...]:
    """Return the causes of zero eigenvalues beyond the gauge, for a network and inputs x (N,).

    Units are processed in turn, those with ``v != 0`` first; each either adds two new dimensions or is reported, so the
    ``extra`` add up to the rank deficiency exactly. (Only for units with v = 0 is this decided in floating point:
    whether their vector phi lies in the span of the others.)

    Examples
    --------
    >>> net = Shallow([1.0, 1.0, -1.0], [0.0, 0.1, 9.0], [1.0, 1.0, 1.0])
    >>> [(each.kind, each.units, each.extra) for each in degeneracies(net, [-2.0, -1.0, 1.0, 2.0])]
    [('shared pattern', (0, 1), 2), ('all active', (2,), 1)]
    """
    x = np.unique(check_column(x, "x"))
    if not len(x):
        raise InputError("x", "have at least one sample", "none")
    rows = _Span(net, x)
    causes = [] if rows.line or net.c1 == 0 else [Degeneracy("single sample", (), 1)]  # a single sample has no slope
    causes += [rows.add(i) for i in np.flatnonzero(net.v != 0).tolist()]
    causes += _without_output(net, x, rows)
    return tuple(cause for cause in causes if cause.extra)


def gram_rank(net: Shallow, x: Any) -> int:
    """Return the rank of the Gram part of the Hessian, which is that of the tangent kernel, at x (N,)."""
    max_rank = 2 * net.width + (2 if net.c1 != 0 else 1)
    return max_rank - sum(cause.extra for cause in degeneracies(net, x))


class _Span:
    """The span of the units added so far: their gaps, and whether it contains the row of ones."""

    def __init__(self, net: Shallow, x: Floats) -> None:
        self.net, self.n = net, len(x)
        with np.errstate(over="ignore"):
            self.on = net.w[:, None] * x + net.b[:, None] > 0  # (H, n)
        self.count = self.on.sum(axis=1)
        bends = (self.count > 0) & (self.count < self.n) & (net.leak != 1)
        self.gap = np.where(bends, np.where(self.on[:, -1], self.n - self.count, self.count), 0)  # 0: none
        cuts = np.unique(np.concatenate([[0], self.gap[net.v != 0], [self.n]]))
        big = np.diff(cuts) > 1  # pieces with at least two samples
        self.big = int(big.sum())
        self.column = dict(zip(cuts.tolist(), np.concatenate([[0], np.cumsum(big)]).tolist(), strict=True))
        self.line = net.c1 != 0 and self.big > 0  # whether the row of ones is spanned: a skip is one
        self.gaps: dict[int, list[int]] = {}  # units by gap
        self.columns: dict[int, list[int]] = {}  # units by where their row of M changes
        self.all_active: list[int] = []  # units active on all samples
        self.slopes = [np.ones(len(x))] if self.line else []  # slopes at the samples of the units whose row was new

    def add(self, i: int) -> Degeneracy:
        """Add unit i (v != 0) and return why it adds less than two dimensions, if it does."""
        gap, before = int(self.gap[i]), self.gaps.get(int(self.gap[i]), [])
        level = int(gap > 0 and not before)  # whether it adds a function that is constant on the pieces
        slope, rivals = self._slope(i, gap)
        if slope:
            self.slopes.append(np.where(self.on[i], 1.0, self.net.leak[i]))
        twins = [j for j in (before if gap else self.all_active) if (self.on[j] == self.on[i]).all()]
        if gap:
            self.gaps.setdefault(gap, []).append(i)
        elif self.count[i] == self.n:
            self.all_active.append(i)
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
            kind, others = "single sample", rivals
        return Degeneracy(kind, (*others, i), 2 - level - slope)

    def _slope(self, i: int, gap: int) -> tuple[int, list[int]]:
        """Return whether the row of ``x a_i`` is new, and the earlier units whose rows change at the same place."""
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
        """Return the slopes of unit i left and right of its gap; equal if it has none."""
        leak = float(self.net.leak[i])
        return 1.0 if self.on[i, 0] else leak, 1.0 if self.on[i, -1] else leak


def _without_output(net: Shallow, x: Floats, rows: _Span) -> list[Degeneracy]:
    """Return the degeneracies of units with v = 0: each adds its phi, if that is new, and no second dimension."""
    silent = np.flatnonzero(net.v == 0)
    if not len(silent):
        return []
    basis = _basis(x, rows)
    units = unit_values(net, x)[1]
    check_overflow("net", units[silent])
    causes = []
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
        causes.append(Degeneracy(kind, (i,), 1 if new else 2))
    return causes


def _basis(x: Floats, rows: _Span) -> Floats:
    """Return orthonormal columns (n, r) with the span of the units with v != 0, the bias and the skip.

    On each piece they are constants, and x about the middle of the piece, combined by the new rows of M.
    """
    cuts = sorted(rows.column)
    inner = x.copy()
    levels = np.zeros((len(x), len(cuts) - 1))
    for p, (start, stop) in enumerate(pairwise(cuts)):
        inner[start:stop] -= x[start:stop].mean()
        levels[start:stop, p] = (stop - start) ** -0.5
    slopes = np.array([row * inner for row in rows.slopes]).reshape(-1, len(x)).T
    return np.column_stack([levels, np.linalg.qr(slopes)[0]])
