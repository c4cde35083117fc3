"""All regions of a plane: their polygons, areas, pieces, neighbors, and where the decision changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._display import plot
from creases._document import Document, facts
from creases._program import pattern_pieces
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_index, check_points
from creases.network import Network, Piece
from creases.regions._archive import Archived
from creases.regions._boundary import Boundary, cut_by_class, output_term_sizes
from creases.regions._locate import PatternIndex, pattern_at
from creases.regions._plane.complex import Mesh, best_polygon, components, polygon_areas
from creases.regions._plane.forward_pass import PlaneForwardPass
from creases.regions._plane.subdivision import is_wide
from creases.regions._topology import Topology, class_values, dual_graph, find_topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array


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
        if self.net.device.type != "cpu" or not is_wide(self.net):
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
