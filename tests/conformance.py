"""Properties of every partition: it tiles the box, its pieces agree with the network, neighbors differ.

Lengths are measured with the box mapped to the unit square (cube, interval), values against the size of the terms they
are sums of, so that one set of tolerances holds for all scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull
from torch import Tensor

from creases.network._network import Network

Array = NDArray[np.float64]

LENGTH = 1e-9  #: of the box's side: rounding of a vertex, generously
VALUE = 1e-10  #: of the terms' size: rounding of a value


# -- the network itself -----------------------------------------------------------------------------------------------


def run(net: Network, x: Array) -> tuple[list[tuple[Array, Array]], Array, Array]:
    """Return pre-activations and their term sizes at points (n, d): [(z, size)] for each bend, then for the output.

    z is (n, units) or (n, units, K); a size is the sum of the magnitudes of all terms that make up a value.
    """
    net = net.to(torch.float64)
    start = torch.from_numpy(np.ascontiguousarray(x)).reshape(len(x), *net.input_shape)
    values: list[Tensor] = [start]
    sizes: list[Tensor] = [start.abs()]
    bends = []
    for step in net.steps:
        z, size = [values[i] for i in step.inputs], [sizes[i] for i in step.inputs]
        values.append(step.apply(z))
        if step.is_bend:
            bends.append((_units(step.op, z[0]), _units(step.op, size[0])))
            slope = 1.0 if step.leak is None else step.leak.abs().clamp(min=1)
            sizes.append(size[0].amax(-1) if step.op == "choice" else size[0] * slope)
        else:
            tensors = {k: t.abs() for k, t in step.tensors.items()}
            options = {k: [1] * len(v) if k == "signs" else v for k, v in step.options.items()}
            sizes.append(replace(step, tensors=tensors, options=options).apply(size))
    return bends, values[-1].flatten(1).numpy(), sizes[-1].flatten(1).numpy()


def _units(op: str, z: Tensor) -> Array:
    out: Array = (z.flatten(1, -2) if op == "choice" else z.flatten(1)).numpy()
    return out


def assert_sides(net: Network, sides: NDArray[np.integer[Any]], x: Array) -> None:
    """Check that sides (n, n_units) are those of the network at x (n, d), except where rounding leaves them open."""
    for start, stop, (z, size) in _by_bend(net, run(net, x)[0]):
        given = sides[:, start:stop]
        if z.ndim == 3:  # the chosen candidate is the largest, and the first of those equal to it
            chosen = np.take_along_axis(z, given[..., None].astype(np.int64), axis=-1)[..., 0]
            assert (chosen >= z.max(-1) - VALUE * size.max(-1)).all(), "a choice is not the largest candidate"
            continue
        clear = np.abs(z) > VALUE * size
        wrong = clear & ((z > 0) != (given == 1))
        assert not wrong.any(), f"sides differ from the network's at {wrong.sum()} of {clear.sum()} places"


def _by_bend(net: Network, bends: list[Any]) -> Iterator[tuple[int, int, Any]]:
    for i, bend in enumerate(bends):
        yield int(net.unit_starts[i]), int(net.unit_starts[i + 1]), bend


def assert_pieces(net: Network, J: Array, y: Array, regions: NDArray[np.integer[Any]], t: Array, x: Array) -> None:
    """Check that the pieces of the regions, at t (n, k) of the slice, equal the network at x (n, d)."""
    _, value, size = run(net, x)
    piece = np.einsum("nmk,nk->nm", J[regions], t) + y[regions]
    error = np.abs(piece - value) / np.maximum(size.max(initial=0), np.finfo(float).tiny)
    assert error.max(initial=0) <= VALUE, f"a piece differs from the network by {error.max()} of its size"


def assert_patterns_differ(sides: NDArray[np.integer[Any]]) -> None:
    assert len(np.unique(sides, axis=0)) == len(sides), "two regions have the same pattern"


# -- the plane --------------------------------------------------------------------------------------------------------


def check_plane(part: Any, rng: np.random.Generator, *, points: int = 200) -> None:
    """Check that a ``PlanePartition`` tiles its box with convex polygons, with the right pieces."""
    box = np.asarray(part.box, dtype=np.float64)
    unit = (part.vertices - box[:, 0]) / (box[:, 1] - box[:, 0])  # the box as the unit square
    _check_polygons(part, unit)
    _check_edges(part, unit)
    sides = part.net.unpack(part.patterns).astype(np.int64)
    assert sides.shape == (part.count, part.net.n_units)
    assert_patterns_differ(sides)
    _check_creases(part, sides)
    _check_plane_pieces(part, sides, rng, points)


def _loops(part: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for every corner of every region: the region, the corner, the next corner."""
    starts = np.asarray(part.starts, dtype=np.int64)
    lengths = np.diff(starts)
    here = np.asarray(part.corners, dtype=np.int64)
    following = np.arange(1, len(here) + 1)
    following[starts[1:] - 1] = starts[:-1]
    return np.repeat(np.arange(len(lengths)), lengths), here, here[following]


def _check_polygons(part: Any, unit: Array) -> None:
    """Check that polygons are counter-clockwise, convex up to rounding, and that their areas sum to the box's."""
    assert part.count == len(part.starts) - 1 == len(part.patterns)
    assert part.count >= 1
    assert np.diff(part.starts).min() >= 3, "a region has fewer than three corners"
    assert unit.min() >= -LENGTH, "a vertex is outside the box"
    assert unit.max() <= 1 + LENGTH, "a vertex is outside the box"
    region, here, following = _loops(part)
    a, b = unit[here], unit[following]
    doubled = np.bincount(region, a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], minlength=part.count)
    assert doubled.min() > -(LENGTH**1.5), "a region is not counter-clockwise"
    assert abs(doubled.sum() / 2 - 1) <= 1e-9, f"areas sum to {doubled.sum() / 2} of the box"
    sizes = np.prod(np.diff(part.box, axis=1))
    assert np.allclose(part.areas(), doubled / 2 * sizes, rtol=1e-9, atol=1e-12 * sizes)
    before = np.empty_like(here)  # the side that ends in each corner
    before[_after(part)] = np.arange(len(here))
    u, v = (b - a)[before], b - a
    longest = np.maximum(np.hypot(*u.T), np.hypot(*v.T))
    turn = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    assert (turn >= -LENGTH * longest).all(), "a region is not convex"


def _after(part: Any) -> NDArray[np.int64]:
    following = np.arange(1, len(part.corners) + 1)
    following[np.asarray(part.starts[1:]) - 1] = part.starts[:-1]
    return following


def _check_edges(part: Any, unit: Array) -> None:
    """Check that every edge is a side of one region on its left and one on its right, and V - E + R = 1."""
    V, E = len(part.vertices), len(part.edges)
    assert part.edge_units.shape == (E,)
    assert part.edge_regions.shape == (E, 2)
    edges, regions = np.asarray(part.edges, np.int64), np.asarray(part.edge_regions, np.int64)
    assert V - E + part.count == 1, f"V - E + R = {V} - {E} + {part.count}, not 1"
    assert len(np.unique(edges)) == V == edges.max() + 1, "a vertex has no edge"
    region, here, following = _loops(part)
    from_left = np.column_stack([edges, regions[:, 0]])
    from_right = np.column_stack([edges[:, ::-1], regions[:, 1]])
    told = np.concatenate([from_left, from_right])
    told = told[told[:, 2] >= 0]
    found = np.column_stack([here, following, region])
    assert np.array_equal(np.unique(told, axis=0), np.unique(found, axis=0)), "edges and sides of regions differ"
    assert len(told) == len(found) == len(np.unique(found, axis=0)), "a side of a region is there twice"
    outer = (regions < 0).any(axis=1)
    assert (outer == (part.edge_units < 0)).all(), "an edge has no unit inside the box, or one on the box's side"
    assert (regions[:, 0] != regions[:, 1]).all(), "an edge has the same region on both sides"
    ends = unit[edges[outer]]  # (n, 2 ends, 2)
    on_side = (np.abs(ends) <= LENGTH).all(axis=1) | (np.abs(ends - 1) <= LENGTH).all(axis=1)
    assert on_side.any(axis=1).all(), "an edge with one region is not on the box's side"


def _check_creases(part: Any, sides: NDArray[np.int64]) -> None:
    """Check that across every inner edge its unit changes side, and is zero on the edge itself."""
    inner = np.flatnonzero(part.edge_units >= 0)
    if not len(inner):
        return
    units = np.asarray(part.edge_units[inner], np.int64)
    left, right = (sides[part.edge_regions[inner, i], units] for i in (0, 1))
    assert (left != right).all(), "an edge's unit has the same side on both sides"
    middle = part.vertices[part.edges[inner]].mean(axis=1)
    rows = np.arange(len(inner))
    corners = np.array([[x, y] for x in part.box[0] for y in part.box[1]])
    everywhere = part.origin + np.concatenate([middle, corners]) @ part.basis.T
    for start, stop, (z, size) in _by_bend(part.net, run(part.net, everywhere)[0]):
        here = (units >= start) & (units < stop)
        at, unit = rows[here], units[here] - start
        most = size.max(axis=0)  # over the whole box: a vertex may be wrong by rounding of the box's size
        if z.ndim == 3:
            gap = z[at, unit, left[here]] - z[at, unit, right[here]]
            terms = most[unit].max(-1)
        else:
            gap, terms = z[at, unit], most[unit]
        assert (np.abs(gap) <= LENGTH * terms).all(), "an edge is not on its unit's crease"


def _check_plane_pieces(part: Any, sides: NDArray[np.int64], rng: np.random.Generator, points: int) -> None:
    """Check the pattern inside every region, and ``locate`` with the piece anywhere in the box."""
    net, box = part.net, np.asarray(part.box, dtype=np.float64)

    def lift(t: Array) -> Array:
        return np.asarray(part.origin + t @ part.basis.T)

    region, here, _ = _loops(part)
    for _ in range(2):  # random inner points: convex combinations of all corners, none with a small share
        share = rng.uniform(0.5, 1.5, len(here))
        share /= np.bincount(region, share)[region]
        t = np.column_stack([np.bincount(region, share * part.vertices[here, i]) for i in (0, 1)])
        assert_sides(net, sides, lift(t))
    J, y = (np.asarray(a) for a in part.pieces())
    assert J.shape == (part.count, net.n_out, 2)
    assert y.shape == (part.count, net.n_out)
    t = rng.uniform(box[:, 0], box[:, 1], (points, 2))
    found = part.locate(t)
    assert found.shape == (points,)
    assert found.min() >= 0, "locate finds no region at a point of the box"
    assert_pieces(net, J, y, found, t, lift(t))
    far = box[:, 1] + (box[:, 1] - box[:, 0]) * rng.uniform(0.1, 2, (3, 2))
    assert (part.locate(far) == -1).all(), "locate finds a region outside the box"
    t = part.vertices[here]  # every region's piece at its corners, so that neighbors agree on their common edge
    assert_pieces(net, J, y, region, t, lift(t))
    _, value, size = run(net, lift(part.vertices))
    assert np.abs(part.values - value).max() <= VALUE * max(size.max(), np.finfo(float).tiny)


# -- space ------------------------------------------------------------------------------------------------------------


def check_space(part: Any, rng: np.random.Generator, *, points: int = 200) -> None:
    """Check that a complete ``SpacePartition`` fills its box with convex polytopes, with the right pieces.

    One made without vertices is held to its patterns, pairs and pieces alone.
    """
    assert part.complete
    assert part.ended == ""
    net, box = part.net, np.asarray(part.box, dtype=np.float64)
    sides = part.net.unpack(part.patterns).astype(np.int64)
    assert sides.shape == (part.count, net.n_units)
    assert part.count >= 1
    assert_patterns_differ(sides)
    assert_sides(net, sides, np.asarray(part.inner))
    _check_pairs(part, sides)
    J, y = (np.asarray(a) for a in part.pieces())
    assert J.shape == (part.count, net.n_out, net.n_in)
    x = rng.uniform(box[:, 0], box[:, 1], (points, len(box)))
    found = part.locate(x)
    assert found.min() >= 0, "locate finds no region at a point of the box"
    assert_pieces(net, J, y, found, x, x)
    far = box[:, 1] + (box[:, 1] - box[:, 0]) * rng.uniform(0.1, 2, (3, len(box)))
    assert (part.locate(far) == -1).all(), "locate finds a region outside the box"
    if len(part.vertices):
        _check_polytopes(part)
        _check_space_vertices(part, sides, rng, J, y)


def _check_pairs(part: Any, sides: NDArray[np.int64]) -> None:
    """Check that across every shared facet its unit changes side, and that facets connect all regions."""
    a, b = np.asarray(part.pairs, np.int64).reshape(-1, 2).T
    assert (a != b).all(), "a region is its own neighbor"
    assert len(np.unique(np.sort(part.pairs, axis=1), axis=0)) == len(a), "two regions share two facets"
    assert (sides[a, part.facet_units] != sides[b, part.facet_units]).all(), "a facet's unit has one side across it"
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(part.count, part.count))
    assert connected_components(graph)[0] == 1, "neighbors do not lead from every region to every other"


def _check_polytopes(part: Any) -> None:
    """Check that volumes sum to the box's and equal those of the corners' hulls; the faces satisfy Euler's relation."""
    box = np.asarray(part.box, dtype=np.float64)
    whole = float(np.prod(box[:, 1] - box[:, 0]))
    unit = (part.vertices - box[:, 0]) / (box[:, 1] - box[:, 0])
    assert unit.min() >= -LENGTH, "a vertex is outside the box"
    assert unit.max() <= 1 + LENGTH, "a vertex is outside the box"
    volumes = part.volumes() / whole
    assert volumes.min() > -1e-12
    assert abs(volumes.sum() - 1) <= 1e-9, f"volumes sum to {volumes.sum()} of the box"
    faces = part.f_vector()
    assert faces[0] == len(part.vertices)
    assert faces[-1] == part.count
    assert sum((-1) ** k * f for k, f in enumerate(faces)) == 1, f"Euler's relation does not hold for {faces}"
    inner = np.asarray(part.creases) >= 0
    assert inner.sum() == len(part.pairs), "a facet inside the box has not two regions"
    for region in range(min(part.count, 60)):
        corners = unit[part.corners[part.starts[region] : part.starts[region + 1]]]
        if volumes[region] > 1e-6 and unit.shape[1] > 1:  # a hull of rounded corners is no measure for slivers
            assert abs(ConvexHull(corners, qhull_options="QJ").volume - volumes[region]) <= 1e-6


def _check_space_vertices(part: Any, sides: NDArray[np.int64], rng: np.random.Generator, J: Array, y: Array) -> None:
    """Check the pattern inside every region, pieces and values at corners, and the crease of every shared facet."""
    net = part.net
    starts = np.asarray(part.starts, np.int64)
    region, here = np.repeat(np.arange(part.count), np.diff(starts)), np.asarray(part.corners, np.int64)
    share = rng.uniform(0.5, 1.5, len(here))
    share /= np.bincount(region, share)[region]
    dims = range(part.vertices.shape[1])
    x = np.column_stack([np.bincount(region, share * part.vertices[here, i]) for i in dims])
    assert_sides(net, sides, x)
    assert_pieces(net, J, y, region, part.vertices[here], part.vertices[here])
    bends, value, size = run(net, part.vertices)
    assert np.abs(part.values - value).max() <= VALUE * max(size.max(), np.finfo(float).tiny)
    for (a, b), unit in zip(part.pairs[:200].tolist(), part.facet_units[:200].tolist(), strict=True):
        common = np.intersect1d(here[starts[a] : starts[a + 1]], here[starts[b] : starts[b + 1]])
        assert len(common) >= len(dims), "the facet of two neighbors has too few corners"
        bend = int(np.searchsorted(net.unit_starts, unit, side="right")) - 1
        z, terms = (array[:, unit - net.unit_starts[bend]] for array in bends[bend])
        if z.ndim == 2:
            z = z[:, sides[a, unit]] - z[:, sides[b, unit]]
        assert (np.abs(z[common]) <= LENGTH * terms.max()).all(), "a facet is not on its unit's crease"


# -- the line ---------------------------------------------------------------------------------------------------------


def check_line(part: Any, rng: np.random.Generator, *, points: int = 200) -> None:
    """Check that a ``LinePartition`` has all breakpoints, their units and the right pieces."""
    net, t = part.net, np.asarray(part.breakpoints, dtype=np.float64)
    assert part.count == len(t) + 1 == len(part.patterns)
    assert (np.diff(t) > 0).all(), "breakpoints are not increasing"
    sides = net.unpack(part.patterns).astype(np.int64)
    assert_patterns_differ(sides)
    for i in range(len(t)):
        changed = np.flatnonzero(sides[i] != sides[i + 1])
        assert len(changed), "a breakpoint without a change"
        assert np.array_equal(np.sort(part.units(i)), changed), "other units change at a breakpoint than it says"
    low, high = (t[0], t[-1]) if part.infinite and len(t) else (0.0, 1.0)
    if part.infinite:
        width = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-3)
        low, high = low - width, high + width
    assert (low < t).all(), "a breakpoint is outside the segment"
    assert (t < high).all(), "a breakpoint is outside the segment"
    ends = np.concatenate([[low], t, [high]])
    for share in rng.uniform(0.1, 0.9, 3):
        assert_sides(net, sides, part.points(ends[:-1] + share * np.diff(ends)))
    J, y = (np.asarray(a) for a in part.pieces())
    assert J.shape == (part.count, net.n_out, 1)
    assert y.shape == (part.count, net.n_out)
    at = rng.uniform(low, high, points)
    assert_pieces(net, J, y, part.locate(at), at[:, None], part.points(at))
    assert (part.locate(np.array([-2.0, 3.0])) == -1).all() or part.infinite, "locate finds a region beyond an end"
    if not len(t):
        return
    index = np.arange(len(t))
    for side in (index, index + 1):  # the pieces before and after a breakpoint agree there
        assert_pieces(net, J, y, side, t[:, None], part.points(t))
    _, value, size = run(net, part.points(t))
    assert np.abs(part.values - value).max() <= VALUE * max(size.max(), np.finfo(float).tiny)
