"""Subdivision of a planar complex by one bend in tensor operations: the same result as the compiled kernel, on a GPU.

First every edge is cut by all units that change sign along it; then all regions are independent of each other, and in
round j every region that its parent's j-th unit cuts is split, all of them at once. An edge inside a parent is cut by one
unit a round, so both its sides meet the same vertex.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: Entries of a (rows, units) table that are looked at in one go.
BLOCK = 2**29


@dataclass
class Rows:
    """A tensor that grows at its end."""

    data: Tensor
    n: int

    @classmethod
    def of(cls, data: Tensor) -> Rows:
        return cls(data, len(data))

    @property
    def all(self) -> Tensor:
        return self.data[: self.n]

    def append(self, rows: Tensor) -> None:
        if self.n + len(rows) > len(self.data):
            room = self.data.new_empty(max(2 * len(self.data), self.n + len(rows)), *self.data.shape[1:])
            room[: self.n] = self.all
            self.data = room
        self.data[self.n : self.n + len(rows)] = rows
        self.n += len(rows)


@dataclass
class Points:
    """Vertices with position, pre-activations and signs of one bend."""

    X: Rows  #: (V, 2)
    Z: Rows  #: (V, U)
    S: Rows  #: (V, U) int8
    limit: Tensor  #: (U,) below which a pre-activation is zero

    def add_between(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:
        """Vertices at fraction t of the edges a -> b, signs by the ends where these agree, else by value; their signs."""
        t = t[:, None]
        self.X.append(self.X.all[a] + t * (self.X.all[b] - self.X.all[a]))
        za, zb, sa, sb = self.Z.all[a], self.Z.all[b], self.S.all[a], self.S.all[b]
        z = za + t * (zb - za)
        by_value = signs_of(z, self.limit)
        s = torch.where(sa * sb < 0, by_value, torch.sign(sa + sb))
        self.Z.append(torch.where(s == 0, 0, z))
        self.S.append(s)
        return self.S.data[self.S.n - len(s) : self.S.n]

    def clear(self, vertices: Tensor, units: Tensor) -> None:
        """Put vertices on their units' creases."""
        self.S.data[vertices, units] = 0
        self.Z.data[vertices, units] = 0


@dataclass
class Loops:
    """Regions as loops of (vertex, edge to the next vertex)."""

    corners: Tensor  #: (C,)
    edges: Tensor  #: (C,)
    starts: Tensor  #: (R + 1,)

    @property
    def sizes(self) -> Tensor:
        return self.starts.diff()

    def region(self) -> Tensor:
        """Region of each corner: (C,)."""
        return torch.repeat_interleave(torch.arange(len(self.sizes), device=self.starts.device), self.sizes)

    def after(self) -> Tensor:
        """For each corner the next one around its region: (C,)."""
        after = torch.arange(1, len(self.corners) + 1, device=self.starts.device)
        after[self.starts[1:] - 1] = self.starts[:-1]
        return after

    def take(self, regions: Tensor) -> Loops:
        """Some of the regions."""
        sizes = self.sizes[regions]
        index = spread(self.starts[:-1][regions], sizes)
        return Loops(self.corners[index], self.edges[index], starts_of(sizes))


def signs_of(z: Tensor, limit: Tensor) -> Tensor:
    return (z > limit).to(torch.int8) - (z < -limit).to(torch.int8)


def starts_of(sizes: Tensor) -> Tensor:
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def spread(first: Tensor, sizes: Tensor) -> Tensor:
    """first[0], first[0] + 1, ... (sizes[0] of them), first[1], ..."""
    shift = first - starts_of(sizes)[:-1]
    return torch.repeat_interleave(shift, sizes) + torch.arange(int(sizes.sum()), device=first.device)


def joined(parts: list[Loops]) -> Loops:
    sizes = torch.cat([part.sizes for part in parts])
    return Loops(
        torch.cat([part.corners for part in parts]), torch.cat([part.edges for part in parts]), starts_of(sizes)
    )


def seen(loops: Loops, S: Tensor, sign: int) -> Tensor:
    """Units that have a sign at some corner of each region: (R, U) bool."""
    sizes = loops.sizes
    found = torch.zeros(len(sizes), S.shape[1], dtype=torch.bool, device=S.device)
    block = max(1, BLOCK // max(1, S.shape[1]))
    for rank in range(int(sizes.max())):
        has = (sizes > rank).nonzero()[:, 0]
        for part in has.split(block):
            found[part] |= S[loops.corners[loops.starts[part] + rank]] == sign
    return found


def cut_edges(points: Points, ends: Rows, label: Rows, loops: Loops) -> Loops:
    """Cut every edge where a unit changes sign along it; crossings that coincide become one vertex."""
    e, u = _crossings(points.S.all, ends.all)
    if not len(e):
        return loops
    za, zb = points.Z.all[ends.all[e, 0], u], points.Z.all[ends.all[e, 1], u]
    t = za / (za - zb)
    order = torch.argsort(t)
    order = order[torch.argsort(e[order], stable=True)]  # by edge, along the edge
    e, u, t, za, zb = e[order], u[order], t[order], za[order], zb[order]
    same = torch.zeros_like(e, dtype=torch.bool)
    same[1:] = (e[1:] == e[:-1]) & ((za + t.roll(1) * (zb - za))[1:].abs() <= points.limit[u[1:]])
    vertex = (~same).cumsum(0) - 1  # of each crossing, among the new ones
    first = (~same).nonzero()[:, 0]
    edge, t = e[first], t[first]
    a, b = ends.all[edge, 0], ends.all[edge, 1]
    base, known = points.X.n, ends.n
    sa, sb = points.S.all[a], points.S.all[b]
    S = points.add_between(a, b, t)
    _order_signs(S, sa, sb, edge, e, u, vertex)
    points.Z.data[base : points.Z.n][S == 0] = 0
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
    return _expanded(loops, old, count, start, base, known)


def _crossings(S: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Edges and units with strictly different signs at the ends, in the order of (edge, unit)."""
    block = max(1, BLOCK // max(1, S.shape[1]))
    found = [torch.zeros(0, 2, dtype=torch.int64, device=S.device)]
    for start in range(0, len(ends), block):
        a, b = ends[start : start + block].T
        hits = (S[a] * S[b] < 0).nonzero()
        hits[:, 0] += start
        found.append(hits)
    pairs = torch.cat(found)
    return pairs[:, 0], pairs[:, 1]


def _order_signs(S: Tensor, sa: Tensor, sb: Tensor, edge: Tensor, e: Tensor, u: Tensor, vertex: Tensor) -> None:
    """Signs at the new vertices of an edge by their order along it, not by value: before a unit's crossing, on it, after."""
    units = S.shape[1]
    key, order = torch.sort(e * units + u)
    k, unit = (sa * sb < 0).nonzero().T
    at = vertex[order[torch.searchsorted(key, edge[k] * units + unit)]]
    S[k, unit] = torch.where(k < at, sa[k, unit], torch.where(k > at, sb[k, unit], 0))


def _expanded(loops: Loops, first_end: Tensor, count: Tensor, start: Tensor, base: int, known: int) -> Loops:
    """Loops with every edge replaced by its parts. Edge e has ``count[e]`` new vertices from ``base + start[e]`` on."""
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


def split_round(points: Points, ends: Rows, label: Rows, loops: Loops, unit: Tensor, labels: Tensor) -> tuple[Loops, Tensor]:
    """Split every region that its unit (R,) cuts; returns the regions and which one each came from."""
    region = loops.region()
    s = points.S.all[loops.corners, unit[region]]
    plus = torch.zeros_like(unit).index_add_(0, region, (s > 0).long())
    minus = torch.zeros_like(unit).index_add_(0, region, (s < 0).long())
    whole = ((plus == 0) | (minus == 0)).nonzero()[:, 0]
    halved = ((plus > 0) & (minus > 0)).nonzero()[:, 0]
    if not len(halved):
        return loops, torch.arange(len(unit), device=unit.device)
    part, s = _cut_sides(points, ends, label, loops.take(halved), unit[halved])
    halves, fine = _halves(part, s, ends, label, labels[unit[halved]])
    _demote(points, loops.take(halved[~fine]), unit[halved[~fine]])
    kept = torch.cat([whole, halved[~fine]])
    rest = joined([loops.take(whole), part.take((~fine).nonzero()[:, 0])])
    source = halved[fine]
    return joined([rest, halves]), torch.cat([kept, source, source])


def _cut_sides(points: Points, ends: Rows, label: Rows, loops: Loops, unit: Tensor) -> tuple[Loops, Tensor]:
    """Cut the sides of regions where their unit changes sign; the loops with the new corners, and the signs there."""
    region = loops.region()
    s = points.S.all[loops.corners, unit[region]]
    crossing = (s * s[loops.after()] < 0).nonzero()[:, 0]
    edge, which = torch.unique(loops.edges[crossing], return_inverse=True)
    u = torch.empty_like(edge)
    u[which] = unit[region[crossing]]
    a, b = ends.all[edge, 0], ends.all[edge, 1]
    za, zb = points.Z.all[a, u], points.Z.all[b, u]
    base, known = points.X.n, ends.n
    points.add_between(a, b, za / (za - zb))
    number = torch.arange(len(edge), device=edge.device)
    points.clear(base + number, u)
    first_end = ends.all[:, 0].clone()
    count = torch.zeros(known, dtype=torch.int64, device=edge.device)
    count[edge] = 1
    start = torch.zeros_like(count)
    start[edge] = number
    ends.append(torch.stack([base + number, b], dim=1))
    label.append(label.all[edge])
    ends.data[edge, 1] = base + number
    cut = _expanded(loops, first_end, count, start, base, known)
    return cut, points.S.all[cut.corners, unit[cut.region()]]


def _halves(loops: Loops, s: Tensor, ends: Rows, label: Rows, labels: Tensor) -> tuple[Loops, Tensor]:
    """The two halves of every region, all positive ones first, and which regions (R,) could be split.

    A region cannot be split where rounding left more than one run of a sign around it.
    """
    region, after = loops.region(), loops.after()
    before = torch.empty_like(after)
    before[after] = torch.arange(len(after), device=after.device)
    starts_run, ends_run = (s == 0) & (s[after] > 0), (s == 0) & (s[before] > 0)
    runs = torch.zeros_like(loops.sizes).index_add_(0, region, starts_run.long())
    fine = runs == 1
    good = fine.nonzero()[:, 0]
    loops_fine = loops.take(good)
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
        mine = (place <= span[region]).nonzero()[:, 0]
        target = starts_of(span + 1)
        at = target[:-1][region[mine]] + place[mine]
        corners, edges = torch.empty_like(at), torch.empty_like(at)
        corners[at] = loops_fine.corners[mine]
        edges[at] = torch.where(place[mine] == span[region[mine]], chord[region[mine]], loops_fine.edges[mine])
        halves.append(Loops(corners, edges, target))
    return joined(halves), fine


def _demote(points: Points, loops: Loops, unit: Tensor) -> None:
    """More than two sign changes around a convex region are rounding: the side with the smaller values becomes zero."""
    if not len(unit):
        return
    region = loops.region()
    u = unit[region]
    z = points.Z.all[loops.corners, u]
    low = torch.zeros(len(unit), dtype=z.dtype, device=z.device).index_reduce_(0, region, -z, "amax")
    high = torch.zeros(len(unit), dtype=z.dtype, device=z.device).index_reduce_(0, region, z, "amax")
    small = torch.where((high < low)[region], z > 0, z < 0)
    points.clear(loops.corners[small], u[small])


def subdivide(
    X: Tensor, z: Tensor, limit: Tensor, labels: Tensor, ends: Tensor, label: Tensor, loops: Loops
) -> tuple[Tensor, Tensor, Tensor, Tensor, Loops, Tensor, Tensor]:
    """Split every region by every unit of a relu that cuts it.

    Returns vertices, pre-activations, edges, their labels, regions, the region each came from, and the units positive
    somewhere on each (R, U).
    """
    s = signs_of(z, limit)
    points = Points(Rows.of(X), Rows.of(torch.where(s == 0, 0, z)), Rows.of(s), limit)
    edges, names = Rows.of(ends), Rows.of(label)
    loops = cut_edges(points, edges, names, loops)
    cuts = seen(loops, points.S.all, 1) & seen(loops, points.S.all, -1)
    number = cuts.sum(dim=1)
    units, first = cuts.nonzero()[:, 1], starts_of(number)[:-1]
    idle = (number == 0).nonzero()[:, 0]
    done, parents = [loops.take(idle)], [idle]
    parent = (number > 0).nonzero()[:, 0]
    work = loops.take(parent)
    turn = 0
    while len(parent):
        work, source = split_round(points, edges, names, work, units[first[parent] + turn], labels)
        parent = parent[source]
        turn += 1
        finished = number[parent] == turn
        over, on = finished.nonzero()[:, 0], (~finished).nonzero()[:, 0]
        done.append(work.take(over))
        parents.append(parent[over])
        work, parent = work.take(on), parent[on]
    result = joined(done)
    positive = seen(result, points.S.all, 1)
    return points.X.all, points.Z.all, edges.all, names.all, result, torch.cat(parents), positive
