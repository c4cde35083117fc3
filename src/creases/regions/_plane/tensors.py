"""Subdivision of a planar complex by one bend in tensor operations: the same result as the compiled kernel, on a GPU.

Every edge is cut by all units that change sign along it as soon as it is created. So a unit that cuts a region
enters and leaves it at corners, regions do not depend on each other, and in every round each region that is still cut
is halved along the chord of one of its units: the number of rounds is about the logarithm of the number of cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from creases.regions._plane.patterns import nonzero_bits, pack, pick_bit, set_bits, sign_at

#: Entries of a (rows, units) table that are processed at once.
BLOCK = 2**28


@dataclass
class Rows:
    """A tensor that grows at its end."""

    data: Tensor
    n: int

    @classmethod
    def from_tensor(cls, data: Tensor) -> Rows:
        """Start with the rows of a tensor."""
        return cls(data, len(data))

    @property
    def all(self) -> Tensor:
        """The rows in use."""
        return self.data[: self.n]

    def append(self, rows: Tensor) -> None:
        """Add rows; the capacity is doubled when it is exhausted."""
        if self.n + len(rows) > len(self.data):
            room = self.data.new_empty(max(2 * len(self.data), self.n + len(rows)), *self.data.shape[1:])
            room[: self.n] = self.all
            self.data = room
        self.data[self.n : self.n + len(rows)] = rows
        self.n += len(rows)


@dataclass
class Points:
    """Vertices with position, pre-activations of one bend, and their signs as packed words."""

    X: Rows  #: (V, 2)
    Z: Rows  #: (V, U), exactly 0 where there is no sign
    pos: Rows  #: (V, W)
    neg: Rows  #: (V, W)
    limit: Tensor  #: (U,) below which a pre-activation is zero

    @classmethod
    def from_values(cls, X: Tensor, z: Tensor, limit: Tensor) -> Points:
        """Start with vertices (V, 2) and their pre-activations (V, U)."""
        pos, neg = pack(z > limit), pack(z < -limit)
        return cls(
            Rows.from_tensor(X),
            Rows.from_tensor(torch.where(z.abs() <= limit, 0, z)),
            Rows.from_tensor(pos),
            Rows.from_tensor(neg),
            limit,
        )

    def add_between(self, a: Tensor, b: Tensor, t: Tensor, pos: Tensor, neg: Tensor) -> None:
        """Add vertices at fraction t of the edges a -> b, with their signs."""
        self.X.append(self.X.data[a] + t[:, None] * (self.X.data[b] - self.X.data[a]))
        self.pos.append(pos)
        self.neg.append(neg)
        known, block = self.Z.n, max(1, BLOCK // max(1, self.Z.data.shape[1]))
        for i in range(0, len(a), block):
            p, q, f = a[i : i + block], b[i : i + block], t[i : i + block, None]
            self.Z.append(torch.lerp(self.Z.data[p], self.Z.data[q], f))
        row, unit = nonzero_bits(~(pos | neg))
        inside = unit < self.Z.data.shape[1]  # words have spare bits at the end
        self.Z.data[known + row[inside], unit[inside]] = 0

    def clear(self, vertices: Tensor, unit: int) -> None:
        """Put vertices on a unit's crease."""
        bit = torch.ones((), dtype=torch.int64, device=vertices.device) << (unit & 63)
        for words in (self.pos.data, self.neg.data):
            words[vertices, unit >> 6] &= ~bit
        self.Z.data[vertices, unit] = 0


@dataclass
class Loops:
    """Regions as loops of (vertex, edge to the next vertex)."""

    corners: Tensor  #: (C,)
    edges: Tensor  #: (C,)
    starts: Tensor  #: (R + 1,)

    @property
    def sizes(self) -> Tensor:
        """Number of corners of each region: (R,)."""
        return self.starts.diff()

    def region(self) -> Tensor:
        """Return the region of each corner: (C,)."""
        return torch.repeat_interleave(torch.arange(len(self.sizes), device=self.starts.device), self.sizes)

    def after(self) -> Tensor:
        """Return for each corner the next one around its region: (C,)."""
        after = torch.arange(1, len(self.corners) + 1, device=self.starts.device)
        after[self.starts[1:] - 1] = self.starts[:-1]
        return after

    def select(self, regions: Tensor) -> Loops:
        """Return some of the regions."""
        sizes = self.sizes[regions]
        starts = starts_of(sizes)
        shift = torch.repeat_interleave(self.starts[:-1][regions] - starts[:-1], sizes)
        index = shift + torch.arange(len(shift), device=shift.device)
        return Loops(self.corners[index], self.edges[index], starts)

    def any(self, words: Tensor) -> Tensor:
        """Return the bits set at some corner of each region, from the vertices' words (V, W): (R, W)."""
        bits = words[self.corners]
        left = torch.repeat_interleave(self.starts[1:], self.sizes) - torch.arange(
            len(self.corners), device=self.starts.device
        )  # corners of the region from this one on
        span, longest = 1, int(self.sizes.max())
        while span < longest:  # each round doubles the number of following corners that a corner has combined
            near = (left[: len(left) - span] > span).nonzero()[:, 0]
            bits[near] |= bits[near + span]
            span *= 2
        return bits[self.starts[:-1]]


def starts_of(sizes: Tensor) -> Tensor:
    """Return where runs of given sizes (R,) begin, and the end of the last: (R + 1,)."""
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def concatenate(parts: list[Loops]) -> Loops:
    """Return the regions of all parts, one part after another."""
    sizes = torch.cat([part.sizes for part in parts])
    return Loops(
        torch.cat([part.corners for part in parts]), torch.cat([part.edges for part in parts]), starts_of(sizes)
    )


def cut_edges(points: Points, ends: Rows, label: Rows, loops: Loops, first: int) -> Loops:
    """Cut edges from number ``first`` on where units change sign along them; coinciding crossings become one vertex."""
    a, b = ends.all[first:].T
    e, u = nonzero_bits(_crossing(points, a, b))
    if not len(e):
        return loops
    a, b = a[e], b[e]
    e = e + first
    za, zb = points.Z.all[a, u], points.Z.all[b, u]
    t = za / (za - zb)
    order = torch.argsort(t)
    order = order[torch.argsort(e[order], stable=True)]  # by edge, along the edge
    e, u, t, za, zb = e[order], u[order], t[order], za[order], zb[order]
    same = torch.zeros_like(e, dtype=torch.bool)
    same[1:] = (e[1:] == e[:-1]) & ((za + t.roll(1) * (zb - za))[1:].abs() <= points.limit[u[1:]])
    vertex = (~same).cumsum(0) - 1  # of each crossing, among the new ones
    fresh = (~same).nonzero()[:, 0]
    edge, t = e[fresh], t[fresh]
    a, b = ends.all[edge, 0], ends.all[edge, 1]
    base, known = points.X.n, ends.n
    points.add_between(a, b, t, *_signs_between(points, a, b, edge, e, u, vertex))
    # The edge keeps its first part; vertex k starts edge ``known + k`` to the next vertex, or to the old end.
    number = torch.arange(len(edge), device=e.device)
    following = torch.where(edge == edge.roll(-1), base + number + 1, b)
    following[-1] = b[-1]
    count = torch.bincount(edge, minlength=known)
    start = starts_of(count)[:-1]
    old = ends.all[:, 0].clone()
    ends.append(torch.stack([base + number, following], dim=1))
    label.append(label.all[edge])
    cut = count > 0
    ends.data[:known][cut, 1] = base + start[cut]
    return _expand_edges(loops, old, count, start, base, known)


def _crossing(points: Points, a: Tensor, b: Tensor) -> Tensor:
    """Return the units with strictly different signs at a and b, as words."""
    pos, neg = points.pos.data, points.neg.data
    return (pos[a] & neg[b]) | (neg[a] & pos[b])


def _signs_between(
    points: Points, a: Tensor, b: Tensor, edge: Tensor, e: Tensor, u: Tensor, vertex: Tensor
) -> tuple[Tensor, Tensor]:
    """Return signs at new vertices of edges: those of the ends where they agree, else by order along the edge.

    A unit has the sign of a before its crossing, none on it, and the sign of b after it.
    """
    crossing = _crossing(points, a, b)
    pos = (points.pos.data[a] | points.pos.data[b]) & ~crossing
    neg = (points.neg.data[a] | points.neg.data[b]) & ~crossing
    k, unit = nonzero_bits(crossing)
    width = 64 * crossing.shape[1]
    key, order = torch.sort(e * width + u)
    at = vertex[order[torch.searchsorted(key, edge[k] * width + unit)]]
    end = torch.where(k < at, a[k], b[k])
    sign = torch.where(k == at, 0, sign_at(points.pos.data, points.neg.data, end, unit))
    set_bits(pos, k[sign > 0], unit[sign > 0])
    set_bits(neg, k[sign < 0], unit[sign < 0])
    return pos, neg


def _expand_edges(loops: Loops, first_end: Tensor, count: Tensor, start: Tensor, base: int, known: int) -> Loops:
    """Replace edges of the loops by their parts; edge e has ``count[e]`` new vertices from ``base + start[e]`` on."""
    inside = count[loops.edges]
    sizes = inside + 1
    corner = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
    i = torch.arange(len(corner), device=sizes.device) - starts_of(sizes)[:-1][corner]
    v, e, n = loops.corners[corner], loops.edges[corner], inside[corner]
    forward = first_end[e] == v
    vertex = base + start[e] + torch.where(forward, i - 1, n - i)
    part = torch.where(forward, i - 1, n - 1 - i)
    edges = torch.where(part >= 0, known + start[e] + part, e)
    per_region = torch.zeros_like(loops.sizes).index_add_(0, loops.region(), sizes)
    return Loops(torch.where(i == 0, v, vertex), edges, starts_of(per_region))


def _halves(loops: Loops, s: Tensor, ends: Rows, label: Rows, labels: Tensor) -> tuple[Loops, Tensor]:
    """Return the two halves of every region, all positive ones first, and which regions (R,) could be split.

    A region cannot be split where rounding left more than one run of a sign around it.
    """
    region, after = loops.region(), loops.after()
    before = torch.empty_like(after)
    before[after] = torch.arange(len(after), device=after.device)
    starts_run, ends_run = (s == 0) & (s[after] > 0), (s == 0) & (s[before] > 0)
    runs = torch.bincount(region[starts_run], minlength=len(loops.sizes))
    fine = runs == 1
    good = fine.nonzero()[:, 0]
    loops_fine = loops.select(good)
    keep = fine[region]
    s, region = s[keep], loops_fine.region()
    enter, leave = starts_run[keep].nonzero()[:, 0], ends_run[keep].nonzero()[:, 0]  # one each per region, in order
    known = ends.n
    ends.append(torch.stack([loops_fine.corners[leave], loops_fine.corners[enter]], dim=1))
    label.append(labels[good])
    chord = known + torch.arange(len(good), device=s.device)
    sizes = loops_fine.sizes
    local = torch.arange(len(s), device=s.device)
    halves = []
    for begin, stop in ((enter, leave), (leave, enter)):
        span = (stop - begin) % sizes
        place = (local - begin[region]) % sizes[region]
        members = (place <= span[region]).nonzero()[:, 0]
        target = starts_of(span + 1)
        at = target[:-1][region[members]] + place[members]
        corners, edges = torch.empty_like(at), torch.empty_like(at)
        corners[at] = loops_fine.corners[members]
        edges[at] = torch.where(
            place[members] == span[region[members]], chord[region[members]], loops_fine.edges[members]
        )
        halves.append(Loops(corners, edges, target))
    return concatenate(halves), fine


def subdivide(
    X: Tensor, z: Tensor, limit: Tensor, labels: Tensor, ends: Tensor, label: Tensor, loops: Loops
) -> tuple[Tensor, Tensor, Tensor, Tensor, Loops, Tensor, Tensor]:
    """Split every region by every unit of a relu that cuts it.

    Returns vertices, pre-activations, edges, their labels, regions, the region each is part of, and the units
    positive somewhere on each as words (R, W).
    """
    points = Points.from_values(X, z, limit)
    edges, names = Rows.from_tensor(ends), Rows.from_tensor(label)
    work = cut_edges(points, edges, names, loops, 0)
    parent = torch.arange(len(work.sizes), device=z.device)
    done: list[Loops] = []
    parents: list[Tensor] = []
    positive: list[Tensor] = []
    while len(parent):
        above = work.any(points.pos.data)
        unit = pick_bit(above & work.any(points.neg.data), len(done))
        uncut, cut = (unit < 0).nonzero()[:, 0], (unit >= 0).nonzero()[:, 0]
        done.append(work.select(uncut))
        parents.append(parent[uncut])
        positive.append(above[uncut])
        work, unit, parent = work.select(cut), unit[cut], parent[cut]
        first = edges.n
        s = sign_at(points.pos.data, points.neg.data, work.corners, unit[work.region()])
        halves, fine = _halves(work, s, edges, names, labels[unit])
        rough = (~fine).nonzero()[:, 0]
        loops = work.select(rough)
        for i, u in enumerate(unit[rough].tolist()):  # very rare: more than two sign changes around a convex region
            corners = loops.corners[loops.starts[i] : loops.starts[i + 1]]
            z = points.Z.data[corners, u]
            small = z > 0 if z.max() < -z.min() else z < 0
            points.clear(corners[small], u)  # are rounding: the side with the smaller values becomes zero
        parent = torch.cat([parent[rough], parent[fine], parent[fine]])
        work = cut_edges(points, edges, names, concatenate([work.select(rough), halves]), first)
    return points.X.all, points.Z.all, edges.all, names.all, concatenate(done), torch.cat(parents), torch.cat(positive)
