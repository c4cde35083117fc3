"""All regions of a plane through input space, exactly."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._display import plot
from creases._document import Document, facts
from creases._program import pattern_pieces, unit_of_bit
from creases._schema import BOOL
from creases._text import plural
from creases._typing import Floats, Progress
from creases._validation import check_arguments, check_box, check_index, check_points
from creases.errors import InputError
from creases.network import Network, NetworkLike, Piece, PointsLike, as_network, read
from creases.regions._archive import Archived
from creases.regions._boundary import (
    Boundary,
    box_around,
    check_slice,
    cut_by_class,
    output_term_sizes,
    slice_through,
)
from creases.regions._locate import PatternIndex, pattern_at
from creases.regions._plane import complex as planar
from creases.regions._plane import tensors
from creases.regions._plane.complex import (
    BendUnits,
    Complex,
    MemoryLimitError,
    Mesh,
    best_polygon,
    box_mesh,
    components,
    flatten_units,
    join_regions,
    polygon_areas,
)
from creases.regions._plane.forward_pass import PlaneForwardPass, SliceForwardPass
from creases.regions._plane.patterns import region_patterns
from creases.regions._plane.perceptron import subdivide_perceptron
from creases.regions._plane.tensors import Loops
from creases.regions._resources import MemoryLimit, no_progress
from creases.regions._tolerance import SIGN_TOLERANCE
from creases.regions._topology import Topology, class_values, dual_graph, find_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array


# Subdivision of a plane with bounded memory: a few units at a time, values at vertices recomputed, not stored.


def subdivide_by_changing_units(
    net: Network,
    part: Complex,
    origin: Floats,
    basis: Floats,
    box: Floats,
    memory: int,
    progress: Progress | None,
    first_bend: int = 0,
) -> PlaneForwardPass:
    """Subdivide the complex, in place, by the units that change side, and return the forward pass at its end.

    Bends before ``first_bend`` have been processed.
    """
    forward = PlaneForwardPass(net, origin, basis, box)
    with torch.no_grad():
        while (found := forward.advance(part.vertices)) is not None:
            if found.bend >= first_bend:
                cut_in_groups(part, found, forward, memory, progress)
    return forward


def cut_in_groups(
    part: Complex, found: BendUnits, forward: PlaneForwardPass, memory: int, progress: Progress | None
) -> None:
    """Split by the units of the current bend that change side, as many at a time as memory allows."""
    first, size = 0, len(found.units)
    while True:
        size = max(1, min(size, memory // (8 * found.columns * 4 * len(part.vertices))))
        group = slice(first, first + size)
        units = found.units[group]
        bound = None if size == 1 else memory  # a single unit is always cut
        try:
            part.cut(
                forward.pre_activations(part.vertices, group),
                found.terms[group],
                found.bend,
                found.first_unit + units,
                choice=found.choice,
                units=units,
                sides=found.sides,
                memory=bound,
            )
        except MemoryLimitError:
            size //= 4
            continue
        if progress is not None:
            progress("finding regions", part.count, None)
        first += len(units)
        if first >= len(found.units):
            return


# Plane partitions on the network's device: tensors throughout, arrays only at the end.


@dataclass
class DeviceComplex:
    """As :class:`creases.regions._plane.complex.Complex`, with tensors and no cut edges."""

    vertices: Tensor  #: (V, 2)
    ends: Tensor  #: (E, 2)
    label: Tensor  #: (E,)
    loops: Loops
    signs: list[planar.Signs] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.loops.sizes)

    @classmethod
    def from_mesh(cls, mesh: Mesh, device: torch.device) -> DeviceComplex:
        """Move a finished complex to a device, ready for subdivision."""
        parts = (mesh.vertices, mesh.ends, mesh.label, mesh.corners, mesh.corner_edges, mesh.starts)
        X, ends, label, corners, edges, starts = (torch.from_numpy(part).to(device) for part in parts)
        loops = Loops(corners.long(), edges.long(), starts.long())
        return cls(X, ends.long(), label.long(), loops)

    def mesh(self) -> Mesh:
        """Return the complex as arrays."""
        region, corners, edges = self.loops.region(), self.loops.corners, self.loops.edges
        sides = torch.full_like(self.ends, -1)
        sides[edges, (self.ends[edges, 0] != corners).long()] = region
        arrays = (self.ends, self.label, sides, corners, edges, self.loops.starts)
        return Mesh(self.vertices.cpu().numpy(), *(array.int().cpu().numpy() for array in arrays))

    def subdivide(self, z: Tensor, terms: Tensor, bend: int, first_unit: int, *, choice: bool) -> Tensor | None:
        """As :meth:`Complex.subdivide`; a choice goes through the compiled kernel on the CPU."""
        if choice:
            part = planar.Complex.from_mesh(self.mesh())
            part.subdivide(z.cpu(), terms.cpu(), bend, first_unit, choice=True)
            fresh = DeviceComplex.from_mesh(part.mesh(), z.device)
            self.vertices, self.ends, self.label, self.loops = fresh.vertices, fresh.ends, fresh.label, fresh.loops
            self.signs += part.signs
            return None
        labels = torch.arange(first_unit, first_unit + z.shape[1], device=z.device)
        self.vertices, Z, self.ends, self.label, self.loops, parent, positive = tensors.subdivide(
            self.vertices, z, SIGN_TOLERANCE * terms, labels, self.ends, self.label, self.loops
        )
        words = positive.cpu().numpy().view(np.uint64)
        self.signs.append(planar.Signs(bend, parent.int().cpu().numpy(), words, words))
        return Z


#: Bytes that values at vertices may take on the CPU; beyond that, units are processed a few at a time.
MEMORY = 2**31

#: In networks with a wider bend, or a choice, values are computed from the units that change side.
WIDE = 1024

#: Bytes held while a complex is subdivided, as a multiple of those of its arrays: copies of them, and of their parts.
COPIES = 8

#: Space around three points, as a fraction of their extent.
MARGIN = 0.25


@dataclass(frozen=True, eq=False)
class PlanePartition(Archived):
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
    def from_mesh(
        cls,
        net: Network,
        box: Floats,
        origin: Floats,
        basis: Floats,
        mesh: Mesh,
        patterns: NDArray[np.uint8],
        values: Floats | None = None,
    ) -> PlanePartition:
        """Build a partition from a mesh and the patterns of its regions; ``values`` are computed if not given."""
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
        return f"PlanePartition({plural(self.count, 'region')}, {len(self.vertices)} vertices, {len(self.edges)} edges)"

    def __str__(self) -> str:
        return f"{self!r}\n{self.topology()}"

    def describe(self, *, check: tuple[int, float] | None = None) -> Document:
        """Return how many regions there are, their areas and the length of the decision boundary.

        ``check`` says at how many points the pieces were compared with the network, and the largest difference there.
        """
        areas, boundary = self.areas(), self.boundary()
        largest, smallest = float(areas.max()), float(areas.min())
        values: dict[str, Any] = {
            "network": repr(self.net),
            "box": self.box.tolist(),
            "regions": self.count,
            "vertices": len(self.vertices),
            "edges": len(self.edges),
            "area": {"all": float(areas.sum()), "largest": largest, "smallest": smallest},
            "boundary": {"segments": len(boundary.edges), "length": boundary.length},
        }
        rows = [
            ("network", repr(self.net)),
            ("box", " x ".join(f"[{low:g}, {high:g}]" for low, high in self.box.tolist())),
            ("regions", f"{self.count:,}"),
            ("vertices, edges", f"{len(self.vertices):,}, {len(self.edges):,}"),
            ("largest, smallest area", f"{largest:.4g}, {smallest:.4g}"),
            ("boundary", f"{boundary.length:.6g} long, {plural(len(boundary.edges), 'segment')}"),
            *((f"class {label}", text) for label, text in self.topology().words().items()),
        ]
        if check is not None:
            points, error = check
            values["certificate"] = {"points": points, "largest_difference": error}
            said = f"differs from the network by at most {error:.1e} at {points:,} random points"
            rows.append(("check", said))
        return Document("PlanePartition", "", [facts("Partition", rows)], values)

    def to_dict(self) -> dict[str, Any]:
        """Return the partition as plain lists: polygons, the unit behind each edge, each region's affine function."""
        corners, starts = self.corners.tolist(), self.starts.tolist()
        piece, boundary = self.pieces(), self.boundary()
        arrays = {name: getattr(self, name).tolist() for name in ("vertices", "values", "edges", "edge_units")}
        return {
            "slice": {"origin": self.origin.tolist(), "basis": self.basis.tolist()},
            **arrays,
            "edge_regions": self.edge_regions.tolist(),
            "regions": [corners[a:b] for a, b in pairwise(starts)],
            "pieces": {"J": piece.J.tolist(), "y": piece.y.tolist()},
            "boundary": {"segments": boundary.segments.tolist(), "classes": boundary.classes.tolist()},
        }

    def polygon(self, region: int) -> Floats:
        """Return the corners of one region (k, 2), counter-clockwise."""
        region = check_index(region, self.count, "region")
        return self.vertices[self.corners[self.starts[region] : self.starts[region + 1]]]

    def areas(self) -> Floats:
        """Return the area of every region in slice coordinates: (R,)."""
        return polygon_areas(self.vertices, self.corners, self.starts)

    def centers(self) -> Floats:
        """Return a point inside every region, the mean of its corners: (R, 2)."""
        return np.add.reduceat(self.vertices[self.corners], self.starts[:-1]) / np.diff(self.starts)[:, None]

    @property
    def mesh(self) -> Mesh:
        """Vertices, edges and regions, without the network."""
        parts = (self.vertices, self.edges, self.edge_units, self.edge_regions)
        return Mesh(*parts, self.corners, self.corner_edges, self.starts)

    def points(self, t: Any) -> Floats:
        """Return the inputs (n, n_in) at slice coordinates (n, 2)."""
        return self.origin + check_points(t, 2, "t") @ self.basis.T

    def sides(self) -> NDArray[np.int16]:
        """Return the side of every unit on every region: (R, n_units)."""
        return self.net.unpack(self.patterns)

    def pieces(self) -> Piece:
        """Return the affine function on every region, in slice coordinates: J (R, n_out, 2) and y (R, n_out)."""
        return pattern_pieces(self.net, self.patterns, self.origin, self.basis)

    def locate(self, points: Any) -> NDArray[np.int64]:
        """Return the region of each point t (n, 2), -1 outside the box; on a crease one of the adjacent regions."""
        t = check_points(points, 2)
        region = np.full(len(t), -1, np.int64)
        inside = np.flatnonzero(((t >= self.box[:, 0]) & (t <= self.box[:, 1])).all(axis=1))
        net = self.net.to(torch.float64)
        region[inside] = self._index.find(pattern_at(net, torch.from_numpy(self.points(t[inside])).to(net.device)))
        # On a crease, or where a unit is zero up to rounding, no region has the pattern: search by position.
        lost = inside[region[inside] < 0]
        region[lost] = best_polygon(self.vertices, self.corners, self.starts, t[lost])
        return region

    @cached_property
    def _index(self) -> PatternIndex:
        return PatternIndex(self.patterns)

    @cached_property
    def _output_terms(self) -> Floats:
        """The size of each output's terms (n_out,)."""
        if self.net.device.type != "cpu" or not _is_wide(self.net):
            return output_term_sizes(self.net, self.points(self.vertices))
        forward = PlaneForwardPass(self.net.to(torch.float64), self.origin, self.basis, self.box)
        with torch.no_grad():
            while forward.advance(self.vertices) is not None:
                pass
        return forward.output_terms

    @cached_property
    def _parts(self) -> tuple[Mesh, NDArray[np.int16], NDArray[np.int32]]:
        """The parts of regions where one class is decided, the class and the region of each."""
        return cut_by_class(self.mesh, self.values, self._output_terms)

    def boundary(self) -> Boundary:
        """Return the decision boundary: where the two largest outputs tie, or a single output is zero."""
        cut, side, parent = self._parts
        left, right = cut.regions.T
        on = (left >= 0) & (right >= 0) & (side[left] != side[right])
        classes, regions = (owner[cut.regions[on]] for owner in (side, parent))
        return Boundary(cut.vertices, cut.ends[on], classes, regions, cut.corners, cut.starts, side, parent)

    def topology(self, *, output: int | None = None, level: float = 0.0) -> Topology:
        """Return the islands of each class, their holes, and which island lies in which hole: exactly.

        With an ``output``, or a network that has only one, class 1 is where it is above the level, class 0 elsewhere.

        Examples
        --------
        >>> import creases
        >>> hidden = [[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 0, 0]
        >>> net = creases.read([hidden, ([[-1, -1, -1, -1]], [0.5])])  # positive where |x| + |y| < 0.5
        >>> print(creases.plane(net).topology())
        class 0: 1 island with a hole
        class 1: 1 island
        """
        values, terms = class_values(self.values, self._output_terms, output, level)
        is_decision = output is None and level == 0
        cut, side, parent = self._parts if is_decision else cut_by_class(self.mesh, values, terms)
        faces = [(np.full(len(cut.ends), 2), cut.ends.ravel()), (np.diff(cut.starts), cut.corner_edges)]
        areas = polygon_areas(cut.vertices, cut.corners, cut.starts)
        return find_topology(len(cut.vertices), faces, cut.corners, cut.starts, side, parent, areas)

    def dual_graph(self) -> csr_array:
        """Return the neighbors of every region, a sparse matrix (R, R): 1 + the unit whose crease two regions share."""
        inner = (self.edge_regions >= 0).all(axis=1)
        return dual_graph(self.edge_regions[inner], self.edge_units[inner], self.count)

    def same_piece(self, *, tolerance: float = 1e-9) -> NDArray[np.int32]:
        """Return a group number for each region (R,): neighbors with the same affine function share one.

        ``tolerance`` is relative to the largest coefficient. ``partition.same_piece().max() + 1`` counts the groups.
        """
        J, y = self.pieces()
        flat = np.concatenate([J.reshape(self.count, -1), y], axis=1)
        inner = (self.edge_regions >= 0).all(axis=1)
        left, right = self.edge_regions[inner].T
        equal = np.zeros(len(self.edges), bool)
        scale = np.abs(flat).max(initial=0.0)
        equal[inner] = np.abs(flat[left] - flat[right]).max(axis=1, initial=0.0) <= tolerance * scale
        return components(self.count, self.edge_regions[equal])

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the partition: see :func:`creases.show.plot_plane`."""
        axes: Axes = plot(self, ax=ax, **options)
        return axes


@check_arguments(exact=BOOL)
def plane(
    net: NetworkLike,
    box: Any = (-1, 1),
    origin: PointsLike | None = None,
    basis: PointsLike | None = None,
    *,
    exact: bool = False,
    max_memory: float | None = None,
    progress: Progress | None = None,
) -> PlanePartition:
    """Return all regions of a network in a box of the plane ``x = origin + basis t``.

    Parameters
    ----------
    net
        A network, torch module or file name, of any input dimension. On a GPU the whole subdivision runs there; on a
        CPU values are computed on as many threads as torch uses, with the same result.
    box
        ``(lo, hi)`` for both coordinates of t, or a pair for each.
    origin, basis
        A point (n_in,) and two directions (n_in, 2); for a network of two inputs the default is the input plane.
    exact
        Decide every sign in filtered exact arithmetic: no sliver is lost, no coincidence missed. Slower.
    max_memory
        About how many bytes the work may hold; no limit by default. Beyond it :class:`creases.errors.LimitError` says
        how many regions there were; :func:`plane_tiles` needs little memory. Not accepted with ``exact``, whose numbers
        have no fixed size, and on a GPU, where torch raises its own error when memory is full.
    progress
        Called with the number of regions so far, after every bend and, in large partitions, within one; in small
        ones of perceptrons at the end. An exception raised by it ends the computation.

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
    limit = MemoryLimit(max_memory, "choose a smaller box, or use plane_tiles, whose memory is bounded by one tile")
    if max_memory is not None and (exact or net.device.type != "cpu"):
        raise InputError("max_memory", "be left out in exact arithmetic and on a GPU", f"{max_memory:g} bytes")
    memory = limit.block(MEMORY)
    if exact:
        from creases.regions._exact import exact_plane

        mesh, patterns = exact_plane(net, bounds, start, directions, progress or no_progress)
        if _has_choice(net):
            mesh, patterns = _merge_by_pattern(net, mesh, patterns)
        return PlanePartition.from_mesh(net, bounds, start, directions, mesh, patterns)
    start_mesh = box_mesh(bounds)
    if net.device.type == "cpu" and not _is_wide(net):
        small = subdivide_perceptron(net, start_mesh, start, directions, memory)
        if small is not None:
            found = PlanePartition.from_mesh(net, bounds, start, directions, *small)
            if progress is not None:
                progress("finding regions", found.count, None)
            return found
    double = net.to(torch.float64)
    part: Complex | DeviceComplex
    if net.device.type == "cpu":
        part = Complex.from_mesh(start_mesh, memory)

        def report(count: int, part: Complex = part) -> None:
            limit.check(COPIES * part.nbytes * count / part.count, plural(count, "region"))
            if progress is not None:
                progress("finding regions", count, None)

        part.report = report
    else:
        part = DeviceComplex.from_mesh(start_mesh, net.device)
    forward = values = None
    bend: int | None = 0
    if not isinstance(part, Complex) or not _is_wide(net):
        values, bend = _subdivide(double, part, start, directions, progress)
    if bend is not None:
        some = cast(Complex, part)
        forward = subdivide_by_changing_units(double, some, start, directions, bounds, memory, progress, bend)
    mesh, patterns = part.mesh(), region_patterns(net, part.signs, memory)
    if _has_choice(net):
        mesh, patterns = _merge_by_pattern(net, mesh, patterns)
        values = None
    if forward is not None:
        values = forward.output(mesh.vertices)
    return PlanePartition.from_mesh(net, bounds, start, directions, mesh, patterns, values)


@check_arguments(exact=BOOL)
def plane_through(
    net: NetworkLike,
    a: PointsLike,
    b: PointsLike,
    c: PointsLike,
    *,
    margin: float = MARGIN,
    exact: bool = False,
    max_memory: float | None = None,
    progress: Progress | None = None,
) -> PlanePartition:
    """Return all regions of a network in the plane through three points.

    The origin is a, the basis follows by Gram-Schmidt: the points' slice coordinates are (0, 0), (|b - a|, 0) and
    those of c.

    Parameters
    ----------
    net
        A network, torch module or file name.
    a, b, c
        Points in the model's input shape or flattened, not on one line.
    margin
        The box contains the three points and this fraction of their extent around them.
    exact, max_memory, progress
        As for :func:`plane`.
    """
    net = as_network(net)
    origin, basis, t = slice_through(net, [a, b, c])
    return plane(net, box_around(t, margin), origin, basis, exact=exact, max_memory=max_memory, progress=progress)


def _has_choice(net: Network) -> bool:
    return any(net.steps[i].op == "choice" for i in net.bends)


def _is_wide(net: Network) -> bool:
    """Whether values are computed from the units that change side instead of a forward pass."""
    return _has_choice(net) or bool(np.diff(net.unit_starts).max(initial=0) > WIDE)


def _subdivide(
    net: Network,
    part: Complex | DeviceComplex,
    origin: Floats,
    basis: Floats,
    progress: Progress | None,
) -> tuple[Floats | None, int | None]:
    """Subdivide the complex, in place, by every bend; return the output (V, n_out) at its vertices.

    Where values at all vertices take too much memory, return the first bend that is left, and no output.
    """
    start, directions = (torch.from_numpy(a).to(net.device) for a in (origin, basis))
    with torch.no_grad():
        forward = SliceForwardPass(net, torch.as_tensor(part.vertices, device=net.device), start, directions)
        while (z := forward.advance()) is not None:
            known = len(part.vertices)
            choice = net.steps[net.bends[forward.bend]].op == "choice"
            flat, terms = flatten_units(z, choice=choice), flatten_units(forward.terms, choice=choice)[0]
            try:
                Z = part.subdivide(flat, terms, forward.bend, int(net.unit_starts[forward.bend]), choice=choice)
            except MemoryLimitError:  # raised by Complex alone
                return None, forward.bend
            added = torch.as_tensor(part.vertices[known:], device=net.device)
            forward.extend(added, None if Z is None else torch.as_tensor(Z).reshape(-1, *z.shape[1:]))
            if progress is not None and isinstance(part, DeviceComplex):  # a Complex reports by itself
                progress("finding regions", part.count, None)
        return forward.output.cpu().numpy(), None


def _merge_by_pattern(net: Network, mesh: Mesh, patterns: NDArray[np.uint8]) -> tuple[Mesh, NDArray[np.uint8]]:
    """Merge parts of regions: a choice is split along ties of pairs, also where a third candidate is larger.

    An edge may come from a unit that does not change there while another does (windows that overlap): it gets the first
    unit that changes.
    """
    left, right = mesh.regions.T
    inner = (left >= 0) & (right >= 0)
    different = patterns[left] ^ patterns[right]
    changes = inner & different.any(axis=1)
    group = components(len(mesh.starts) - 1, mesh.regions[inner & ~changes])
    merged = np.empty((group.max() + 1, patterns.shape[1]), np.uint8)
    merged[group] = patterns
    label = mesh.label.copy()
    bits = different[changes]  # the first that is set names the unit
    byte = (bits != 0).argmax(axis=1)
    lowest = np.unpackbits(bits[np.arange(len(bits)), byte][:, None], axis=1, bitorder="little").argmax(axis=1)
    label[changes] = unit_of_bit(net)[8 * byte + lowest]
    return join_regions(replace(mesh, label=label), group), merged


def compile_kernels(announce: Callable[[], None]) -> None:
    """Load the kernels of the plane, or compile them, which takes seconds once per machine.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them, nor without numba.
    """
    if importlib.util.find_spec("numba") is None:
        return
    from creases._compiled import is_cached
    from creases.regions._plane import kernel

    if not is_cached(kernel):
        announce()
    plane(read([([[1.0, 1.0]], [0.0]), ([[1.0]], [-0.5])])).boundary()  # numba compiles on first use
