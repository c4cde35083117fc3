"""What is maximized: the smallest of several affine functions of the outputs, or a coefficient."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats
from creases.certify._maximize.domain import Domain, maximize_in
from creases.certify._maximize.gradient_program import encode_coefficient
from creases.certify._milp import Encoding, encode_network
from creases.certify.propagation import Interval
from creases.certify.propagation._gradients import gradient_bounds
from creases.certify.propagation._linear import LinearBounds
from creases.network import Network
from creases.regions.geometry import Polytope, UndecidedError, maximize, region_polytope

#: The most regions that a point climbs through by linear programs, and the most numbers in all their rows.
MAX_CLIMB, CLIMB_SIZE = 30, 2**20

#: A region whose largest ball is no larger, in units of the box's sides, has no interior.
MIN_RADIUS = 1e-9


class Program(NamedTuple):
    """A mixed-integer program whose largest ``cost v + constant`` is that of an objective over a box."""

    encoding: Encoding
    cost: Floats  #: (v,)
    constant: float


class Objective(Protocol):
    """A function of the input that can be evaluated, bounded over boxes, and written as a mixed-integer program."""

    @property
    def net(self) -> Network:
        """The network, in float64."""
        ...

    def values(self, X: Floats) -> Floats:
        """Return the values (p,) at points (p, n_in)."""
        ...

    def is_reached(self, domain: Domain, x: Floats) -> bool:
        """Whether the value at a point is one of the function: on a crease a coefficient may be that of no region."""
        ...

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return an upper bound over each box (b,), points to try (p, n_in), and how much each side matters (b, n)."""
        ...

    def program(self, bounds: LinearBounds, box: Floats) -> Program | None:
        """Return the program of one box, from bounds of a batch of one; None if it cannot be written as one."""
        ...

    def improve(
        self, domain: Domain, x: Floats, point: Floats | None = None, program: Encoding | None = None
    ) -> Floats:
        """Return a better point near ``x``, or ``x``; ``point`` (v,) is the solution of a program it comes from."""
        ...


@dataclass(frozen=True, eq=False)
class LeastRow:
    """The smallest of ``rows`` (k, n_out) times the output plus ``offsets`` (k,)."""

    net: Network
    rows: Floats
    offsets: Floats

    def values(self, X: Floats) -> Floats:
        """Return the values (p,) at points (p, n_in)."""
        outputs = np.asarray(self.net(X)).reshape(len(X), -1)
        return np.asarray((outputs @ self.rows.T + self.offsets).min(axis=1))

    def is_reached(self, domain: Domain, x: Floats) -> bool:
        """Return True: the function is continuous."""
        return True

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return bounds, points to try and the weight of each side; see :class:`Objective`."""
        rows = torch.from_numpy(self.rows)
        with torch.no_grad():
            G, constant = bounds.linear_upper(rows)
            constant = constant + torch.from_numpy(self.offsets)
            each = bounds.worst(G, constant)  # (b, k)
            upper, row = (part.numpy() for part in each.min(dim=1))
            slopes = gradient_bounds(bounds, rows)[0].size.amax(dim=1).flatten(1)  # (b, n)
        functions, constants = G.numpy(), constant.numpy()
        lead = functions[np.arange(len(row)), row]
        center, radius = bounds.center.numpy(), bounds.radius.numpy()
        points = center + radius * np.sign(lead)
        if not domain.is_box or functions.shape[1] > 1:
            points = points.copy()
            for i in range(len(upper)):
                part = domain.within(np.stack([center[i] - radius[i], center[i] + radius[i]], axis=1))
                value, x = part.maximize(functions[i], constants[i])
                upper[i] = min(upper[i], value)
                points[i] = center[i] if x is None else x
        return upper, points, radius * slopes.numpy()

    def improve(
        self, domain: Domain, x: Floats, point: Floats | None = None, program: Encoding | None = None
    ) -> Floats:
        """Climb from region to region by linear programs, while the value grows."""
        value = float(self.values(x[None])[0])
        size = np.ptp(domain.box, axis=1)
        inside = x
        rows = (
            int(np.diff(self.net.unit_starts) @ (np.array(self.net.candidates, np.int64) - 1)) if self.net.bends else 0
        )
        for _ in range(min(MAX_CLIMB, 1 + CLIMB_SIZE // max(1, rows * self.net.n_in))):
            best = climb_region(self.net, domain, np.clip(inside, *domain.box.T), self.rows, self.offsets)
            if not domain.contains(best[None])[0]:
                break
            reached = float(self.values(best[None])[0])
            if reached <= value + 1e-12 * abs(value):
                break
            direction = self.rows[0] @ np.asarray(self.net.piece(inside).J)
            x, value = best, reached
            inside = best + 1e-6 * size * np.sign(direction)
        return x

    def program(self, bounds: LinearBounds, box: Floats) -> Program | None:
        """Return the program of one box; see :class:`Objective`."""
        program = encode_network(self.net, box, entering_intervals(bounds))
        C, d = self.rows @ program.outputs, self.rows @ program.offset + self.offsets
        if len(d) == 1:
            return Program(program, C[0], float(d[0]))
        reach = np.abs(C) @ np.maximum(np.abs(program.low), np.abs(program.high)) + np.abs(d)
        program, (column,) = program.add_columns(-reach.max(), reach.max())
        rows = -np.pad(C, ((0, 0), (0, 1)))
        rows[:, column] = 1
        cost = np.zeros(len(program.low))
        cost[column] = 1
        return Program(program.add_rows(rows, -np.inf, d), cost, 0.0)


@dataclass(frozen=True, eq=False)
class Coefficient:
    """The coefficient of one input in ``row`` (n_out,) times the output: an entry of the Jacobian, or a combination."""

    net: Network
    row: Floats
    column: int
    _direction: Tensor = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_direction", torch.from_numpy(self.row)[None])

    def values(self, X: Floats) -> Floats:
        """Return the coefficient (p,) of the pieces at points (p, n_in)."""
        return np.concatenate([self.row @ piece.J[:, :, self.column].T for piece in self.net.jacobians(X)])

    def is_reached(self, domain: Domain, x: Floats) -> bool:
        """Whether the sides of units at a point are those of a region with an interior."""
        return ball_in(region_polytope(self.net, self.net.sides(x)), domain)[1] > MIN_RADIUS

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return bounds, points to try and the weight of each side; see :class:`Objective`."""
        gradients = gradient_bounds(bounds, self._direction)
        upper = gradients[0].high.flatten(2)[:, 0, self.column].numpy().copy()
        center, radius = bounds.center.numpy(), bounds.radius.numpy()
        if not domain.is_box:
            for i in range(len(upper)):
                part = domain.within(np.stack([center[i] - radius[i], center[i] + radius[i]], axis=1))
                if part.maximize(np.zeros(len(radius[i])))[1] is None:
                    upper[i] = -np.inf
        return upper, center, radius / np.ptp(domain.box, axis=1)

    def program(self, bounds: LinearBounds, box: Floats) -> Program | None:
        """Return the program of one box; None for a network with choices. See :class:`Objective`."""
        if any(self.net.steps[i].op != "relu" for i in self.net.bends):
            return None
        return Program(*encode_coefficient(self.net, self.row, self.column, bounds, box))

    def improve(
        self, domain: Domain, x: Floats, point: Floats | None = None, program: Encoding | None = None
    ) -> Floats:
        """Return a point inside the region that a program's solution (v,) means; ``x`` itself without one.

        A program's sides hold on closed regions: at a crease also those of no region. What has no interior does not
        count.
        """
        if point is None or program is None:
            return x
        sides = self.net.sides(x).copy()
        has_binary = program.binaries >= 0
        sides[has_binary] = (point[program.binaries[has_binary]] > 0.5).astype(sides.dtype)
        return interior_point(region_polytope(self.net, sides), domain, x)


def entering_intervals(bounds: LinearBounds) -> dict[int, Interval]:
    """Return the bounds of what enters each bend in the first box, by the number of the value."""
    return {value: Interval(part.low[0], part.high[0]) for value, part in bounds.entering_values().items()}


def climb_region(net: Network, domain: Domain, x: Floats, rows: Floats, offsets: Floats) -> Floats:
    """Return the point of the region of ``x``, within the polytope, where the smallest row is largest."""
    region = region_polytope(net, net.sides(x))
    Q, p = np.vstack([region.Q, domain.A]), np.append(region.p, domain.b)
    point = maximize_in(domain.box, Q, p, rows @ region.J, rows @ region.y + offsets)[1]
    return x if point is None else point


def interior_point(region: Polytope, domain: Domain, x: Floats) -> Floats:
    """Return the center of a largest ball in a region and a polytope, in units of the box's sides; ``x`` if none."""
    center, radius = ball_in(region, domain)
    low, high = domain.box.T
    return low + (high - low) * np.clip(center, 0.0, 1.0) if radius > MIN_RADIUS else x


def ball_in(region: Polytope, domain: Domain) -> tuple[Floats, float]:
    """Return the center and radius of a largest ball in a region and a polytope, in units of the box's sides."""
    low, size = domain.box[:, 0], np.ptp(domain.box, axis=1)
    n = len(low)
    sides = np.vstack([np.eye(n), -np.eye(n)])
    Q = np.vstack([region.Q * size, domain.A * size, sides])
    p = np.concatenate([region.p - region.Q @ low, domain.b - domain.A @ low, np.ones(n), np.zeros(n)])
    length = np.linalg.norm(Q, axis=1)
    rows = length > 0
    if (p[~rows] < 0).any():
        return np.zeros(n), -np.inf
    return largest_ball(Q[rows] / length[rows, None], p[rows] / length[rows])


def largest_ball(N: Floats, s: Floats) -> tuple[Floats, float]:
    """Return the center and the radius of a largest ball in ``N w <= s``; the radius is negative if it is empty."""
    n = N.shape[1]
    try:
        radius, point = maximize(np.eye(1, n + 1, n)[0], np.column_stack([N, np.ones(len(N))]), s)
    except UndecidedError:  # rows too different in size: no ball is known
        return np.zeros(n), -np.inf
    return (np.zeros(n), -np.inf) if point is None else (point[:n], radius)
