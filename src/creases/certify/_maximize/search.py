"""The largest value of an objective over a polytope: by a search over sides of units, or over boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.gradient_search import GradientSearch
from creases.certify._maximize.objectives import Gradient, Objective
from creases.certify._maximize.queue_search import Extreme, Limits, OpenNode, QueueSearch
from creases.certify._maximize.tree_search import TreeSearch
from creases.certify.proofs._format import Leaf
from creases.certify.propagation import Interval
from creases.certify.propagation._linear import LinearBounds

__all__ = ["Extreme", "Limits", "maximize_objective", "open_search", "sample_points"]

#: The most values of a network of which each box that waits keeps the bounds.
MAX_VALUES = 2**16

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
    return open_search(objective, domain, limits, report).run(points)


def open_search(objective: Objective, domain: Domain, limits: Limits, progress: Progress) -> QueueSearch:
    """Return the search for the largest value of an objective: over sides of units if it is made for that."""
    if objective.form is None:
        return BoxSearch(objective, domain, limits, progress)
    if isinstance(objective, Gradient):
        return GradientSearch(objective, objective.form, domain, limits, progress)
    return TreeSearch(objective, objective.form, domain, limits, progress)


def sample_points(domain: Domain, n: int = SAMPLES, seed: int = 0) -> Floats:
    """Return random points of a polytope and the center of its box, if that is inside: (p, n)."""
    rng = np.random.default_rng(seed)
    low, high = domain.box.T
    points = np.vstack([domain.middle, rng.uniform(low, high, size=(n, len(low)))])
    if domain.is_box:
        return points
    inside = points[domain.contains(points)]
    inner = domain.inner_point
    vertices = [x for c in rng.normal(size=(8, len(low))) if (x := domain.maximize(c)[1]) is not None]
    vertices = [domain.move_inside(x) for x in vertices] + ([] if inner is None else [inner])
    corners = np.array(vertices).reshape(-1, len(low))
    corners = corners[domain.contains(corners)]
    if not len(corners):
        return inside
    mixtures = rng.dirichlet(np.ones(len(corners)), size=n) @ corners
    return np.vstack([inside, corners, mixtures[domain.contains(mixtures)]])


@dataclass(frozen=True, eq=False)
class _Box(OpenNode):
    """A box that is not closed."""

    box: Floats  #: (n, 2)
    axis: int  #: to split
    known: dict[int, Interval]  #: bounds of what enters bends, by the number of the step


class BoxSearch(QueueSearch):
    """Branch and bound over boxes, for networks with choices and those too large for dense matrices."""

    batch = 32

    def __init__(self, objective: Objective, domain: Domain, limits: Limits, progress: Progress) -> None:
        super().__init__(objective, domain, limits, progress)
        self.has_proof = domain.is_box

    def bound_root(self) -> None:
        """Bound the whole box."""
        self._push(self.domain.box[None], [0], {})

    def _push(self, boxes: Floats, numbers: list[int], known: dict[int, Interval]) -> None:
        """Bound boxes (b, n, 2) within larger ones, whose bounds are known; the queue takes what is open."""
        bounds = LinearBounds(self.objective.net, torch.from_numpy(boxes), known if self.has_proof else None)
        is_kept = self.has_proof and sum(self.objective.net.sizes) <= MAX_VALUES
        upper, points, weights = self.objective.bound(bounds, self.domain)
        self.climb(points)
        leaf = Leaf(self.objective.shown_by)
        for i, (box, number) in enumerate(zip(boxes, numbers, strict=True)):
            axis = int(weights[i].argmax())
            width, whole = np.ptp(box[axis]), np.ptp(self.domain.box[axis])
            if upper[i] <= self.enough or width <= 1e-12 * whole:
                self.close(number, float(upper[i]), leaf)
            else:
                inner = {
                    k: Interval(*(end[i].clone() for end in part)) for k, part in bounds.entering.items() if is_kept
                }
                self.put(_Box(number, float(upper[i]), leaf, box, axis, inner))
        self.progress("bounding boxes", len(self.record), None)

    def split(self, nodes: list[_Box]) -> None:
        """Halve boxes."""
        halves: list[Floats] = []
        numbers: list[int] = []
        for node in nodes:
            middle = float(node.box[node.axis].mean())
            left, right = node.box.copy(), node.box.copy()
            left[node.axis, 1] = right[node.axis, 0] = middle
            halves += [left, right]
            numbers += self.record.split(node.number, "input", node.axis, middle)
        known = {}
        for k in nodes[0].known:
            ends = zip(*(node.known[k] for node in nodes), strict=True)
            known[k] = Interval(*(torch.stack(end).repeat_interleave(2, dim=0) for end in ends))
        self._push(np.stack(halves), numbers, known)
