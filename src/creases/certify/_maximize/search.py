"""The largest value of an objective over a polytope: by a search over sides of units, or over boxes."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.extreme import Extreme, Limits
from creases.certify._maximize.objectives import Objective
from creases.certify.proofs._format import Leaf
from creases.certify.proofs._record import TreeRecord
from creases.certify.propagation._linear import LinearBounds

__all__ = ["Extreme", "Limits", "maximize_objective", "sample_points"]

#: Boxes that are split at a time.
BATCH = 32

#: Points whose values are checked to be reached, from the largest value on.
MAX_CHECKS = 8

#: Random points that a search starts from.
SAMPLES = 256


def maximize_objective(
    objective: Objective,
    domain: Domain,
    limits: Limits,
    *,
    start: Floats | None = None,
    progress: Progress | None = None,
) -> Extreme:
    """Return the largest value of an objective over a polytope, or bounds of it when the time is over.

    Parameters
    ----------
    start
        (p, n) points of the domain to start from; random ones by default.
    progress
        Called with the number of nodes or boxes done, now and then.
    """
    report = progress or (lambda what, done, total: None)
    points = sample_points(domain) if start is None else start
    extreme = objective.search_tree(domain, limits, points, report)
    return _BoxSearch(objective, domain, limits, report).run(points) if extreme is None else extreme


def sample_points(domain: Domain, n: int = SAMPLES, seed: int = 0) -> Floats:
    """Return random points of a polytope and the center of its box, if that is inside: (p, n)."""
    rng = np.random.default_rng(seed)
    low, high = domain.box.T
    points = np.vstack([domain.middle, rng.uniform(low, high, size=(n, len(low)))])
    if domain.is_box:
        return points
    inside = points[domain.contains(points)]
    inner = domain.inner_point()
    vertices = [x for c in rng.normal(size=(8, len(low))) if (x := domain.maximize(c)[1]) is not None]
    vertices = [domain.move_inside(x, inner) for x in vertices] + ([] if inner is None else [inner])
    corners = np.array(vertices).reshape(-1, len(low))
    corners = corners[domain.contains(corners)]
    if not len(corners):
        return inside
    mixtures = rng.dirichlet(np.ones(len(corners)), size=n) @ corners
    return np.vstack([inside, corners, mixtures[domain.contains(mixtures)]])


class _BoxSearch:
    """Best-first branch and bound over boxes, for networks with choices and those too large for dense matrices."""

    def __init__(self, objective: Objective, domain: Domain, limits: Limits, progress: Progress) -> None:
        self.objective, self.domain, self.limits, self.progress = objective, domain, limits, progress
        self.lower, self.where = -np.inf, domain.middle
        self.closed = -np.inf  # the largest bound of a box that is done
        self.queue: list[tuple[float, int, Floats, int, int]] = []
        self.numbers, self.record = count(), TreeRecord()
        self.leaf = Leaf("gradient" if hasattr(objective, "column") else "bounds")

    def run(self, start: Floats) -> Extreme:
        self._try(start)
        if np.isfinite(self.lower):
            self._try(self.objective.improve(self.domain, self.where)[None])
        self._push(self.domain.box[None], [0])
        while self.queue and not self.limits.is_over(self.lower, -self.queue[0][0]):
            self._step()
        upper = max([self.closed, *(-item[0] for item in self.queue)])
        for _, _, _, _, node in self.queue:
            self.record.close(node, self.leaf)
        tree = self.record.tree() if self.domain.is_box else None
        return Extreme(self.lower, self.where, max(self.lower, upper), tree)

    @property
    def enough(self) -> float:
        """A box whose bound is no larger needs no further search."""
        return self.limits.enough(self.lower)

    def _try(self, X: Floats) -> None:
        """Evaluate points (p, n), keep the best by the value that is proved."""
        X = X[self.domain.contains(X)]
        if not len(X):
            return
        values = self.objective.values(X)
        for i in np.argsort(-values, kind="stable")[:MAX_CHECKS]:
            if values[i] <= self.lower:
                break
            value = self.objective.reached(self.domain, X[i])
            if value > self.lower:
                self.lower, self.where = value, X[i]
                break

    def _push(self, boxes: Floats, nodes: list[int]) -> None:
        """Bound boxes (b, n, 2); what needs further search goes to the queue."""
        bounds = LinearBounds(self.objective.net, torch.from_numpy(boxes))
        upper, points, weights = self.objective.bound(bounds, self.domain)
        before = self.lower
        self._try(points)
        if self.lower > before and np.isfinite(before):
            self._try(self.objective.improve(self.domain, self.where)[None])
        for i, (box, node) in enumerate(zip(boxes, nodes, strict=True)):
            axis = int(weights[i].argmax())
            width, whole = np.ptp(box[axis]), np.ptp(self.domain.box[axis])
            if upper[i] <= self.enough or width <= 1e-12 * whole:
                self.closed = max(self.closed, float(upper[i]))
                self.record.close(node, self.leaf)
            else:
                heapq.heappush(self.queue, (-float(upper[i]), next(self.numbers), box, axis, node))
        self.progress("bounding boxes", len(self.record), None)

    def _step(self) -> None:
        """Split the boxes with the largest bounds."""
        halves: list[Floats] = []
        nodes: list[int] = []
        while self.queue and len(halves) < 2 * BATCH and -self.queue[0][0] > self.enough:
            _, _, box, axis, node = heapq.heappop(self.queue)
            middle = float(box[axis].mean())
            left, right = box.copy(), box.copy()
            left[axis, 1] = right[axis, 0] = middle
            halves += [left, right]
            nodes += self.record.split(node, "input", axis, middle)
        self._push(np.stack(halves), nodes)
