"""The decision boundary on a plane: where the two largest outputs tie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._compiled import small_work
from creases._program import ForwardPass
from creases._text import OneLine, plural
from creases._typing import Floats
from creases._validation import check_finite, check_number, check_numbers
from creases.errors import InputError
from creases.network import Network
from creases.regions._plane.complex import Complex, Mesh, polygon_areas, region_sides
from creases.regions._polytope import check_point
from creases.regions._tolerance import SIGN_TOLERANCE

#: Microseconds that plain Python takes to cut a partition, for each vertex and class, about.
VERTEX = 300.0


@dataclass(frozen=True, eq=False, repr=False)
class Boundary(OneLine):
    """The decision boundary in a plane, and the parts of regions where each class is decided.

    A network of one output decides by its sign: class 1 where it is positive, class 0 elsewhere.
    """

    vertices: Floats  #: (V, 2) in slice coordinates: those of the partition, then those of the boundary
    edges: NDArray[np.int32]  #: (S, 2) the boundary's segments
    classes: NDArray[np.int16]  #: (S, 2) the class left and right of each segment
    regions: NDArray[np.int32]  #: (S, 2) the region left and right of each segment (the same, except along a crease)
    part_corners: NDArray[np.int32]  #: corners of all parts, counter-clockwise
    part_starts: NDArray[np.int32]  #: (P + 1,)
    part_class: NDArray[np.int16]  #: (P,)
    part_region: NDArray[np.int32]  #: (P,)

    @property
    def segments(self) -> Floats:
        """End points of the boundary's segments: (S, 2, 2)."""
        return self.vertices[self.edges]

    @property
    def length(self) -> float:
        """Length of the boundary in slice coordinates."""
        ends = self.segments
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum())

    def areas(self) -> Floats:
        """Return the area where each class is decided in the box: (largest class + 1,)."""
        parts = polygon_areas(self.vertices, self.part_corners, self.part_starts)
        return np.bincount(self.part_class, weights=parts).astype(np.float64, copy=False)

    def polylines(self) -> list[Floats]:
        """Return the boundary as polylines (n, 2), each between one pair of classes; a closed one ends at its start."""
        lines: list[Floats] = []
        pairs = np.sort(self.classes, axis=1)
        for pair in np.unique(pairs, axis=0):
            lines += [self.vertices[chain] for chain in _chains(self.edges[(pairs == pair).all(axis=1)].tolist())]
        return lines


def _chains(edges: list[list[int]]) -> list[list[int]]:
    """Join edges end to end: chains from open ends first, then closed ones; a chain stops where others meet it."""
    at: dict[int, set[int]] = {}
    for e, (a, b) in enumerate(edges):
        at.setdefault(a, set()).add(e)
        at.setdefault(b, set()).add(e)
    ends = {v: len(edges_at) for v, edges_at in at.items() if len(edges_at) != 2}
    chains = []
    for start in [*(v for v, count in ends.items() for _ in range(count)), *(a for a, _ in edges)]:
        if not at[start]:
            continue
        chain = [start]
        while at[chain[-1]] and (len(chain) == 1 or chain[-1] not in ends):
            e = at[chain[-1]].pop()
            a, b = edges[e]
            chain.append(b if a == chain[-1] else a)
            at[chain[-1]].discard(e)
        chains.append(chain)
    return chains


def output_term_sizes(net: Network, x: Floats) -> Floats:
    """Return the sum of the magnitudes of each output's terms, (n_out,), at its largest over points (n, n_in)."""
    net = net.to(torch.float64)
    points = torch.from_numpy(x).to(net.device)
    block = max(1, 2**28 // (8 * max(net.sizes)))
    with torch.no_grad():
        forward = ForwardPass(net, points[:block], zero=SIGN_TOLERANCE)
        while forward.advance() is not None:
            for start in range(block, len(points), block):
                forward.update_range(forward.run(points[start : start + block]))
        terms: Floats = forward.output_terms.cpu().numpy()
    return terms


def _contenders(mesh: Mesh, values: Floats) -> NDArray[np.int64]:
    """Return outputs that may be the largest: in some region no other is larger at all corners than it at any."""
    possible = np.zeros(values.shape[1], bool)
    block = max(1, 2**26 // values.shape[1])
    for first in range(0, len(mesh.starts) - 1, block):
        starts = mesh.starts[first : first + block + 1]
        corners = values[mesh.corners[starts[0] : starts[-1]]]
        low = np.minimum.reduceat(corners, starts[:-1] - starts[0])  # (R, m)
        high = np.maximum.reduceat(corners, starts[:-1] - starts[0])
        possible |= (high >= low.max(axis=1, keepdims=True)).any(axis=0)
    return np.flatnonzero(possible)


def cut_by_class(mesh: Mesh, values: Floats, terms: Floats) -> tuple[Mesh, NDArray[np.int16], NDArray[np.int32]]:
    """Cut a partition where the largest of its outputs changes, or where a single output changes sign.

    ``values`` (V, m) are the outputs at the vertices, ``terms`` (m,) the sizes of :func:`output_term_sizes`, relative
    to which a value counts as zero. Returns the parts, the class of each and the region that it is in.
    """
    part = Complex.from_mesh(mesh)
    choice = values.shape[1] > 1
    classes = _contenders(mesh, values) if choice else np.arange(2)
    z = torch.from_numpy(values[:, None, classes] if choice else values)
    size = torch.from_numpy(terms[classes] if choice else terms)
    with small_work(VERTEX * z.numel()):
        part.subdivide(z, size.reshape(z.shape[1:]), 0, 0, choice=choice)
        side = region_sides(part.signs[-1], 1, len(classes) if choice else 0)[:, 0]
        cut = part.mesh()
    return cut, classes[side].astype(np.int16), part.signs[-1].parent


def check_slice(net: Network, origin: Any, basis: Any) -> tuple[Floats, Floats]:
    """Return the origin (n_in,) and basis (n_in, 2) of a plane; for networks of two inputs both may be None."""
    if basis is None:
        if net.n_in != 2:
            raise InputError(
                "basis",
                f"be given for a network of {plural(net.n_in, 'input')}",
                "None",
                f"pass origin ({net.n_in},) and basis ({net.n_in}, 2), or use plane_through(net, a, b, c)",
            )
        directions = np.eye(2)
    else:
        directions = check_numbers(basis, "basis")
        if directions.shape == (2, *net.input_shape):
            directions = directions.reshape(2, -1).T
        if directions.shape != (net.n_in, 2):
            raise InputError("basis", f"have shape ({net.n_in}, 2), two columns", f"{directions.shape}")
        check_finite(directions, "basis")
        if np.linalg.matrix_rank(directions) < 2:
            raise InputError("basis", "have two columns that span a plane", "parallel or zero ones")
    start = np.zeros(net.n_in) if origin is None else check_point(net, origin, "origin")
    return start, directions


def slice_through(net: Network, points: Sequence[Any]) -> tuple[Floats, Floats, Floats]:
    """Return the plane through three points: origin a, an orthonormal basis, and the points' coordinates (3, 2).

    Gram-Schmidt, as in eq. 6.2 of the dissertation (Ben Sattelberg, "Local Linearity of ReLU Neural Networks", 2026).
    """
    a, b, c = (check_point(net, point, name) for point, name in zip(points, "abc", strict=True))
    first = float(np.linalg.norm(b - a))
    if first == 0:
        raise InputError("b", "differ from a", "the same point", "give three points that are not on one line")
    e1 = (b - a) / first
    along = (c - a) @ e1
    rest = c - a - along * e1
    rest -= (rest @ e1) * e1  # once more: Gram-Schmidt loses digits on nearly parallel vectors
    height = float(np.linalg.norm(rest))
    if height <= 1e-12 * max(first, float(np.linalg.norm(c - a))):
        raise InputError(
            "c",
            "not be on the line through a and b",
            "three points on one line, which span no plane",
            "use line(net, a, b), or another third point",
        )
    coordinates = np.array([[0.0, 0.0], [first, 0.0], [along, height]])
    return a, np.stack([e1, rest / height], axis=1), coordinates


def box_around(t: Floats, margin: float) -> Floats:
    """Return the bounds (2, 2) of points (n, 2) and of this fraction of their extent around them."""
    low, high = t.min(axis=0), t.max(axis=0)
    pad = check_number(margin, "margin") * (high - low)
    return np.stack([low - pad, high + pad], axis=1)
