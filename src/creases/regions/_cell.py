"""One region in any dimension: the polytope around an input, and its neighbors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from creases._display import plot
from creases._document import Document, facts
from creases._program import activation_times_gradient, pack_sides
from creases._text import OneLine, plural
from creases._typing import Floats, Ints, Progress
from creases._validation import check_box
from creases.errors import InputError
from creases.network import Network, NetworkLike, Piece, PointsLike, as_network, describe_piece
from creases.regions._archive import Archived
from creases.regions._halfspaces import (
    SAME_PLANE,
    chebyshev,
    facet_center,
    irredundant,
    maximize,
    nearest_point_from,
    same_plane,
)
from creases.regions._locate import canonical_sides, facet_ties, point_ties, sides_toward, zero_rows
from creases.regions._polytope import Polytope, check_point, region_polytope
from creases.regions._resources import MemoryLimit
from creases.regions._tolerance import SIGN_TOLERANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class NearestCrease(NamedTuple):
    """The crease of a region nearest to its point."""

    distance: float
    row: int
    unit: int


class NearestBoundary(NamedTuple):
    """The point of the decision boundary, within one closed region, nearest to the region's point."""

    distance: float
    point: Floats  #: (d,)
    classes: tuple[int, int]  #: the class at the region's point, and the one it ties with


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(OneLine):
    """Why a network decides one input as it does; :meth:`creases.regions.Cell.explain` returns one.

    The margin is the lead of the predicted class over the runner-up. On the region of the input it is the affine
    function ``coefficients . x + offset``, so ``input_times_gradient.sum() + offset`` is the margin.
    This is a statement about the one region; :func:`creases.explain.attributions` compares with another input.
    """

    #: Facets and bounding boxes take a linear program for each row and input: seconds up to here, hours for images.
    MAX_INPUTS: ClassVar[int] = 64
    MAX_ROWS: ClassVar[int] = 2_000

    predicted: int  #: the class; a network of one output decides by its sign, class 1 where it is positive
    runner_up: int
    outputs: Floats  #: (m,)
    margin: float
    offset: float
    coefficients: Floats  #: (d,) slope of the margin in each input
    input_times_gradient: Floats  #: (d,) coefficient times input
    activation_times_gradient: Floats  #: (n_units,) value of each unit times the slope of the margin in it
    nearest_crease: NearestCrease | None  #: None when no unit bounds the region
    nearest_boundary: NearestBoundary | None  #: None when the boundary does not pass through the region
    radius: float | None  #: of the largest ball in the region; None for large networks, where it takes too long
    bounding_box: Floats | None  #: (d, 2) of the region; None as above
    facet_units: Ints | None  #: the units whose creases bound the region; None as above
    cell: Cell = field(repr=False)  #: the region

    @property
    def ranked_inputs(self) -> Ints:
        """Inputs (d,) by the magnitude of input times gradient, largest first."""
        return np.argsort(-np.abs(self.input_times_gradient), kind="stable")

    @property
    def ranked_units(self) -> Ints:
        """Units whose activation times gradient is not 0, by its magnitude, largest first."""
        order = np.argsort(-np.abs(self.activation_times_gradient), kind="stable")
        return np.asarray(order[self.activation_times_gradient[order] != 0])

    def to_dict(
        self,
        *,
        inputs: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        is_regression: bool = False,
    ) -> dict[str, Any]:
        """Return the explanation as plain values, with None for infinity, and names of inputs and classes if given.

        Of a regression the margin is the number itself, and there is no decision.
        """
        cell, crease, boundary, box = self.cell, self.nearest_crease, self.nearest_boundary, self.bounding_box
        sign = -1.0 if is_regression and self.predicted == 0 else 1.0

        def unit(index: int) -> dict[str, Any]:
            return {"unit": index, "name": str(cell.net.unit(index))}

        def class_name(number: int) -> str:
            return f"class {number}" if classes is None else classes[number]

        on_boundary = None
        if boundary is not None and not is_regression:
            on_boundary = {"class": class_name(boundary.classes[1]), "distance": boundary.distance}
            on_boundary |= {"point": boundary.point.tolist()}
        return {
            "network": repr(cell.net),
            "class": self.predicted,
            "runner_up": self.runner_up,
            "names": None if is_regression else [class_name(k) for k in (self.predicted, self.runner_up)],
            "outputs": self.outputs.tolist(),
            "margin": sign * self.margin,
            "offset": sign * self.offset,
            "inputs": [
                {
                    "input": [int(i) for i in np.unravel_index(j, cell.net.input_shape)],
                    "name": f"x{j}" if inputs is None else inputs[j],
                    "value": float(cell.x[j]),
                    "coefficient": sign * float(self.coefficients[j]),
                    "input_times_gradient": sign * float(self.input_times_gradient[j]),
                }
                for j in self.ranked_inputs.tolist()
            ],
            "region": {
                "radius": None if self.radius is None else _finite(self.radius),
                "unbounded": None if box is None else bool(np.isinf(box).any()),
                "bounding_box": None if box is None else [[_finite(end) for end in ends] for ends in box],
                "facets": None if self.facet_units is None else [unit(int(u)) for u in self.facet_units],
            },
            "nearest_crease": None if crease is None else {**unit(crease.unit), "distance": crease.distance},
            "boundary_in_region": on_boundary,
            "units": [
                {**unit(int(u)), "activation_times_gradient": sign * float(self.activation_times_gradient[u])}
                for u in self.ranked_units
            ],
        }


def _finite(number: float) -> float | None:
    """Return a number, or None where it is infinite: JSON has no infinity."""
    return float(number) if np.isfinite(number) else None


def decision(outputs: Floats) -> tuple[int, int, Floats]:
    """Return the class, the runner-up, and the weights w (m,) for which the margin is ``w . outputs``."""
    if len(outputs) == 1:
        predicted = int(outputs[0] > 0)
        return predicted, 1 - predicted, np.array([1.0 if predicted else -1.0])
    predicted, runner_up = (int(i) for i in np.argsort(-outputs, kind="stable")[:2])
    weights = np.zeros(len(outputs))
    weights[predicted], weights[runner_up] = 1.0, -1.0
    return predicted, runner_up, weights


# The rows ``Q x <= p`` of a region in coordinates around its point, scaled for linear programs.


@dataclass(frozen=True, eq=False)
class LocalRows:
    """The nonzero rows as ``N w <= s``, ``x' = x + unit basis w``: normals of length 1, in their span.

    Only linear programs need ``N`` and ``basis``, which take an SVD where there are fewer rows than inputs: they are
    computed on first access.
    """

    normals: Floats  #: (c, d) of length 1
    s: Floats  #: (c,)
    rows: Ints  #: (c,) rows of Q
    unit: float
    x: Floats

    @classmethod
    def from_rows(cls, Q: Floats, p: Floats, x: Floats, *, is_crease: NDArray[np.bool_]) -> LocalRows:
        """Normalize rows (c, d) around a point of the region; rows that are not creases are sides of a box."""
        length = np.linalg.norm(Q, axis=1)
        rows = np.flatnonzero(length > 0)
        rows = rows[np.argsort(is_crease[rows], kind="stable")]  # the box first: a crease along its side is no facet
        s = np.maximum((p[rows] - Q[rows] @ x) / length[rows], 0.0)
        clear = s[s > 1e-12 * (np.abs(x).max(initial=0) + s.max(initial=0))]
        unit = float(clear.min(initial=np.inf))
        unit = unit if np.isfinite(unit) else 1.0
        return cls(Q[rows] / length[rows, None], s / unit, rows, unit, x)

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal coordinates (d, r) of the normals' span: linear programs are quicker there."""
        if len(self.rows) >= len(self.x):
            return np.eye(len(self.x))
        _, size, directions = np.linalg.svd(self.normals, full_matrices=False)
        basis: Floats = directions[size > 1e-12 * size.max(initial=0)].T
        return basis

    @cached_property
    def N(self) -> Floats:
        """The normals (c, r) in the basis."""
        return self.normals if len(self.rows) >= len(self.x) else self.normals @ self.basis

    def lift(self, w: Floats) -> Floats:
        """Return the input at local coordinates w."""
        return self.x + self.unit * (self.basis @ w)


#: Vertices are listed up to this many dimensions: their number grows exponentially with it.
VERTEX_DIMENSIONS = 4


@dataclass(frozen=True, eq=False, repr=False)
class Cell(Archived, OneLine):
    """The region ``Q x <= p`` of one input ``x``, as :func:`cell` returns it. Distances are Euclidean.

    Properties that take linear programs (facets, center, bounding box, vertices) are computed on first access.
    """

    net: Network
    x: Floats  #: (d,)
    sides: NDArray[np.int16]  #: (n_units,) of every unit in this region
    Q: Floats  #: (c, d); rows with a zero normal are no constraint
    p: Floats  #: (c,)
    units: Ints  #: (c,) the unit of each row, -1: a side of the box
    across: NDArray[np.int16]  #: (c,) the side the unit takes beyond the row
    J: Floats  #: (m, d)
    y: Floats  #: (m,)

    #: Inputs and rows up to which :meth:`describe` computes the shape: it takes linear programs.
    MAX_INPUTS: ClassVar[int] = 50
    MAX_ROWS: ClassVar[int] = 500

    def describe(self) -> Document:
        """Return where the region is, what bounds it, and what the network is on it."""
        is_small = len(self.x) <= self.MAX_INPUTS and len(self.p) <= self.MAX_ROWS
        at = ", ".join(f"{value:.4g}" for value in self.x[:6]) + (", …" if len(self.x) > 6 else "")
        about = {"at": f"({at})", "units": f"{self.net.n_units:,}"}
        if is_small:
            about |= {"sides": plural(len(self.facets), "facet"), "largest ball": f"radius {self.radius:.4g}"}
        if self.nearest_crease is not None:
            unit = self.net.unit(self.nearest_crease.unit)
            about["nearest crease"] = f"{self.nearest_crease.distance:.4g}, of {unit}"
        if is_small:
            boundary = self.nearest_boundary
            about["nearest boundary"] = "does not pass through" if boundary is None else f"{boundary.distance:.4g}"
        (coefficients,) = describe_piece(self.piece).sections
        text = {"text": "In this region the network is J x + y:"}
        return Document("Cell", "", [facts("Region", about.items()), coefficients | text], about)

    @property
    def piece(self) -> Piece:
        """The affine function ``J x + y`` that the network is on this region."""
        return Piece(self.J, self.y)

    @property
    def pattern(self) -> NDArray[np.uint8]:
        """The sides of all units as packed bits (n_bytes,)."""
        packed: NDArray[np.uint8] = pack_sides(self.net, self.sides[None])[0]
        return packed

    def contains(self, points: PointsLike) -> NDArray[np.bool_]:
        """Return whether points (n, d) lie in the closed region, within the tolerance: (n,)."""
        batch = self.net.to(torch.float64).as_batch(points, "points")[0].flatten(1).cpu().numpy()
        room = SIGN_TOLERANCE * (np.abs(batch) @ np.abs(self.Q).T + np.abs(self.p))
        inside: NDArray[np.bool_] = (batch @ self.Q.T - self.p <= room).all(axis=1)
        return inside

    @cached_property
    def _local(self) -> LocalRows:
        return LocalRows.from_rows(self.Q, self.p, self.x, is_crease=self.units >= 0)

    @cached_property
    def _ball(self) -> tuple[Floats, float]:
        """Center and radius of a largest ball in local coordinates; the center of a unit ball if it is unbounded."""
        part = self._local
        center, radius = chebyshev(part.N, part.s)
        if np.isinf(radius):
            center, _ = chebyshev(part.N, part.s, cap=1.0)
        return center, radius

    @property
    def radius(self) -> float:
        """Radius of the largest ball in the region; infinity when it contains balls of every size."""
        return self._ball[1] * self._local.unit

    @property
    def center(self) -> Floats:
        """Center (d,) of a largest ball in the region: a point of its interior, also when the radius is infinite."""
        return self._local.lift(self._ball[0])

    @cached_property
    def facets(self) -> Ints:
        """Rows of Q that bound the region, the first where units share a crease; ``units[facets]`` names them."""
        part = self._local
        return np.sort(part.rows[irredundant(part.N, part.s, self._ball[0])])

    @cached_property
    def bounding_box(self) -> Floats:
        """Smallest and largest coordinate on every axis, (d, 2); infinite where the region is unbounded."""
        part = self._local
        box = np.empty((len(self.x), 2))
        for axis, e in enumerate(part.basis):  # e: the axis in the coordinates of the rows' span
            free = 1 - e @ e > SAME_PLANE  # the region is a cylinder along a direction that this axis has a part in
            for end, sign in enumerate((-1.0, 1.0)):
                reach = np.inf if free else maximize(sign * e, part.N, part.s)[0]
                box[axis, end] = self.x[axis] + sign * part.unit * reach
        return box

    @cached_property
    def vertices(self) -> Floats:
        """Corners (v, d) of a bounded region in at most 4 dimensions, counter-clockwise in two."""
        from scipy.spatial import HalfspaceIntersection

        d = len(self.x)
        if d > VERTEX_DIMENSIONS:
            raise InputError("net", f"have at most {VERTEX_DIMENSIONS} inputs to list vertices", f"{d}")
        if not np.isfinite(self.bounding_box).all():
            raise InputError(
                "box", "bound the region to list vertices", "an unbounded region", "pass one: cell(net, x, box=...)"
            )
        if len(self.x) == 1:
            return self.bounding_box.T.copy()
        part = self._local  # a bounded region's rows span all directions: its basis is the axes
        keep = np.isin(part.rows, self.facets)
        ends = (self.bounding_box - self.x[:, None]) / part.unit
        size = ends[:, 1] - ends[:, 0]  # each axis in its own unit: a region may be 1e8 times as long as it is wide
        N = part.N[keep] * size
        length = np.linalg.norm(N, axis=1)
        N, s = N / length[:, None], part.s[keep] / length
        points = HalfspaceIntersection(np.column_stack([N, -s]), chebyshev(N, s)[0]).intersections
        _, first = np.unique(np.round(points, 9) + 0.0, axis=0, return_index=True)
        corners = points[np.sort(first)]
        if corners.shape[1] == 2:
            around = corners - corners.mean(axis=0)
            corners = corners[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
        return self.x + part.unit * size * corners

    def neighbor(self, row: int) -> Cell:
        """Return the region across one of the ``facets``; its ``x`` is beyond the middle of that facet.

        All units whose crease contains the facet change side at once, and later units take the sides that follow from
        it: exact, by derivatives along the facet's normal.
        """
        if not isinstance(row, int | np.integer) or row not in self.facets:
            raise InputError("row", f"be one of the facets {self.facets.tolist()}", f"{row}")
        if self.units[row] < 0:
            raise InputError("row", "be a crease", f"{row}, a side of the box with no region beyond it")
        part = self._local
        index = int(np.flatnonzero(part.rows == row)[0])
        middle = part.lift(facet_center(part.N, part.s, index)[0])
        normal = self.Q[row] / np.linalg.norm(self.Q[row])
        middle = middle - (self.Q[row] @ middle - self.p[row]) / np.linalg.norm(self.Q[row]) * normal
        rows = np.concatenate([part.rows[same_plane(part.N, part.s, index)], zero_rows(self.Q, self.p)])
        tied = facet_ties(self.net, self.sides, self.units[rows], self.across[rows])
        sides = sides_toward(self.net, self.sides, tied, normal)
        box = self.units < 0
        new = _cell(self.net, middle, sides, (self.Q[box], self.p[box]))
        speed = new.Q @ normal
        ahead = speed > 1e-9 * np.linalg.norm(new.Q, axis=1)
        way = (new.p[ahead] - new.Q[ahead] @ middle) / speed[ahead]  # through the new region
        return replace(new, x=middle + float(min(way.min(initial=np.inf) / 2, part.unit)) * normal)

    @property
    def crease_distance(self) -> float:
        """Distance from ``x`` to the nearest crease of this region, infinity when it has none."""
        return self.nearest_crease.distance if self.nearest_crease else np.inf

    @cached_property
    def nearest_crease(self) -> NearestCrease | None:
        """The crease of this region nearest to ``x``; None when no unit bounds the region."""
        part = self._local
        distance = np.where(self.units[part.rows] < 0, np.inf, part.s * part.unit)
        if not np.isfinite(distance).any():
            return None
        nearest = int(distance.argmin())
        row = int(part.rows[nearest])
        return NearestCrease(float(distance[nearest]), row, int(self.units[row]))

    @property
    def boundary_distance(self) -> float | None:
        """Distance from ``x`` to the decision boundary inside the region, None when it does not pass through."""
        return self.nearest_boundary.distance if self.nearest_boundary else None

    @cached_property
    def nearest_boundary(self) -> NearestBoundary | None:
        """The point of the closed region nearest to ``x`` where the class of ``x`` ties with another.

        The least distance to ``Q x <= p, z_c <= z_j`` over the other classes j, nearest hyperplane first. A network
        with one output decides by its sign: class 1 where it is positive, else 0.
        """
        J, y = self.J, self.y
        if len(y) == 1:  # the sign of one output: the same as two outputs (0, f)
            J, y = np.vstack([0 * J, J]), np.append(0.0, y)
        z = J @ self.x + y
        predicted = int(z.argmax())
        normal, lead = J[predicted] - J, z[predicted] - z
        length = np.linalg.norm(normal, axis=1)
        ahead = length > SIGN_TOLERANCE * (
            np.linalg.norm(J[predicted]) + np.linalg.norm(J, axis=1)
        )  # else they never tie, or always do
        reach = np.where(ahead, lead / np.where(ahead, length, 1.0), np.inf)
        part, best = self._local, None
        N, s = part.normals, part.s * part.unit
        for j in np.argsort(reach):
            if np.isinf(reach[j]) or (best is not None and best.distance <= reach[j]):
                break
            scale = reach[j] if reach[j] > 0 else 1.0
            w = nearest_point_from(N, s / scale, normal[j] / length[j], -reach[j] / scale)
            if w is not None and (best is None or np.linalg.norm(w) * scale < best.distance):
                best = NearestBoundary(float(np.linalg.norm(w) * scale), self.x + scale * w, (predicted, int(j)))
        return best

    def explain(self) -> Explanation:
        """Return what decides ``x``: the margin, input and activation times gradient, the nearest alternatives.

        Examples
        --------
        >>> import creases
        >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])])
        >>> why = creases.cell(net, [0.25, 0.5]).explain()
        >>> why.predicted, why.margin, why.input_times_gradient.tolist(), why.offset
        (1, 0.25, [0.25, 0.5], -0.5)
        """
        outputs = self.J @ self.x + self.y
        predicted, runner_up, weights = decision(outputs)
        coefficients = weights @ self.J
        is_small = len(self.x) <= Explanation.MAX_INPUTS and len(self.p) <= Explanation.MAX_ROWS
        return Explanation(
            predicted=predicted,
            runner_up=runner_up,
            outputs=outputs,
            margin=float(weights @ outputs),
            offset=float(weights @ self.y),
            coefficients=coefficients,
            input_times_gradient=coefficients * self.x,
            activation_times_gradient=activation_times_gradient(self.net, self.x, weights),
            nearest_crease=self.nearest_crease,
            nearest_boundary=self.nearest_boundary,
            radius=self.radius if is_small else None,
            bounding_box=self.bounding_box if is_small else None,
            facet_units=self.units[self.facets] if is_small else None,
            cell=self,
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the region, in two dimensions: see :func:`creases.show.plot_cell`."""
        axes: Axes = plot(self, ax=ax)
        return axes


def cell(
    net: NetworkLike, x: Any, *, box: Any = None, max_memory: float | None = None, progress: Progress | None = None
) -> Cell:
    """Return the region of one input, in any dimension.

    On a crease it is the region of the sides that ``net.sides`` takes there. Where these hold on no open set (several
    creases meet), it is the region that one enters on leaving ``x`` in a fixed direction; ``x`` is then on its border.
    A unit that is identically zero on the region has side 0.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; the geometry is in float64.
    x
        One point, in the model's input shape or flattened.
    box
        ``(lo, hi)`` for all inputs, or a pair for each: also bound the region by this box, which must contain ``x``.
    max_memory
        About how many bytes the work may hold; no limit by default. A region has a row for each unit and a column for
        each input: where they need more, :class:`creases.errors.LimitError` says how much, before they are computed.
    progress
        Called with the number of input directions that have gone through the network, and of all (of a network with
        more inputs than units: of pre-activations). An exception raised by it ends the computation.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # relu(x0) + relu(x1) - 1
    >>> quadrant = creases.cell(net, [0.25, 0.5])
    >>> quadrant.units[quadrant.facets].tolist(), quadrant.crease_distance
    ([0, 1], 0.25)
    """
    net = as_network(net).to(torch.float64)
    point = check_point(net, x)
    limits = None if box is None else check_box(box, net.n_in)
    sides = net.sides(point)
    d = len(point)
    box_rows = np.zeros((0, d)), np.zeros(0)
    if limits is not None:
        if not ((limits[:, 0] <= point) & (point <= limits[:, 1])).all():
            raise InputError("box", "contain x", f"{limits.tolist()}")
        box_rows = np.vstack([-np.eye(d), np.eye(d)]), np.concatenate([-limits[:, 0], limits[:, 1]])
    find = partial(
        region_polytope, net, memory=MemoryLimit(max_memory, "use a network of fewer units"), progress=progress
    )
    region = _cell(net, point, sides, box_rows, find)
    slack = np.abs(region.Q @ point - region.p)
    on_crease = slack <= SAME_PLANE * (np.abs(region.Q) @ np.abs(point) + np.abs(region.p))
    if region.Q[on_crease].any() and region._ball[1] <= SAME_PLANE:  # x is on creases, and these sides hold on no ball
        tied = point_ties(net, torch.from_numpy(point).to(net.device))
        direction = np.random.default_rng(0).normal(size=len(point))  # not special to any network
        if limits is not None:  # into the box, where x is on its border
            lo, hi = limits.T
            aside = np.where(point <= lo, np.abs(direction), direction)
            direction = np.where(point >= hi, -np.abs(direction), aside)
        region = _cell(net, point, sides_toward(net, sides, tied, direction), box_rows, find)
        if region._ball[1] <= SAME_PLANE:
            raise InputError(
                "x", "be in the interior of a region", "a point too close to several creases", "move x a little"
            )
    return region


def _cell(
    net: Network,
    x: Floats,
    sides: NDArray[np.int16],
    box: tuple[Floats, Floats],
    find: Callable[[NDArray[np.int16]], Polytope] | None = None,
) -> Cell:
    find = find or partial(region_polytope, net)
    part = find(sides)
    first = canonical_sides(part, sides)
    if (first != sides).any():
        part, sides = find(first), first
    (Q, p), none = box, np.full(len(box[1]), -1)
    units, across = np.append(part.units, none), np.append(part.across, none).astype(np.int16)
    rows = np.vstack([part.Q, Q]) if len(Q) else part.Q  # no copy: of an image network they take hundreds of MB
    return Cell(net, x, sides, rows, np.append(part.p, p), units, across, part.J, part.y)
