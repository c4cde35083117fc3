"""All breakpoints of a network on a line, exactly.

Bend by bend: the knots found so far cut the line into intervals on which everything up to this bend is affine; the
network's own values at the knots give the sign of every pre-activation there, and between knots of different sign
lies a new one. Beyond the outermost knots of a whole line, values go on with the derivative of the outermost sides.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import memory_limit, pack_sides, propagate, unit_of_bit
from creases._schema import BOOL
from creases._text import plural
from creases._typing import Floats, Ints, Progress
from creases._validation import check_arguments, check_finite, check_points
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.regions._line.cuts import Cuts, Ends, Sides, choice_cuts, relu_cuts
from creases.regions._line.partition import LinePartition
from creases.regions._locate import Pair, Ray, is_zero
from creases.regions._polytope import check_point
from creases.regions._resources import MemoryLimit
from creases.regions._tolerance import EPS


class LineForwardPass:
    """Runs points (n, n_in) up to one bend after another; ``extend`` adds points at the current bend.

    Every point has a weight, about its distance from the origin; the terms of a value are at most ``weight * size``,
    with one size for all points.
    """

    def __init__(self, net: Network, points: Tensor, weights: Tensor, min_size: Tensor | None = None) -> None:
        self.net = net
        self.weights = weights  #: (n,)
        #: Lower bound (*shape) of the size of the next values: the slope beyond the last points of an infinite line.
        self.min_size = None if min_size is None else min_size.reshape(net.input_shape)
        self._bend = -1
        self._next = 0
        self._relu_sizes: dict[int, Tensor] = {}  # of every relu passed, the size of its pre-activations
        x = points.reshape(-1, *net.input_shape)
        self._values: dict[int, Pair] = {0: (x, self._size(x))}

    def advance(self) -> Pair | None:
        """Go to the next bend: its pre-activations (n, *shape) and their size (*shape); None at the network's end."""
        self._bend += 1
        last = self._bend == len(self.net.bends)
        stop = len(self.net.steps) if last else self.net.bends[self._bend]
        self._values = propagate(self.net, self._values, self._step, self._next, stop)
        self._next = stop
        if last:
            return None
        z, size = self._values[self.net.steps[stop].inputs[0]]
        return z, size[0]

    def part(self, start: int, stop: int) -> LineForwardPass:
        """Return a pass at the same bend with points ``start`` to ``stop`` only."""
        other = copy(self)
        other.weights = self.weights[start:stop]
        other._values = {key: (z[start:stop], size) for key, (z, size) in self._values.items()}
        return other

    def extend(self, points: Tensor, weights: Tensor, place: Tensor) -> None:
        """Add points (k, n_in), run up to the current bend; ``place`` (n + k,): where each goes, old ones first."""
        start = points.reshape(-1, *self.net.input_shape)
        new = propagate(self.net, {0: start}, lambda i, inputs: self._value(i, inputs, weights), 0, self._next)
        self._values = {key: (_merge(z, new[key], place), size) for key, (z, size) in self._values.items()}
        self.weights = _merge(self.weights, weights, place)

    def _step(self, i: int, inputs: list[Pair]) -> Pair:
        """Return step i at all points, and the size of its terms."""
        step = self.net.steps[i]
        sizes = [size for _, size in inputs]
        if step.op == "relu":
            self._relu_sizes[i] = sizes[0]
        out = self._value(i, [z for z, _ in inputs], self.weights)
        return out, self._size(out) if step.is_bend else step.magnitude(sizes)

    def _value(self, i: int, inputs: list[Tensor], weights: Tensor) -> Tensor:
        """Return step i at points with given weights; values within the tolerance become zero before a relu."""
        step = self.net.steps[i]
        if step.op == "relu":
            z = inputs[0]
            inputs = [torch.where(is_zero(z, self._relu_sizes[i] * _column(weights, z)), 0, z)]
        return step.apply(inputs)

    def _size(self, values: Tensor) -> Tensor:
        size = (values.abs() / _column(self.weights, values)).amax(dim=0)
        return (size if self.min_size is None else torch.maximum(size, self.min_size))[None]


def _column(weights: Tensor, values: Tensor) -> Tensor:
    return weights.reshape(-1, *(1,) * (values.ndim - 1))


def _merge(old: Tensor, new: Tensor, place: Tensor) -> Tensor:
    out = torch.empty(len(old) + len(new), *old.shape[1:], dtype=old.dtype, device=old.device)
    out[place[: len(old)]] = old
    out[place[len(old) :]] = new
    return out


@check_arguments(infinite=BOOL)
def line(
    net: NetworkLike,
    a: Any,
    b: Any,
    *,
    infinite: bool = False,
    max_memory: float | None = None,
    progress: Progress | None = None,
) -> LinePartition:
    """Return all breakpoints of a network on the segment from a to b, or on the whole line through them.

    Matrix products use as many threads as torch does, with the same result.

    Parameters
    ----------
    net
        A network, torch module or file name; the geometry is in float64.
    a, b
        Two different points, in the model's input shape or flattened: ``x = a + t (b - a)``.
    infinite
        False: t from 0 to 1. True: all t.
    max_memory
        About how many bytes the work may hold; no limit by default. Beyond it :class:`creases.errors.LimitError` says
        how many breakpoints there were.
    progress
        Called with the number of breakpoints so far, after every bend; in large networks, after every bend of a stretch
        of the line. An exception raised by it ends the computation.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [1.0]], [0.0, -1.0]), ([[1.0, -2.0]], [0.0])])  # relu(x) - 2 relu(x - 1)
    >>> creases.line(net, [-1.0], [3.0]).breakpoints.tolist()
    [0.25, 0.5]
    """
    net = as_network(net)
    start, stop = check_point(net, a, "a"), check_point(net, b, "b")
    direction = stop - start
    if not direction.any():
        raise InputError("b", "differ from a", "the same point")
    if not np.isfinite(direction).all():
        raise InputError("b", "be closer to a", "a distance that overflows float64")
    work = net.to(torch.float64)
    limit = MemoryLimit(max_memory, "choose points that are closer together")
    with torch.no_grad():
        ends = np.zeros(1) if infinite else np.array([0.0, 1.0])
        t, patterns = trace(Track(work, start, direction, limit), ends, infinite, progress)
    changed = np.flatnonzero((patterns[1:] != patterns[:-1]).any(axis=1))
    inner = t if infinite else t[1:-1]
    keep = np.append(0, changed + 1)  # the interval after each breakpoint, and the first
    ids, starts = _changing_units(work, patterns, changed)
    breakpoints = inner[changed]
    values = work(start + breakpoints[:, None] * direction).reshape(len(breakpoints), net.n_out)
    return LinePartition(work, start, stop, infinite, breakpoints, ids, starts, patterns[keep], values)


def trace(
    track: Track, t: Floats, infinite: bool = False, progress: Progress | None = None
) -> tuple[Floats, NDArray[np.uint8]]:
    """Return knots, those given among them, and the pattern of every interval; a knot need not be a breakpoint."""
    given = len(t)
    net, before, after, slope = track.net, None, None, None
    if infinite:
        direction = torch.from_numpy(track.direction).to(net.device)
        before, after, slope = Ray(net, -direction), Ray(net, direction), direction.abs()
    todo = [_Part(t, LineForwardPass(net, *track.points(t), slope), before, after, [])]
    done: list[tuple[Floats, NDArray[np.uint8]]] = []
    while todo:
        part = todo.pop()
        pair = part.forward.advance()
        if pair is None:
            done.append((part.t, part.patterns(net)))
            continue
        _refine(track, part, pair)
        todo.extend(reversed(part.split(track.limit)))
        knots = sum(len(t) - 1 for t, _ in done) + sum(len(part.t) - 1 for part in todo) + 1  # neighbors share one
        held = sum(t.nbytes + patterns.nbytes for t, patterns in done) + sum(len(part.t) for part in todo) * track.bytes
        track.memory.check(held, plural(knots - given, "breakpoint"))
        if progress is not None:
            progress("finding breakpoints", knots - given, None)
    ts, patterns = zip(*done, strict=True)
    ends = [slice(None)] + [slice(1, None)] * (len(done) - 1)  # neighbors share a knot
    return np.concatenate([t[cut] for t, cut in zip(ts, ends, strict=True)]), np.concatenate(patterns)


class Track:
    """The line: its points, their weights, the resolution of t, and how many knots fit in memory."""

    def __init__(self, net: Network, start: Floats, direction: Floats, memory: MemoryLimit | None = None) -> None:
        self.net, self.start, self.direction = net, start, direction
        self.memory = memory or MemoryLimit(None, "")
        self.coarse = np.abs(start).max() / np.abs(direction).max()  # t below EPS times this does not move x
        self.bytes = 6 * 8 * max(net.sizes) + 4 * net.n_units  # held for a knot
        self.limit = max(64, self.memory.block(memory_limit()) // self.bytes)

    def inputs(self, t: Floats) -> Floats:
        """Return inputs (n, n_in)."""
        return np.asarray(self.start + t[:, None] * self.direction)

    def weights(self, t: Floats) -> Floats:
        """Return the weights (n,) of inputs: about their distance from the start."""
        return np.asarray(1 + np.abs(t))

    def points(self, t: Floats) -> Pair:
        """Return inputs (n, n_in) and their weights (n,) as tensors."""
        x, weights = (torch.from_numpy(values).to(self.net.device) for values in (self.inputs(t), self.weights(t)))
        return x, weights

    def drop_gaps(self, t: Floats, cuts: Cuts) -> Cuts:
        """Return the cuts that are asked for, of all that there are between the knots t."""
        return cuts

    def resolution(self, t: Floats) -> Floats:
        """Return the smallest change of t that moves x, at each t."""
        return np.asarray(4 * EPS * (self.coarse + np.abs(t)))


@dataclass
class _Part:
    """A stretch of the line at one bend: its knots, their forward pass, and the sides on its intervals so far."""

    t: Floats
    forward: LineForwardPass
    before: Ray | None
    after: Ray | None
    sides: list[tuple[Sides, Ints]]  # of each bend: sides (I', U), and which of them each interval has

    def patterns(self, net: Network) -> NDArray[np.uint8]:
        """Return the packed patterns of all intervals."""
        count = len(self.t) - 1 + (self.before is not None) + (self.after is not None)
        blocks = []
        for rows in np.array_split(np.arange(count), 1 + count * net.n_units // 10**8):
            parts = [np.zeros((len(rows), 0), np.int8), *(sides[which[rows]] for sides, which in self.sides)]
            blocks.append(pack_sides(net, np.concatenate(parts, axis=1)))
        return np.concatenate(blocks)

    def split(self, limit: int) -> list[_Part]:
        """Return the same in stretches of at most ``limit`` knots, so that values at the knots fit in memory."""
        n = len(self.t)
        if n <= limit:
            return [self]
        cuts = np.linspace(0, n - 1, 2 + n // limit).astype(int)
        lead, parts = int(self.before is not None), []
        for i, j in pairwise(cuts):
            before, after = (self.before if i == 0 else None), (self.after if j == n - 1 else None)
            rows = slice(0 if before else i + lead, None if after else j + lead)
            sides = [(side, which[rows]) for side, which in self.sides]
            parts.append(_Part(self.t[i : j + 1], self.forward.part(i, j + 1), before, after, sides))
        return parts


def _refine(track: Track, part: _Part, pair: Pair) -> None:
    """Cut a stretch at the creases of the current bend, and record the sides."""
    bend = len(part.sides)
    step, K = track.net.steps[track.net.bends[bend]], track.net.candidates[bend]
    shape = (-1,) if step.op == "relu" else (-1, K)
    rays = [None if ray is None else ray.advance() for ray in (part.before, part.after)]
    before, after = (ray if ray is None else (_array(ray[0], *shape), _array(ray[1], *shape)) for ray in rays)
    n = len(part.t)
    ends = Ends(part.t, _array(pair[0], n, *shape), track.weights(part.t), _array(pair[1], *shape), before, after)
    cuts = track.drop_gaps(part.t, relu_cuts(ends) if step.op == "relu" else choice_cuts(ends))
    lead = int(part.before is not None)
    knot, new = _new_knots(track, part, cuts)
    t = np.concatenate([part.t, new])
    order = np.argsort(t, kind="stable")
    place = np.empty(len(t), np.int64)
    place[order] = np.arange(len(t))
    if len(new):
        part.forward.extend(*track.points(new), torch.from_numpy(place).to(track.net.device))
        part.t = t[order]
        parent = np.cumsum(order < n) - 1 + lead  # of the interval to the right of each knot
        parent = np.concatenate([np.zeros(lead, np.int64), parent if part.after is not None else parent[:-1]])
        part.sides = [(sides, which[parent]) for sides, which in part.sides]
    else:
        parent = np.arange(len(cuts.first))
    sides = _sides(cuts, parent, place[knot] + lead)
    part.sides.append((sides, np.arange(len(sides))))
    part.forward.min_size = None
    for ray, row in ((part.before, 0), (part.after, -1)):
        if ray is not None:
            kind = torch.bool if step.op == "relu" else torch.int64
            slope = ray.pass_bend(
                torch.from_numpy(sides[row].copy()).to(track.net.device, kind).reshape(step.shape)
            ).abs()
            part.forward.min_size = (
                slope if part.forward.min_size is None else torch.maximum(slope, part.forward.min_size)
            )


def _array(values: torch.Tensor, *shape: int) -> Floats:
    array: Floats = values.cpu().numpy().reshape(shape)
    return array


def _new_knots(track: Track, part: _Part, cuts: Cuts) -> tuple[Ints, Floats]:
    """Return the knot of each cut, an old or a new one, and the new knots; cuts that coincide share a knot."""
    n, lead = len(part.t), int(part.before is not None)
    knot = np.empty(len(cuts.t), np.int64)
    left, right = cuts.interval - lead, cuts.interval - lead + 1  # knots at the ends of the interval; -1 and n: no end
    fine = track.resolution(cuts.t)
    at_left = (left >= 0) & (cuts.t <= part.t[np.maximum(left, 0)] + fine)
    at_right = (right < n) & (cuts.t >= part.t[np.minimum(right, n - 1)] - fine)
    knot[at_right], knot[at_left] = right[at_right], left[at_left]
    rest = np.flatnonzero(~at_left & ~at_right)
    rest = rest[np.lexsort((cuts.t[rest], cuts.interval[rest]))]
    t, slack = cuts.t[rest], cuts.slack[rest]
    near = np.maximum(np.minimum(slack[1:], slack[:-1]), fine[rest][1:])
    apart = (np.diff(t) > near) | (np.diff(cuts.interval[rest]) != 0)
    start = np.append(True, apart)[: len(rest)]
    knot[rest] = n + np.cumsum(start) - 1
    return knot, t[start]


def _sides(cuts: Cuts, parent: Ints, place: Ints) -> Sides:
    """Return sides (I, U) on the new intervals: the parent's first side, changed at each cut up to the parent's end."""
    sides = cuts.first[parent]
    change = np.zeros((len(parent) + 1, sides.shape[1]), sides.dtype)
    step = (cuts.new - cuts.old).astype(sides.dtype)
    np.add.at(change, (place, cuts.unit), step)
    np.subtract.at(change, (np.searchsorted(parent, cuts.interval, side="right"), cuts.unit), step)
    np.cumsum(change, axis=0, out=change)
    sides += change[:-1]
    return sides


def _changing_units(net: Network, patterns: NDArray[np.uint8], changed: Ints) -> tuple[Ints, Ints]:
    """Return the units that change side at each breakpoint, as (ids, starts)."""
    different = patterns[changed] ^ patterns[changed + 1]
    row, byte = np.nonzero(different)
    which, bit = np.nonzero(np.unpackbits(different[row, byte][:, None], axis=1, bitorder="little"))
    unit = unit_of_bit(net)[8 * byte[which] + bit]
    pairs = np.unique(np.column_stack([row[which], unit]), axis=0)  # a choice has several bits
    counts = np.bincount(pairs[:, 0], minlength=len(changed))
    return pairs[:, 1], np.append(0, np.cumsum(counts))


#: Segments in one path: more would take digits from t, which counts them.
CHUNK = 256


@dataclass(frozen=True, eq=False)
class Polylines:
    """A network along n segments, as :func:`lines` returns it: between two knots of a segment it is affine.

    The knots of segment i are ``starts[i]`` to ``starts[i + 1]``: its ends and, between them, its breakpoints.
    """

    t: Floats  #: (K,) from 0 to 1 in each segment, increasing
    values: Floats  #: (K, m) outputs at the knots
    starts: Ints  #: (n + 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def segment(self) -> Ints:
        """The segment (K,) of each knot."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


class _Path(Track):
    """The segments as one path: vertex k is at ``t = k``."""

    def __init__(self, net: Network, vertices: Floats, memory: MemoryLimit) -> None:
        self.vertices, self.steps = vertices, np.diff(vertices, axis=0)
        longest = int(np.abs(self.steps).max(axis=1).argmax())
        super().__init__(net, vertices[longest], self.steps[longest], memory)

    def inputs(self, t: Floats) -> Floats:
        k = np.minimum(t.astype(np.int64), len(self.steps) - 1)
        share = (t - k)[:, None]
        return np.asarray((1 - share) * self.vertices[k] + share * self.vertices[k + 1])

    def weights(self, t: Floats) -> Floats:
        return np.ones(len(t))

    def drop_gaps(self, t: Floats, cuts: Cuts) -> Cuts:
        keep = np.floor(t[cuts.interval]) % 2 == 0  # from an odd vertex on the path leads to the next segment
        return Cuts(cuts.first, *(entries[keep] for entries in cuts[1:]))


def lines(
    net: NetworkLike, A: Any, B: Any, *, max_memory: float | None = None, progress: Progress | None = None
) -> Polylines:
    """Return a network along many segments, each with its breakpoints.

    As exact as :func:`line`, and much faster than one call for each.

    Parameters
    ----------
    net
        A network, torch module or file name; the geometry is in float64.
    A, B
        (n, d) first and second ends: ``x = a + t (b - a)``, t from 0 to 1.
    max_memory
        About how many bytes the work may hold; no limit by default. Beyond it :class:`creases.errors.LimitError` says
        how many segments, or breakpoints of the segments in work, there were.
    progress
        Called with the number of segments that are done, and of all. An exception raised by it ends the computation.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # relu(x0 + x1)
    >>> curves = creases.regions.lines(net, [[-1, 0], [-1, 0.5]], [[1, 0], [1, 0.5]])
    >>> curves.t.tolist(), curves.starts.tolist()
    ([0.0, 0.5, 1.0, 0.0, 0.25, 1.0], [0, 3, 6])
    """
    net = as_network(net).to(torch.float64)
    first, second = check_points(A, net.n_in, "A"), check_points(B, net.n_in, "B")
    for ends, name in ((first, "A"), (second, "B")):
        check_finite(ends, name)
    if len(first) != len(second):
        raise InputError("B", f"have {plural(len(first), 'row')}, as A", f"{len(second)}")
    limit = MemoryLimit(max_memory, "pass fewer segments")
    per_knot = 8 * (2 + 2 * net.n_in + net.n_out)  # t, its segment, the input twice (parts are joined) and the output
    parts, knots = [], 0
    for k in range(0, len(first), CHUNK):
        limit.check(per_knot * knots, plural(k, "segment"))
        parts.append(_trace_chunk(net, first[k : k + CHUNK], second[k : k + CHUNK], limit))
        knots += len(parts[-1][0])
        if progress is not None:
            progress("following segments", min(k + CHUNK, len(first)), len(first))
    limit.check(per_knot * knots, plural(len(first), "segment"))
    empty = (np.zeros(0), np.zeros((0, net.n_in)), np.zeros(0, np.int64))
    t, x, counts = (np.concatenate(arrays) for arrays in zip(empty, *parts, strict=True))
    values = np.asarray(net(x)).reshape(len(x), net.n_out)
    return Polylines(t, values, np.append(0, np.cumsum(counts)).astype(np.int64))


def _trace_chunk(net: Network, A: Floats, B: Floats, limit: MemoryLimit) -> tuple[Floats, Floats, Ints]:
    """Return the knots of some segments: t (K,), the inputs there (K, d), and how many each segment has (n,)."""
    n = len(A)
    reverse = np.arange(n) % 2 == 1
    ends = np.stack([np.where(reverse[:, None], B, A), np.where(reverse[:, None], A, B)], axis=1)
    vertices = ends.reshape(2 * n, -1)
    knots, changes = np.arange(2.0 * n), np.zeros(2 * n, bool)
    if net.n_units and np.ptp(vertices, axis=0).any():
        with torch.no_grad():
            knots, patterns = trace(_Path(net, vertices, limit), knots)
        changes = np.zeros(len(knots), bool)
        changes[1:-1] = (patterns[1:] != patterns[:-1]).any(axis=1)
    is_vertex = knots == np.floor(knots)
    segment = np.minimum(knots.astype(np.int64) // 2, n - 1)
    inside = (knots - 2 * segment) <= 1
    keep = np.flatnonzero(inside & (is_vertex | changes))
    segment, local = segment[keep], knots[keep] - 2 * segment[keep]
    local = np.where(reverse[segment], 1 - local, local)
    order = np.lexsort((local, segment))
    t, segment = local[order], segment[order]
    x = (1 - t)[:, None] * A[segment] + t[:, None] * B[segment]
    return t, x, np.bincount(segment, minlength=n)
