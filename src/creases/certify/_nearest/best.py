"""The nearest input with a different decision so far, and a local search for better ones from region to region."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from creases._typing import Bools, Floats
from creases.certify._exact import exact_outputs
from creases.certify._maximize.values import exact_least
from creases.certify._nearest.projection import project
from creases.certify._nearest.question import Goal, Question, dual_length
from creases.certify._nodes import root_node
from creases.certify.proofs._rounding import root_above, round_up

#: Points are moved beyond the boundary by at most this share of their distance; if fractions are needed, by the other.
FAR, FAR_EXACTLY = 1e-8, 3e-7

#: Local searches cross at most this many creases of a region.
CROSSINGS = 4


class Best:
    """The nearest input with a different decision that was offered; ties count."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.distance = np.inf
        self.point: Floats | None = None

    def settle(self, point: Floats) -> None:
        """Take an input that is known to have a different decision, or to tie."""
        self.point, self.distance = point, distance_above(self.question, point)

    def offer(self, u: Floats, sides: Bools | None = None) -> bool:
        """Take an input u (n,) if it is nearer and its decision differs or ties, perhaps after a tiny step."""
        question = self.question
        point = question.to_point(u)
        if question.distance(point) >= self.distance or not question.allows(point):
            return False
        margin, error = self._margin(point)
        if margin < error:
            better = self._nudge(point, sides, 2 * error - margin, lambda moved: question.margin(moved) >= 1.5 * error)
            better = self._nudge_exactly(point, sides) if better is None and margin >= -error else better
            if better is None:
                return False
            point = better
        if distance_above(question, point) >= self.distance:
            return False
        self.settle(point)
        return True

    def _margin(self, point: Floats) -> tuple[float, float]:
        """Return by how much the decision at an input differs, and a bound of the error of that."""
        question, nodes = self.question, root_node(self.question.form, point[None], point[None])
        rows = np.vstack([goal.G for goal in question.goals])
        width = (nodes.upper(rows)[0] + nodes.upper(-rows)[0])[0]  # by which bounds of the exact rows are apart
        size = np.abs(np.concatenate([goal.g for goal in question.goals]))
        return question.margin(point), float((width + nodes.gamma * size).max())

    def _nudge_exactly(self, point: Floats, sides: Bools | None) -> Floats | None:
        """Return a point a tiny step further on, or this one, whose decision differs in fractions; None if none is."""
        margin = exact_margin(self.question, point)
        if margin is None or margin >= 0:
            return None if margin is None else point

        def reaches(moved: Floats) -> bool:
            margin = exact_margin(self.question, moved)
            return margin is not None and margin >= 0

        return self._nudge(point, sides, round_up(-margin), reaches, FAR_EXACTLY)

    def _nudge(
        self, point: Floats, sides: Bools | None, missing: float, accepts: Callable[[Floats], bool], far: float = FAR
    ) -> Floats | None:
        """Return an accepted point a rounding error further on, with a margin larger by what is missing; None: none."""
        question = self.question
        u = question.to_local(point)
        z, at = question.local.values(u[None])
        goal = max(question.goals, key=lambda goal: goal.margins(z)[0])
        row = goal.G[(goal.G @ z[0] + goal.g).argmin()][None]
        low, high = question.limits
        size = question.length(u)
        for pattern in [at] if sides is None else [sides[None], at]:
            gradient = question.local.gradients(pattern, row)[0]
            free = ~question.whole & np.where(gradient > 0, u < high, u > low)
            for mask in (free & (u != 0), free):
                way = np.where(mask, gradient, 0.0)
                speed = float(way @ way)
                if speed <= 0:
                    continue
                for factor in (1.0, 2.0, 20.0, 2000.0):
                    step = factor * missing / speed
                    if step * np.linalg.norm(way) > far * size:
                        break
                    moved = question.to_point(u + step * way)
                    if accepts(moved) and question.allows(moved):
                        return moved
        return None

    def descend(self, u: Floats, deadline: float) -> None:
        """Go from an input with a different decision to the nearest such input of its region, and of regions beside."""
        question = self.question
        u = round_columns(question, u)
        z, sides = question.local.values(u[None])
        goal = max(question.goals, key=lambda goal: goal.margins(z)[0])
        tried = {sides.tobytes()}
        value, ahead = self._region_step(goal, sides[0], question.length(u), u)
        while time.perf_counter() < deadline:
            for across in ahead[:CROSSINGS]:
                beside = question.local.values(across[None])[1]
                if beside.tobytes() in tried:
                    continue
                tried.add(beside.tobytes())
                new, further = self._region_step(goal, beside[0], max(value, 1e-300), u)
                if new < value * (1 - 1e-9):
                    value, ahead = new, further
                    break
            else:
                return

    def _region_step(self, goal: Goal, sides: Bools, scale: float, at: Floats) -> tuple[float, list[Floats]]:
        """Return the least distance to the goal in a region, and points across the creases that it is held by.

        Whole numbers stay as they are ``at`` an input (n,): the search moves them.
        """
        question, scale = self.question, scale if np.isfinite(scale) and scale > 0 else 1.0
        entering, constants, J, y = question.local.piece(sides)
        sign = np.where(sides, -1.0, 1.0)
        N, s = sign[:, None] * entering, -sign * constants  # the region is N u <= s
        A, b = -goal.G @ J, goal.G @ y + goal.g  # where the goal is reached by the piece
        rows, ends = np.vstack([question.sums[0], N, A]), np.concatenate([question.sums[1], s, b])
        low, high = (np.where(question.whole, at, end) for end in question.limits)
        near = project(rows, ends / scale, low / scale, high / scale, question.norm)
        if near.u is None:
            return np.inf, []
        u = near.u * scale
        self.offer(u, sides)
        first = len(question.sums[1])
        held = near.y[first : first + len(s)]
        order = [i for i in np.argsort(-held) if held[i] > 0]
        step = 1e-7 * scale
        return question.length(u), [u + step * N[i] / np.linalg.norm(N[i]) for i in order]


def find_changes(question: Question, best: Best, deadline: float, seed: int = 0) -> None:
    """Look for inputs with a different decision along gradients and at random, then improve the nearest ones."""
    rng = np.random.default_rng(seed)
    n = question.local.n_in
    if not n:
        return
    low, high = question.limits
    steps = [_linear_steps(question, goal, deadline) for goal in question.goals[:32]]
    starts = [u for part in steps for u in part]
    reach = min((question.length(u) for u in starts), default=1.0)
    directions = rng.normal(size=(64, n))
    directions /= np.array([question.length(row) for row in directions])[:, None]
    for level in range(-2, 8 if starts else 30):
        points = np.clip(reach * 2.0**level * directions, low, high)
        points = round_columns(question, points)
        hits = points[question.local_margins(points) >= 0]
        if len(hits):
            starts += list(_shorten(question, hits[:16]))
            break
        if time.perf_counter() > deadline:
            break
    for u in starts:
        best.offer(round_columns(question, u))
    for u in sorted(starts, key=question.length)[:6]:
        if time.perf_counter() > deadline:
            return
        best.descend(u, deadline)


def round_columns(question: Question, u: Floats) -> Floats:
    """Return u (..., n) with whole numbers in integer columns, and 1 in the largest column of each one-hot group."""
    if not question.whole.any():
        return u
    point = np.tile(question.x, (*u.shape[:-1], 1))
    point[..., question.columns] += u / question.weights[question.columns]
    for group in map(list, question.one_hot):
        point[..., group] = np.eye(len(group))[point[..., group].argmax(axis=-1)]
    point[..., question.integer] = np.round(point[..., question.integer])
    point = np.clip(point, question.low, question.high)
    return (question.weights * (point - question.x))[..., question.columns]


def _shorten(question: Question, u: Floats) -> Floats:
    """Move inputs (b, n) with a different decision towards the origin while it stays different, by bisection."""
    near, far = np.zeros(len(u)), np.ones(len(u))
    for _ in range(30):
        middle = (near + far) / 2
        hit = question.local_margins(middle[:, None] * u) >= 0
        near, far = np.where(hit, near, middle), np.where(hit, middle, far)
    return far[:, None] * u


def _linear_steps(question: Question, goal: Goal, deadline: float, n_steps: int = 25) -> list[Floats]:
    """Step again and again to where the piece at the last input reaches a goal (DeepFool); return inputs that do."""
    low, high = question.limits
    u = np.clip(np.zeros(question.local.n_in), low, high)
    hits: list[Floats] = []
    for step in range(n_steps):
        z, sides = question.local.values(u[None])
        values = goal.G @ z[0] + goal.g
        if values.min() >= 0 and step:
            hits.append(u)
        row = int(values.argmin())
        gradient = question.local.gradients(sides, goal.G[row][None])[0]
        gradient = np.where(low < high, gradient, 0.0)
        size = dual_length(gradient, question.norm)
        if size <= 0 or time.perf_counter() > deadline or len(hits) >= 4:
            break
        missing = float(gradient @ u - values[row]) * (1.02 + 0.02 * step)  # the linear piece: gradient u' >= missing
        u = np.clip(_along(gradient, question.norm) * missing / size, low, high)
    return hits


def _along(gradient: Floats, norm: str) -> Floats:
    """Return the vector of norm 1 along which a linear function grows fastest."""
    if norm == "linf":
        return np.sign(gradient)
    if norm == "l2":
        return gradient / np.linalg.norm(gradient)
    out = np.zeros(len(gradient))
    top = int(np.abs(gradient).argmax())
    out[top] = np.sign(gradient[top])
    return out


# -- in exact arithmetic ----------------------------------------------------------------------------------------------


def exact_margin(question: Question, point: Floats) -> Fraction | None:
    """Return by how much the decision at an input differs, exactly; None for a network too large."""
    outputs = exact_outputs(question.net, point)
    return None if outputs is None else max(exact_least(goal.G, goal.g, outputs) for goal in question.goals)


def distance_above(question: Question, point: Floats) -> float:
    """Return the distance of an input from x, rounded up."""
    change = [
        abs(Fraction(w) * (Fraction(a) - Fraction(b)))
        for w, a, b in zip(question.weights.tolist(), point.tolist(), question.x.tolist(), strict=True)
        if a != b
    ]
    if not change:
        return 0.0
    if question.norm == "l2":
        return round_up(root_above(sum((v * v for v in change), Fraction(0))))
    return round_up(sum(change, Fraction(0)) if question.norm == "l1" else max(change))
