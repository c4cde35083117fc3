"""Every region of a plane through input space, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from creases._typing import Floats, Progress
from creases._validation import check_box, check_index, check_numbers, check_points
from creases.network import Network, Piece, PointsLike, as_network
from creases.network.program import ForwardPass, pack_sides, pattern_pieces, unit_of_bit
from creases.regions import _archive as archive
from creases.regions._boundary import Boundary, output_term_sizes, plane_boundary
from creases.regions._locate import PatternIndex, pattern_at
from creases.regions._plane.blocks import subdivide_in_blocks
from creases.regions._plane.complex import Complex, Full, Signs, by_unit, count, rectangle, region_bytes, region_sides
from creases.regions._plane.device import DeviceComplex
from creases.regions._plane.mesh import Mesh, components, join_regions
from creases.regions._plane.polygons import best_polygon, polygon_areas
from creases.regions._slices import check_slice, slice_through
from creases.regions._tolerance import SIGN_TOLERANCE

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

Box = Sequence[Sequence[float]] | Floats

#: Bytes that values at vertices may take on the CPU; with more to hold, units are worked on a few at a time.
MEMORY = 2**31


@dataclass(frozen=True, eq=False)
class PlanePartition:
    """All regions of a network in a box of the plane ``x = origin + basis t``."""

    net: Network
    box: Floats  #: (2, 2) bounds of t
    origin: Floats  #: (n_in,)
    basis: Floats  #: (n_in, 2)
    vertices: Floats  #: (V, 2) in slice coordinates t
    values: Floats  #: (V, n_out) the network's output there
    edges: NDArray[np.int32]  #: (E, 2) vertices
    edge_units: NDArray[np.int32]  #: (E,) the unit whose crease it is, -1 for a side of the box
    edge_regions: NDArray[np.int32]  #: (E, 2) region left and right of the edge, -1 outside
    corners: NDArray[np.int32]  #: (C,) vertices of all regions, counter-clockwise
    corner_edges: NDArray[np.int32]  #: (C,) the edge from each corner to the next
    starts: NDArray[np.int32]  #: (R + 1,) region r is corners[starts[r]:starts[r + 1]]
    patterns: NDArray[np.uint8]  #: (R, n_bytes)

    @classmethod
    def of(
        cls,
        net: Network,
        box: Floats,
        origin: Floats,
        basis: Floats,
        mesh: Mesh,
        patterns: NDArray[np.uint8],
        values: Floats | None = None,
    ) -> PlanePartition:
        """A mesh with the patterns of its regions; the outputs at its vertices are computed unless given."""
        if values is None:
            values = net.to(torch.float64)(origin + mesh.vertices @ basis.T).reshape(len(mesh.vertices), -1)
        edges = (mesh.ends, mesh.label, mesh.regions)
        regions = (mesh.corners, mesh.corner_edges, mesh.starts)
        return cls(net, box, origin, basis, mesh.vertices, values, *edges, *regions, patterns)

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.starts) - 1

    def __repr__(self) -> str:
        return f"PlanePartition({self.count} regions, {len(self.vertices)} vertices, {len(self.edges)} edges)"

    def polygon(self, region: int) -> Floats:
        """Corners of one region (k, 2), counter-clockwise."""
        region = check_index(region, self.count, "region")
        return self.vertices[self.corners[self.starts[region] : self.starts[region + 1]]]

    def areas(self) -> Floats:
        """Area of every region in slice coordinates: (R,)."""
        return polygon_areas(self.vertices, self.corners, self.starts)

    def centers(self) -> Floats:
        """A point inside every region, the mean of its corners: (R, 2)."""
        return np.add.reduceat(self.vertices[self.corners], self.starts[:-1]) / np.diff(self.starts)[:, None]

    @property
    def mesh(self) -> Mesh:
        """Vertices, edges and regions, without the network."""
        parts = (self.vertices, self.edges, self.edge_units, self.edge_regions)
        return Mesh(*parts, self.corners, self.corner_edges, self.starts)

    def points(self, t: Any) -> Floats:
        """Points of input space (n, n_in) at slice coordinates (n, 2)."""
        return self.origin + check_points(t, 2, "t") @ self.basis.T

    def sides(self) -> NDArray[np.int16]:
        """Side of every unit on every region: (R, n_units)."""
        return self.net.unpack(self.patterns)

    def pieces(self) -> Piece:
        """The affine function on every region, in slice coordinates: J (R, n_out, 2) and y (R, n_out)."""
        return pattern_pieces(self.net, self.patterns, self.origin, self.basis)

    def locate(self, points: Any) -> NDArray[np.int64]:
        """Region of each point t (n, 2), -1 outside the box. On a crease: one of the regions beside it."""
        t = check_points(points, 2)
        found = np.full(len(t), -1, np.int64)
        inside = np.flatnonzero(((t >= self.box[:, 0]) & (t <= self.box[:, 1])).all(axis=1))
        net = self.net.to(torch.float64)
        found[inside] = self._index.find(pattern_at(net, torch.from_numpy(self.points(t[inside])).to(net.device)))
        # A point on a crease, or a unit that is zero but for rounding: the pattern is no region's. Look where it lies.
        lost = inside[found[inside] < 0]
        found[lost] = best_polygon(self.vertices, self.corners, self.starts, t[lost])
        return found

    @cached_property
    def _index(self) -> PatternIndex:
        return PatternIndex(self.patterns)

    def boundary(self) -> Boundary:
        """The decision boundary: where the two largest outputs tie (one output: where it is zero)."""
        return plane_boundary(self.mesh, self.values, output_term_sizes(self.net, self.points(self.vertices)))

    def same_piece(self, *, tolerance: float = 1e-9) -> NDArray[np.int32]:
        """Group of each region (R,) when neighbors with the same affine function are taken for one.

        ``tolerance`` is relative to the largest coefficient. ``partition.same_piece().max() + 1`` counts the groups.
        """
        J, y = self.pieces()
        flat = np.concatenate([J.reshape(self.count, -1), y], axis=1)
        inner = (self.edge_regions >= 0).all(axis=1)
        left, right = self.edge_regions[inner].T
        equal = np.zeros(len(self.edges), bool)
        scale = np.abs(flat).max(initial=0.0)
        equal[inner] = np.abs(flat[left] - flat[right]).max(axis=1, initial=0.0) <= tolerance * scale
        return components(self.mesh, equal)

    def to_networkx(self) -> networkx.Graph[int]:
        """Regions as nodes (area, center), shared edges as edges (unit, length)."""
        import networkx

        graph: networkx.Graph[int] = networkx.Graph()
        for region, (area, center) in enumerate(zip(self.areas().tolist(), self.centers().tolist(), strict=True)):
            graph.add_node(region, area=area, center=tuple(center))
        a, b = (self.vertices[self.edges[:, i]] for i in (0, 1))
        lengths = np.linalg.norm(b - a, axis=1)
        rows = zip(self.edge_regions.tolist(), self.edge_units.tolist(), lengths.tolist(), strict=True)
        for (left, right), unit, length in rows:
            if left >= 0 and right >= 0:
                graph.add_edge(left, right, unit=unit, length=length)
        return graph

    def save(self, path: str | Path) -> Path:
        """Write to a ``.npz`` file, the network included."""
        return archive.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> PlanePartition:
        """Read back what :meth:`save` wrote."""
        return archive.load(cls, path)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw it: see :func:`creases.show.plot_plane`."""
        from creases.show import plot_plane

        return plot_plane(self, ax=ax, **options)


def plane(
    net: Network,
    box: Box = ((-1, 1), (-1, 1)),
    origin: PointsLike | None = None,
    basis: PointsLike | None = None,
    *,
    exact: bool = False,
    progress: Progress | None = None,
) -> PlanePartition:
    """Every region of the network in a box of the plane ``x = origin + basis t``.

    Parameters
    ----------
    net
        From :func:`creases.read`; of any input dimension. On a GPU the whole subdivision runs there.
    box
        ``[(lo, hi), (lo, hi)]``: bounds of t.
    origin, basis
        A point (n_in,) and two directions (n_in, 2); for a network of two inputs, the input plane itself unless given.
    exact
        Decide every sign in filtered exact arithmetic: no sliver is lost, no coincidence missed. Slower.
    progress
        Called with the number of regions so far, after every bend and, in large partitions, within one; not in exact
        arithmetic. An exception raised by it ends the computation.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])])
    >>> creases.plane(net, box=[(-1, 1), (-1, 1)]).count
    4
    """
    net = as_network(net)
    bounds = check_box(box, 2)
    start, directions = check_slice(net, origin, basis)
    if exact:
        from creases.regions._exact import exact_plane

        return exact_plane(net, bounds, start, directions)
    whole = rectangle(bounds)
    part = Complex.of(whole, MEMORY) if net.device.type == "cpu" else DeviceComplex.of(whole, net.device)
    values = _subdivided(net.to(torch.float64), part, start, directions, progress)
    mesh, patterns = part.mesh(), _patterns(net, part.signs)
    if any(net.steps[i].op == "choice" for i in net.bends):
        mesh, patterns = _one_region_per_pattern(net, mesh, patterns)
        return PlanePartition.of(net, bounds, start, directions, mesh, patterns)
    return PlanePartition.of(net, bounds, start, directions, mesh, patterns, values)


def plane_through(
    net: Network,
    a: PointsLike,
    b: PointsLike,
    c: PointsLike,
    *,
    margin: float = 0.25,
    exact: bool = False,
    progress: Progress | None = None,
) -> PlanePartition:
    """Every region of the network in the plane through three points (eq. 6.2: Gram-Schmidt, origin a).

    The box holds the three points with ``margin`` times its size around them; their slice coordinates are
    (0, 0), (|b - a|, 0) and those of c.
    """
    net = as_network(net)
    origin, basis, t = slice_through(net, [a, b, c])
    low, high = t.min(axis=0), t.max(axis=0)
    pad = check_numbers(margin, "margin") * (high - low)
    return plane(net, np.stack([low - pad, high + pad], axis=1), origin, basis, exact=exact, progress=progress)


def _subdivided(
    net: Network,
    part: Complex | DeviceComplex,
    origin: Floats,
    basis: Floats,
    progress: Progress | None,
) -> Floats:
    """Subdivide the complex, in place, by every bend; the output (V, n_out) at its vertices."""
    start, directions = (torch.from_numpy(a).to(net.device) for a in (origin, basis))

    def points(first: int, last: int | None = None) -> torch.Tensor:
        return start + torch.as_tensor(part.vertices[first:last], device=net.device) @ directions.T

    with torch.no_grad():
        walk = ForwardPass(net, points(0), zero=SIGN_TOLERANCE)
        while (z := walk.advance()) is not None:
            known = len(part.vertices)
            choice = net.steps[net.bends[walk.bend]].op == "choice"
            flat, terms = by_unit(z, choice=choice), by_unit(walk.terms, choice=choice)[0]
            try:
                Z = part.subdivide(flat, terms, walk.bend, int(net.unit_starts[walk.bend]), choice=choice)
            except Full:  # raised by Complex alone
                return subdivide_in_blocks(net, cast(Complex, part), points, walk.bend, MEMORY, progress)
            walk.extend(points(known), None if Z is None else torch.as_tensor(Z).reshape(-1, *z.shape[1:]))
            if progress is not None:
                progress("finding regions", part.count, None)
        return walk.output.cpu().numpy()


def _patterns(net: Network, signs: Sequence[Signs]) -> NDArray[np.uint8]:
    bends = [
        (int(units), 0 if net.steps[i].op == "relu" else candidates)
        for units, i, candidates in zip(np.diff(net.unit_starts), net.bends, net.candidates, strict=True)
    ]
    if not signs:
        return np.zeros((1, 0), np.uint8)
    if all(units % 8 == 0 for units, _ in bends) and all(one.units is None for one in signs):
        return region_bytes(signs, [units // 8 for units, _ in bends])
    block = max(1, MEMORY // (4 * net.n_units))
    parts = np.array_split(np.arange(count(signs)), 1 + count(signs) // block)
    return np.concatenate([pack_sides(net, np.concatenate(region_sides(signs, bends, part), axis=1)) for part in parts])


def _one_region_per_pattern(net: Network, mesh: Mesh, patterns: NDArray[np.uint8]) -> tuple[Mesh, NDArray[np.uint8]]:
    """A choice is split along ties of pairs, also where a third candidate is larger: join what that cut in two.

    An edge may so have been made by a unit that does not change there, when another does (windows that overlap): it
    gets the first unit that does.
    """
    left, right = mesh.regions.T
    inner = (left >= 0) & (right >= 0)
    different = patterns[left] ^ patterns[right]
    changes = inner & different.any(axis=1)
    group = components(mesh, inner & ~changes)
    kept = np.empty((group.max() + 1, patterns.shape[1]), np.uint8)
    kept[group] = patterns
    label = mesh.label.copy()
    label[changes] = _first_unit(net, different[changes])
    return join_regions(replace(mesh, label=label), group), kept


def _first_unit(net: Network, bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Unit of the first bit that is set in each row (n, n_bytes)."""
    byte = (bits != 0).argmax(axis=1)
    lowest = np.unpackbits(bits[np.arange(len(bits)), byte][:, None], axis=1, bitorder="little").argmax(axis=1)
    units: NDArray[np.int64] = unit_of_bit(net)[8 * byte + lowest]
    return units
