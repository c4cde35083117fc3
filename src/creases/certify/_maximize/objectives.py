"""What is maximized: the smallest of several affine functions of the outputs, a coefficient, or a norm of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch

from creases._typing import Floats, Ints
from creases.certify._exact import LATE_PRODUCTS, MAX_PRODUCTS, exact_outputs
from creases.certify._form import Form, search_form
from creases.certify._maximize.domain import Domain, propose
from creases.certify._maximize.gradients import jacobian_bounds
from creases.certify._maximize.linear_program import Solver
from creases.certify._maximize.values import exact_jacobian, exact_least
from creases.certify._nodes import root_node
from creases.certify.proofs._checker.claims import Claim, GradientClaim
from creases.certify.proofs._checker.parts import Dyadic, to_fractions
from creases.certify.proofs._norms import Norm, norm_above, norm_below
from creases.certify.proofs._rounding import round_down, round_up
from creases.certify.proofs._spec import Array
from creases.certify.propagation._linear import LinearBounds, gradient_bounds
from creases.network import Network

#: The most regions that a point climbs through by linear programs, and the most numbers in all their rows.
MAX_CLIMB, CLIMB_SIZE = 30, 2**20

Kind = Literal["bounds", "gradient"]


@dataclass(frozen=True, eq=False)
class LeastRow:
    """The smallest of ``rows`` (k, n_out) times the output plus ``offsets`` (k,)."""

    net: Network
    rows: Floats
    offsets: Floats
    shown_by: ClassVar[Kind] = "bounds"  #: how a leaf shows the bound of a box in a proof
    jumps: ClassVar[bool] = False  #: whether the value jumps at creases

    @cached_property
    def form(self) -> Form | None:
        """The network as layers, if its sides can be searched."""
        return search_form(self.net)

    def values(self, X: Floats) -> Floats:
        """Return the values (p,) at points (p, n_in), in floating point."""
        outputs = np.asarray(self.net(X)).reshape(len(X), -1)
        return np.asarray((outputs @ self.rows.T + self.offsets).min(axis=1))

    def reached(self, domain: Domain, x: Floats, until: float | None = None) -> float:
        """Return the largest float that the value at a point (n_in,) is proved to reach; -inf if there is none.

        With a time of ``time.monotonic()`` it is computed in fractions where that is quick, or there is time for it.
        """
        if not domain.contains(x[None])[0]:
            return -np.inf
        if until is not None:
            y = exact_outputs(self.net, x, MAX_PRODUCTS if time.monotonic() < until else LATE_PRODUCTS)
            if y is not None:
                return round_down(exact_least(self.rows, self.offsets, y))
        point = LinearBounds(self.net, torch.from_numpy(np.stack([x, x], axis=1))[None])
        with torch.no_grad():
            upper = point.worst(*point.linear_upper(torch.from_numpy(-self.rows)))[0].numpy()
        return float((self.offsets - upper - 2.0**-52 * (np.abs(self.offsets) + np.abs(upper))).min())

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return an upper bound over each box (b,), points to try (p, n_in), and how much each side matters (b, n)."""
        rows = torch.from_numpy(self.rows)
        with torch.no_grad():
            G, constant = bounds.linear_upper(rows)
            each = bounds.worst(G, constant).numpy() + self.offsets  # (b, k)
            slopes = gradient_bounds(bounds, rows)[0].size.amax(dim=1).flatten(1)  # (b, n)
        each += 2.0**-51 * (np.abs(each) + np.abs(self.offsets))
        row, upper = each.argmin(axis=1), each.min(axis=1)
        functions, constants = G.numpy(), constant.numpy() + self.offsets
        constants = constants + 2.0**-51 * (np.abs(constants) + np.abs(self.offsets))
        boxes = np.stack([end.flatten(1).numpy() for end in bounds.values[0]], axis=2)
        points = np.where(functions[np.arange(len(row)), row] > 0, boxes[:, :, 1], boxes[:, :, 0])
        if not domain.is_box or functions.shape[1] > 1:
            for i, box in enumerate(boxes):
                value, x = domain.within(box).maximize(functions[i], constants[i])
                upper[i] = min(upper[i], value)
                points[i] = box.mean(axis=1) if x is None else x
        return upper, points, slopes.numpy() * np.ptp(boxes, axis=2) / 2

    def improve(self, domain: Domain, x: Floats, until: float = np.inf) -> Floats:
        """Climb from region to region by linear programs, while the value grows and there is time."""
        value = float(self.values(x[None])[0])
        size, inside = np.ptp(domain.box, axis=1), x
        rows = (
            int(np.diff(self.net.unit_starts) @ (np.array(self.net.candidates, np.int64) - 1)) if self.net.bends else 0
        )
        for _ in range(min(MAX_CLIMB, 1 + CLIMB_SIZE // max(1, rows * self.net.n_in))):
            if time.monotonic() >= until or not np.isfinite(inside).all():  # slopes beyond the range of floats
                break
            best = climb_region(self.net, domain, np.clip(inside, *domain.box.T), self.rows, self.offsets, until)
            reached = float(self.values(best[None])[0])
            if reached <= value + 1e-12 * abs(value):
                break
            direction = self.rows[0] @ np.asarray(self.net.piece(inside).J)
            x, value = best, reached
            inside = best + 1e-6 * size * np.sign(direction)
        return x


@dataclass(frozen=True, eq=False)
class Gradient:
    """A norm of the Jacobian of ``rows`` (k, n_out) times the output in ``columns`` (c,), or its only entry."""

    net: Network
    rows: Floats
    columns: Ints
    norm: Norm | None = None
    shown_by: ClassVar[Kind] = "gradient"
    jumps: ClassVar[bool] = True

    @cached_property
    def form(self) -> Form | None:
        """The network as layers, if its sides can be searched."""
        return search_form(self.net)

    def above(self, low: Array, high: Array) -> Floats:
        """Return upper bounds (...) of values between bounds (..., k, c); who checks them in another order has room."""
        return norm_above(low, high, self.norm) * (1.0 if self.norm is None else 1.0 + 2.0**-44)

    def exact_above(self, sides: list[Floats]) -> float | None:
        """Return the value where units have known slopes, without rounding but the last, up; None if not known."""
        if self.form is None or self.form.exact_functions is None:
            return None
        J = self.form.gradient(Dyadic.of(self.rows), sides).fractions()[:, self.columns]
        low, high = (np.array([turn(v) for v in J.flat], float).reshape(J.shape) for turn in (round_down, round_up))
        return float(self.above(low, high))

    def values(self, X: Floats) -> Floats:
        """Return the values (p,) of the pieces at points (p, n_in), in floating point."""
        if self.form is not None:
            sides, k = self.form.values(X)[1], len(self.rows)
            J = self.form.gradients(np.repeat(sides, k, axis=0), np.tile(self.rows, (len(X), 1)))
            J = J.reshape(len(X), k, -1)[:, :, self.columns]
        else:
            J = np.concatenate([self.rows @ piece.J[:, :, self.columns] for piece in self.net.jacobians(X)])
        return norm_above(J, J, self.norm)

    def reached(self, domain: Domain, x: Floats, until: float | None = None) -> float:
        """Return a float that a region with an interior at a point is proved to reach; -inf on a crease.

        With ``until`` it is computed in fractions.
        """
        if domain.inner_point is None or not domain.contains(x[None])[0]:
            return -np.inf
        if self.form is not None:
            zero = np.zeros((1, len(x)))
            nodes = root_node(self.form.recenter(x), zero, zero)
            is_on_crease = bool(((nodes.low <= 0) & (nodes.high >= 0)).any())
            exact = exact_jacobian(self.form, self.rows, x) if is_on_crease or until is not None else None
            value = -np.inf if is_on_crease else self._below(*jacobian_bounds(nodes, self.rows, self.columns)[:2])
            return value if exact is None else max(self._below(exact[None, :, self.columns]), value)
        point = LinearBounds(self.net, torch.from_numpy(np.stack([x, x], axis=1))[None])
        gradients = gradient_bounds(point, torch.from_numpy(self.rows))[0]
        decided = all(
            bool(((part.low > 0) | (part.high < 0)).all())
            if self.net.steps[i].op == "relu"
            else bool((part.high >= part.low.amax(-1, keepdim=True)).sum(-1).eq(1).all())
            for i, part in point.entering.items()
        )
        ends = (end.flatten(2).numpy()[:, :, self.columns] for end in (gradients.low, gradients.high))
        return self._below(*ends) if decided else -np.inf

    def _below(self, low: Array, high: Array | None = None) -> float:
        """Return a lower bound of a value between bounds (1, k, c); another singular vector shows it, too."""
        ends = [to_fractions(end[0]) for end in (low, low if high is None else high)]
        value = norm_below(ends[0], ends[1], self.norm)
        return value * (1.0 - 2.0**-48) if self.norm == "l2" and 1 not in ends[0].shape else value

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return bounds, points to try and the weight of each side; see :meth:`LeastRow.bound`."""
        gradients = gradient_bounds(bounds, torch.from_numpy(self.rows))[0]
        ends = (end.flatten(2).numpy()[:, :, self.columns] for end in (gradients.low, gradients.high))
        upper = np.array(self.above(*ends))
        boxes = np.stack([end.flatten(1).numpy() for end in bounds.values[0]], axis=2)
        if not domain.is_box:
            for i in range(len(upper)):
                part = domain.within(boxes[i])
                if part.maximize(np.zeros(len(boxes[i])))[0] == -np.inf:
                    upper[i] = -np.inf
        width = np.ptp(domain.box, axis=1)
        return upper, boxes.mean(axis=2), np.ptp(boxes, axis=2) / np.where(width > 0, width, 1.0)

    def improve(self, domain: Domain, x: Floats, until: float = np.inf) -> Floats:
        """Return ``x``: derivatives are the same all over a region."""
        return x


#: A function of the input that can be evaluated and bounded over boxes.
Objective = LeastRow | Gradient


def pose(net: Network, claim: Claim) -> Objective:
    """Return what is at most 0, or at most the claim's limit, if a claim of a proof about a network is true."""
    if isinstance(claim, GradientClaim):
        rows = np.array([row.astype(float) for row in claim.rows]).reshape(-1, net.n_out)
        return Gradient(net, rows, np.array(claim.columns, int), claim.norm)
    return LeastRow(net, np.array([row.astype(float) for row in claim.C]), np.array([float(e) for e in claim.e]))


def climb_region(
    net: Network, domain: Domain, x: Floats, rows: Floats, offsets: Floats, until: float = np.inf
) -> Floats:
    """Return the point of the region of ``x``, within the polytope, where the smallest row is largest."""
    from creases.regions.geometry import region_polytope

    region = region_polytope(net, net.sides(x))
    Q, p = np.vstack([region.Q, domain.A]), np.append(region.p, domain.b)
    middle, radius = domain.middle, np.ptp(domain.box, axis=1) / 2
    C, d = rows @ region.J, rows @ region.y + offsets
    answer = propose(Solver(until), Q, p - Q @ middle, C, d + C @ middle, radius)
    if answer is None or answer.point is None or not np.isfinite(answer.point).all():
        return x
    return np.asarray(np.clip(middle + answer.point, *domain.box.T))
