"""The regions of a network on a line: intervals between breakpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._display import plot
from creases._document import Document, facts
from creases._program import pattern_pieces
from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_index, check_numbers
from creases.errors import InputError
from creases.network import Network, Piece
from creases.regions._archive import Archived
from creases.regions._boundary import output_term_sizes
from creases.regions._line.cuts import Ends, choice_cuts, relu_cuts


@dataclass(frozen=True, eq=False)
class LineClasses:
    """The intervals of a line on which the decision is constant; they need not end at breakpoints."""

    ends: Floats  #: (C + 1,) in t
    classes: Ints  #: (C,)


@dataclass(frozen=True, eq=False)
class LineBoundary:
    """Points of the decision boundary on a line."""

    t: Floats  #: (S,)
    classes: Ints  #: (S, 2) the class before and after
    regions: Ints  #: (S,) the region of each point, the left one at a breakpoint


@dataclass(frozen=True, eq=False, repr=False)
class LinePartition(Archived, OneLine):
    """All k breakpoints on ``x = a + t (b - a)`` and the k + 1 regions between them, as :func:`line` returns them."""

    net: Network
    a: Floats  #: (d,)
    b: Floats  #: (d,)
    infinite: bool  #: whether t runs over all numbers, or from 0 to 1
    breakpoints: Floats  #: (k,) in t, increasing
    unit_ids: Ints  #: units that change side at breakpoint i: unit_ids[unit_starts[i]:unit_starts[i + 1]]
    unit_starts: Ints  #: (k + 1,)
    patterns: NDArray[np.uint8]  #: (k + 1, n_bytes) packed sides on every region
    values: Floats  #: (k, m) outputs at the breakpoints

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.breakpoints) + 1

    @property
    def ends(self) -> Floats:
        """Ends of the regions (k + 2,): region i is from ends[i] to ends[i + 1]."""
        outer = (-np.inf, np.inf) if self.infinite else (0.0, 1.0)
        return np.concatenate([[outer[0]], self.breakpoints, [outer[1]]])

    def describe(self) -> Document:
        """Return how many regions there are, and on what line."""
        about = {
            "regions": f"{self.count:,}",
            "breakpoints": f"{len(self.breakpoints):,}",
            "line": f"x = a + t (b − a), {'all t' if self.infinite else 't from 0 to 1'}",
            "inputs, outputs": f"{self.net.n_in}, {self.net.n_out}",
        }
        return Document("LinePartition", "", [facts("Partition", about.items())], about)

    def units(self, i: int) -> Ints:
        """Return the units that change side at breakpoint i."""
        i = check_index(i, len(self.breakpoints), "i")
        return self.unit_ids[self.unit_starts[i] : self.unit_starts[i + 1]]

    def points(self, t: ArrayLike) -> Floats:
        """Return the inputs (n, d) at parameters t (n,)."""
        return self.a + check_numbers(t, "t").reshape(-1, 1) * (self.b - self.a)

    def pieces(self) -> Piece:
        """Return the network on every region as a function of t: J (k + 1, m, 1), y (k + 1, m), f = J t + y."""
        return pattern_pieces(self.net, self.patterns, self.a, (self.b - self.a)[:, None])

    def locate(self, t: ArrayLike) -> Ints:
        """Return the region (n,) of each parameter t (n,), the right one at a breakpoint; -1 outside the segment."""
        t = check_numbers(t, "t")
        if t.ndim != 1 or np.isnan(t).any():
            raise InputError(
                "t", "have shape (n,) and no NaN", f"shape {t.shape}{' with NaN' if np.isnan(t).any() else ''}"
            )
        ends = self.ends
        region = np.searchsorted(self.breakpoints, t, side="right")
        return np.where((t >= ends[0]) & (t <= ends[-1]), region, -1)

    def classes(self) -> LineClasses:
        """Return the class on every interval: the first largest output, for one output 1 where positive, else 0.

        Exact also where the decision changes inside a region. Where outputs are equal on a whole region the first of
        them decides.
        """
        t, label, _ = self._decisions()
        return LineClasses(np.concatenate([self.ends[:1], t, self.ends[-1:]]), label)

    def boundary(self) -> LineBoundary:
        """Return every t where the decision changes."""
        t, label, region = self._decisions()
        return LineBoundary(t, np.column_stack([label[:-1], label[1:]]), region)

    def _decisions(self) -> tuple[Floats, Ints, Ints]:
        """Return the changes of class: their t (S,), the classes around them (S + 1,), their regions (S,)."""
        t, z, before, after = self._knots()
        if z.shape[1] > 1:  # one choice among m outputs, or one sign
            z = z[:, None]
            before, after = (None if dz is None else dz[None] for dz in (before, after))
        rays = [None if dz is None else (dz, np.full_like(dz, np.abs(dz).max())) for dz in (before, after)]
        weights, size = np.abs(z).reshape(len(z), -1).max(axis=1), np.ones(z.shape[1:])
        if not self.infinite:  # relative to the terms; far out on an infinite line, to the values
            weights, size = np.ones(len(z)), output_term_sizes(self.net, self.points(t)).reshape(z.shape[1:])
        ends = Ends(t, z, weights, size, *rays)
        cuts = relu_cuts(ends) if z.ndim == 2 else choice_cuts(ends)
        # Every interval starts with its first class, then come its cuts; empty intervals go, equal neighbors join.
        starts = np.concatenate([[-np.inf], t]) if self.infinite else t[:-1]
        where = np.concatenate([starts, cuts.t])
        label = np.concatenate([cuts.first[:, 0].astype(np.int64), cuts.new])
        interval = np.concatenate([np.arange(len(starts)), cuts.interval])
        region = np.concatenate([np.arange(len(starts)) - 1, cuts.interval])  # a start is the end of the region before
        order = np.lexsort((np.arange(len(where)), where, interval))
        order = order[np.append(where[order][1:] != where[order][:-1], True)]
        where, label, region = where[order], label[order], region[order]
        change = np.flatnonzero(label[1:] != label[:-1]) + 1
        last = np.append(change, len(label)) - 1
        return where[change], label[last], np.minimum(region[change], self.count - 1)

    def _knots(self) -> tuple[Floats, Floats, Floats | None, Floats | None]:
        """Return knots, the outputs there, and the slopes beyond the ends of an infinite line."""
        if not self.infinite:
            outer = self.net(self.points([0.0, 1.0])).reshape(2, -1)
            return self.ends, np.concatenate([outer[:1], self.values, outer[1:]]), None, None
        J, y = self.pieces()
        if self.count > 1:
            return self.breakpoints, self.values, -J[0, :, 0], J[-1, :, 0]
        return np.zeros(1), y, -J[0, :, 0], J[0, :, 0]

    def plot(self, ax: Any = None) -> Any:
        """Plot the network along the line with its breakpoints; see :func:`creases.show.plot_line`."""
        return plot(self, ax=ax)
