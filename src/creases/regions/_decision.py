"""The set where a network decides for a class, as exact polytopes: one for each connected part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse.csgraph import shortest_path

from creases._typing import Floats, Ints
from creases._validation import check_index, check_points
from creases.errors import InputError
from creases.network import NetworkLike, as_network
from creases.regions._halfspaces import SAME_PLANE, maximize
from creases.regions._plane.complex import components
from creases.regions._polytope import region_polytope
from creases.regions._space.lattice import Faces, number_faces
from creases.regions._space.partition import ClassParts, SpacePartition, split_by_class
from creases.regions._space.space import VERTEX_DIMENSIONS, space

Kind = Literal["hyperoctahedron", "expanded simplex"]  #: the smallest polytopes that enclose a ball


Incidence = NDArray[np.bool_]


def f_vector(incidence: Incidence) -> tuple[int, ...]:
    """Return the number of faces of dimension 0, ..., n - 1 of a polytope, from its incidence matrix.

    ``incidence`` (F, V) says which vertices are on which facets. Every face is the set of vertices that some facets
    share; its dimension is one more than that of the largest face within it.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]], bool)
    >>> f_vector(square)
    (4, 4)
    """
    facets = [sum(1 << int(v) for v in np.flatnonzero(row)) for row in incidence]  # sets of vertices, as bits
    faces, todo = set(facets), facets
    while todo:
        todo = list({face & facet for face in todo for facet in facets} - faces - {0})
        faces.update(todo)
    dimension: dict[int, int] = {}
    for face in sorted(faces, key=int.bit_count):
        dimension[face] = 1 + max((d for other, d in dimension.items() if other & face == other), default=-1)
    return tuple(np.bincount(list(dimension.values())).tolist())


def minimal_kind(incidence: Incidence, n: int) -> Kind | None:
    """Return which of the two smallest enclosures of n + 1 units this is combinatorially, None for neither.

    A segment (n = 1) is both, and counts as a hyperoctahedron.
    """
    if _is_hyperoctahedron(incidence, n):
        return "hyperoctahedron"
    return "expanded simplex" if _is_expanded_simplex(incidence, n) else None


def _is_hyperoctahedron(incidence: Incidence, n: int) -> bool:
    """Whether the vertices are n pairs, and the facets all choices of one of each pair."""
    if incidence.shape != (2**n, 2 * n):
        return False
    apart = ~(incidence.T @ incidence)  # (V, V) pairs of vertices that are on no common facet
    if not (apart.sum(axis=0) == 1).all():
        return False
    first = np.flatnonzero(apart.argmax(axis=0) > np.arange(2 * n))
    vertices, opposite = incidence[:, first], incidence[:, apart.argmax(axis=0)[first]]
    return bool((vertices != opposite).all()) and len(np.unique(vertices, axis=0)) == 2**n


def _is_expanded_simplex(incidence: Incidence, n: int) -> bool:
    """Whether the vertices are the pairs (i, j), i != j, of n + 1 numbers, and the facets S x (not S) for all sets S.

    Facets S = {i} and S = all but j are those of n vertices; such a pair shares the vertex (i, j), or none for i = j;
    two of a kind share none. This names numbers and vertices, so that every facet can be checked.
    """
    m = n + 1
    if n < 2 or incidence.shape != (2**m - 2, n * m):
        return False
    ends = incidence[incidence.sum(axis=1) == n].astype(np.int64)  # (2 m, V)
    shared = ends @ ends.T - n * np.eye(len(ends), dtype=np.int64)
    steps = shortest_path(shared, unweighted=True, indices=0) if len(ends) == 2 * m else np.full(1, np.inf)
    if not np.isfinite(steps).all():
        return False
    even, odd = np.flatnonzero(steps % 2 == 0), np.flatnonzero(steps % 2 == 1)
    if len(even) != m or len(odd) != m or not (np.sort(shared[even][:, odd], axis=1) == np.sort(1 - np.eye(m))).all():
        return False
    partner = shared[even][:, odd].argmin(axis=1)
    if (
        len(np.unique(partner)) != m
        or not (ends[even].sum(axis=0) == 1).all()
        or not (ends[odd].sum(axis=0) == 1).all()
    ):
        return False
    i, j = ends[even].argmax(axis=0), ends[odd[partner]].argmax(axis=0)  # the name of each vertex
    S = np.stack([incidence[:, i == number].any(axis=1) for number in range(m)], axis=1)
    return bool((incidence == (S[:, i] & ~S[:, j])).all()) and len(np.unique(S, axis=0)) == len(S)


Shape = Literal["hyperoctahedron", "expanded simplex", "other", "unbounded", "cut off"]

#: How often the default box is enlarged fourfold, at most.
MAX_ENLARGEMENTS = 12


@dataclass(frozen=True, eq=False)
class DecisionPolytope:
    """A connected part of the set where one class is decided; its facets are flat and meet in creases.

    An ``"unbounded"`` one extends to infinity, a ``"cut off"`` one leaves the box, by an unknown distance: for both the
    arrays describe the part in the box.
    """

    vertices: Floats  #: (V, n) where facets meet in a point
    normals: Floats  #: (F, n) of the facets, outward, of length 1
    offsets: Floats  #: (F,) ``normals @ x <= offsets`` just inside each facet
    incidence: NDArray[np.bool_]  #: (F, V) which vertices are on which facets
    volume: float
    extent: Literal["bounded", "unbounded", "cut off"]
    parts: tuple[Floats, ...]  #: its convex parts, one for each region it meets, by their corners (k, n)
    faces: tuple[Floats, ...]  #: the convex pieces (k, n) of its boundary, by their corners

    def __repr__(self) -> str:
        counts = f"{len(self.vertices)} vertices, {len(self.normals)} facets"
        return f"DecisionPolytope({self.kind} in {self.vertices.shape[1]} dimensions, {counts})"

    @cached_property
    def kind(self) -> Shape:
        """Its combinatorial type: one of the two smallest enclosures of n + 1 units, or another."""
        if self.extent != "bounded":
            return self.extent
        kind = minimal_kind(self.incidence, self.vertices.shape[1]) if self.convex else None
        return kind or "other"

    @cached_property
    def convex(self) -> bool:
        """Whether it is on one side of every facet's plane, up to rounding; False unless it is bounded."""
        if self.extent != "bounded":
            return False
        corners = np.concatenate(self.faces)
        size = np.ptp(corners, axis=0).max()
        return bool((self.normals @ corners.T <= self.offsets[:, None] + SAME_PLANE * size).all())

    @cached_property
    def f_vector(self) -> tuple[int, ...] | None:
        """Number of faces of dimension 0 (vertices), ..., n - 1 (facets); None unless it is convex."""
        return f_vector(self.incidence) if self.convex else None

    def radii(self, center: Any = None) -> tuple[float, float]:
        """Return the radii of the largest ball about a point inside it, and of the smallest around it.

        ``center`` (n,) defaults to the origin. The first is 0 for a point outside, the second infinite when the
        polytope is not bounded.
        """
        n = self.vertices.shape[1]
        c = np.zeros(n) if center is None else check_points(center, n, "center")[0]
        inside = any(_distance(part - c) <= 1e-12 * (1 + np.abs(part - c).max()) for part in self.parts)
        inner = min((_distance(face - c) for face in self.faces), default=inf) if inside else 0.0
        outer = float(np.linalg.norm(self.vertices - c, axis=1).max()) if self.extent == "bounded" else inf
        return inner, outer


def decision_polytopes(net: NetworkLike, box: Any = None, *, inside: int = 1) -> tuple[DecisionPolytope, ...]:
    """Return the set where a network decides for a class as polytopes, one for each connected part, largest first.

    Parameters
    ----------
    net
        A network, torch module or file name, of at most six inputs. With one output class 1 is where it is positive,
        class 0 elsewhere; with more, the class is the largest output.
    box
        ``(lo, hi)`` for all inputs, or a pair for each: where to look. By default [-1, 1] on every axis, enlarged
        fourfold while a part is cut off by the box (a part entirely outside is not seen).
    inside
        The class.

    Examples
    --------
    >>> import creases
    >>> hidden = [[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 0, 0]
    >>> net = creases.read([hidden, ([[-1, -1, -1, -1]], [1])])  # positive where |x| + |y| < 1
    >>> (polytope,) = creases.regions.decision_polytopes(net, inside=1)
    >>> polytope, polytope.f_vector
    (DecisionPolytope(hyperoctahedron in 2 dimensions, 4 vertices, 4 facets), (4, 4))
    >>> [round(radius, 6) for radius in polytope.radii()]
    [0.707107, 1.0]
    """
    net = as_network(net)
    inside = check_index(inside, max(2, net.n_out), "inside")
    if not 1 <= net.n_in <= VERTEX_DIMENSIONS:
        raise InputError(
            "net",
            f"have at most {VERTEX_DIMENSIONS} inputs",
            f"{net.n_in}",
            "polytopes in more dimensions have too many vertices; map planes with creases.plane",
        )
    if box is not None:
        return _polytopes(space(net, box, method="vertices"), inside)
    for power in range(MAX_ENLARGEMENTS + 1):
        polytopes = _polytopes(space(net, (-(4.0**power), 4.0**power), method="vertices"), inside)
        if all(polytope.extent != "cut off" for polytope in polytopes):
            break
    return polytopes


def _polytopes(partition: SpacePartition, inside: int) -> tuple[DecisionPolytope, ...]:
    """Return a polytope for each connected part of the set of a class."""
    done = split_by_class(partition)
    n, faces = done.lattice.n, number_faces(done.lattice)
    is_inside = done.classes == inside
    beside = faces.cofaces(n)  # (facets, 2), twice the same part at the box
    joint = is_inside[beside].all(axis=1)
    component = components(len(is_inside), beside[joint])
    volumes = faces.volumes(done.lattice.data[: done.lattice.n_vertices, :n])
    at_box = np.zeros(len(is_inside), bool)
    at_box[beside[beside[:, 0] == beside[:, 1], 0]] = True
    which = np.unique(component[is_inside])
    polytopes = [
        _polytope(partition, done, faces, np.flatnonzero(component == k), beside, volumes, at_box) for k in which
    ]
    return tuple(sorted(polytopes, key=lambda polytope: polytope.volume, reverse=True))


def _polytope(
    partition: SpacePartition,
    done: ClassParts,
    faces: Faces,
    parts: Ints,
    beside: Ints,
    volumes: Floats,
    at_box: NDArray[np.bool_],
) -> DecisionPolytope:
    """Return the polytope that some parts of regions make up."""
    n = done.lattice.n
    points = done.lattice.data[: done.lattice.n_vertices, :n]
    belongs = np.zeros(len(done.classes), bool)
    belongs[parts] = True
    walls = np.flatnonzero(belongs[beside].sum(axis=1) == 1)  # one side in it, the other not
    pairs = np.where(belongs[beside[walls, :1]], beside[walls], beside[walls, ::-1])  # inside first
    corners = _corners(faces, n - 1, walls)
    N, s = _planes(partition, done, pairs)
    group = _flat_groups(N, s, corners, points)
    first = np.unique(group, return_index=True)[1] if len(group) else np.zeros(0, np.int64)
    on = np.zeros((len(first), len(points)), bool)
    for g, face in zip(group, corners, strict=True):
        on[g, face] = True
    candidates = np.flatnonzero(on.sum(axis=0) >= n)
    meet = [v for v in candidates if np.linalg.matrix_rank(N[first][on[:, v]], tol=SAME_PLANE) == n]
    extent = _extent(partition, done, parts[at_box[parts]])
    return DecisionPolytope(
        vertices=points[meet],
        normals=N[first],
        offsets=s[first],
        incidence=on[:, meet],
        volume=inf if extent == "unbounded" else float(volumes[parts].sum()),
        extent=extent,
        parts=tuple(points[part] for part in _corners(faces, n, parts)),
        faces=tuple(points[face] for face in corners),
    )


def _corners(faces: Faces, k: int, which: Ints) -> list[NDArray[np.int32]]:
    """Return the vertices of some faces of dimension k."""
    if k == 0:
        return [np.array([v], np.int32) for v in which]
    corners, starts = faces.corners(k)
    return [corners[starts[f] : starts[f + 1]] for f in which]


def _planes(partition: SpacePartition, done: ClassParts, pairs: Ints) -> tuple[Floats, Floats]:
    """Return normals (F, n), outward, and offsets of faces between parts (F, 2) of different classes.

    The classes tie on the plane of a face, in the region inside or, where they tie in all of that, in the one beyond.
    """
    n = done.lattice.n
    piece = partition.pieces()
    J, y = np.asarray(piece.J, np.float64), np.asarray(piece.y, np.float64)
    if J.shape[1] == 1:  # class 0 has an output 0 to tie with
        J, y = np.insert(J, 0, 0.0, axis=1), np.insert(y, 0, 0.0, axis=1)
    a, b = done.classes[pairs].T
    out = np.zeros((len(pairs), n + 1))
    size = np.zeros(len(pairs))
    for side in (0, 1):
        r = done.regions[pairs[:, side]]
        row = np.column_stack([J[r, b] - J[r, a], y[r, a] - y[r, b]])
        length = np.linalg.norm(row[:, :-1], axis=1)
        better = length > 1e3 * size if side else np.full(len(pairs), True)
        out[better], size[better] = row[better], length[better]
    out /= size[:, None]
    return out[:, :-1], out[:, -1]


def _flat_groups(N: Floats, s: Floats, corners: list[NDArray[np.int32]], points: Floats) -> Ints:
    """Return the facet of each boundary face: faces in one plane that share a ridge are one facet."""
    if not corners:
        return np.zeros(0, np.int64)
    used = points[np.concatenate(corners)]
    size = max(float(np.ptp(used, axis=0).max()), np.finfo(float).tiny)
    away = s - N @ used.mean(axis=0)  # offsets relative to the middle
    near = np.abs(N[:, None] - N[None]).max(axis=2) <= SAME_PLANE
    near &= np.abs(away[:, None] - away[None]) <= SAME_PLANE * size
    sets = [set(face.tolist()) for face in corners]
    pairs = [(i, j) for i, j in np.argwhere(np.triu(near, 1)) if len(sets[i] & sets[j]) >= max(1, points.shape[1] - 1)]
    return components(len(corners), np.array(pairs, np.int64).reshape(-1, 2)).astype(np.int64)


def _extent(partition: SpacePartition, done: ClassParts, outer: Ints) -> Literal["bounded", "unbounded", "cut off"]:
    """Return whether the set extends to infinity in one of its parts at the border of the box."""
    if not len(outer):
        return "bounded"
    sides = partition.sides()
    for part in outer:
        polytope = region_polytope(partition.net, sides[done.regions[part]])
        J = polytope.J if len(polytope.J) > 1 else np.vstack([0 * polytope.J, polytope.J])
        rows = np.vstack([polytope.Q, J - J[done.classes[part]]])  # directions in which no unit nor class changes
        length = np.linalg.norm(rows, axis=1)
        N, n = rows[length > 0] / length[length > 0, None], rows.shape[1]
        rows, limits = np.vstack([N, np.eye(n), -np.eye(n)]), np.append(np.zeros(len(N)), np.ones(2 * n))
        if any(maximize(sign * axis, rows, limits)[0] > 0.5 for axis in np.eye(n) for sign in (1, -1)):
            return "unbounded"  # N d <= 0 for some d other than 0
    return "cut off"


def _distance(points: Floats) -> float:
    """Return the distance of the origin from the convex hull of points (k, n).

    Non-negative least squares of ``[points^T; 1^T] u`` to ``(0, ..., 0, 1)``: by its optimality conditions
    ``points^T u / sum u`` is the nearest point of the hull.
    """
    size = np.abs(points).max()
    if size == 0:
        return 0.0
    rows = np.vstack([points.T / size, np.ones(len(points))])
    u, _ = nnls(rows, np.eye(1, len(rows), len(rows) - 1)[0], maxiter=100 * len(points))
    return float(np.linalg.norm(rows[:-1] @ u / u.sum()) * size)
