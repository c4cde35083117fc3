"""Best-first branch and bound over boxes, with mixed-integer programs where few units are undecided.

Boxes are bounded many at a time by linear bounds, the box with the largest bound is split first. A box in which few
units may change side is solved by a mixed-integer program; a network of many inputs is one such box from the start.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
import torch

from creases._typing import Floats, Progress
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import Objective
from creases.certify.propagation._linear import LinearBounds

#: Boxes that are split at a time.
BATCH = 32

#: A box with no more undecided units than this is solved by a mixed-integer program.
PROGRAM_UNITS = 14

#: Up to this many inputs boxes are split; with more, the whole box is one program.
SPLIT_INPUTS = 10

#: A whole box with no more undecided units is first tried as one program, for this share of the time.
WHOLE_UNITS, WHOLE_SHARE = 50, 0.3

#: The most undecided units of a program that is tried on the whole box.
MAX_BINARIES = 3000

#: Points whose values are checked to be reached, from the largest value on.
MAX_CHECKS = 8

#: Random points that a search starts from.
SAMPLES = 256


class Extreme(NamedTuple):
    """The largest value of an objective: at least ``lower``, reached at ``where`` (n,), and at most ``upper``."""

    lower: float
    where: Floats
    upper: float


@dataclass(frozen=True, eq=False)
class Limits:
    """When a search may end."""

    deadline: float  #: as of ``time.monotonic()``
    tolerance: float = 1e-6  #: relative to the value
    stop_above: float = np.inf  #: a value above it is enough
    stop_below: float = -np.inf  #: an upper bound of at most this is enough


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
        Called with the number of boxes done, now and then.
    """
    search = _Search(objective, domain, limits, progress or (lambda what, done, total: None))
    return search.run(sample_points(domain) if start is None else start)


def sample_points(domain: Domain, n: int = SAMPLES, seed: int = 0) -> Floats:
    """Return random points of a polytope and the center of its box, if that is inside: (p, n), at least one."""
    rng = np.random.default_rng(seed)
    low, high = domain.box.T
    points = np.vstack([domain.box.mean(axis=1), rng.uniform(low, high, size=(n, len(low)))])
    if domain.is_box:
        return points
    inside = points[domain.contains(points)]
    vertices = [x for c in rng.normal(size=(8, len(low))) if (x := domain.maximize(c)[1]) is not None]
    corners = np.array([x for x in vertices if domain.contains(x[None])[0]]).reshape(-1, len(low))
    weights = rng.dirichlet(np.ones(max(len(corners), 1)), size=n)
    return np.vstack([inside, corners, weights @ corners]) if len(corners) else inside


class _Search:
    def __init__(self, objective: Objective, domain: Domain, limits: Limits, progress: Progress) -> None:
        self.objective, self.domain, self.limits, self.progress = objective, domain, limits, progress
        self.lower, self.where = -np.inf, domain.box.mean(axis=1)
        self.closed = -np.inf  # the largest bound of a box that is done
        self.queue: list[tuple[float, int, Floats, int]] = []
        self.numbers, self.done = count(), 0

    def run(self, start: Floats) -> Extreme:
        self._try(start)
        if np.isfinite(self.lower):
            self._improve(self.where)
        self._push(self.domain.box[None])
        self._try_whole()
        while self.queue and not self._is_over():
            self._step()
        top = -self.queue[0][0] if self.queue else -np.inf
        return Extreme(self.lower, self.where, max(self.lower, self.closed, top))

    @property
    def enough(self) -> float:
        """A box whose bound is no larger needs no further search."""
        if not np.isfinite(self.lower):
            return self.limits.stop_below
        return max(self.lower + self.limits.tolerance * abs(self.lower), self.limits.stop_below)

    def _is_over(self) -> bool:
        late = time.monotonic() >= self.limits.deadline
        return late or self.lower > self.limits.stop_above or -self.queue[0][0] <= self.enough

    def _try(self, X: Floats) -> None:
        """Evaluate points (p, n), keep the best."""
        X = X[self.domain.contains(X)]
        if not len(X):
            return
        values = self.objective.values(X)
        for i in np.argsort(-values, kind="stable")[:MAX_CHECKS]:
            if values[i] <= self.lower:
                break
            if self.objective.is_reached(self.domain, X[i]):
                self.lower, self.where = float(values[i]), X[i]
                break

    def _improve(self, x: Floats) -> None:
        self._try(self.objective.improve(self.domain, x)[None])

    def _push(self, boxes: Floats) -> None:
        """Bound boxes (b, n, 2); what needs further search goes to the queue."""
        bounds = LinearBounds(self.objective.net, torch.from_numpy(boxes))
        upper, points, weights = self.objective.bound(bounds, self.domain)
        before = self.lower
        self._try(points)
        if self.lower > before and np.isfinite(before):
            self._improve(self.where)
        undecided = bounds.undecided().numpy()
        axes = weights.argmax(axis=1)
        for i, box in enumerate(boxes):
            self.done += 1
            if upper[i] <= self.enough:
                self.closed = max(self.closed, float(upper[i]))
            elif undecided[i] <= PROGRAM_UNITS or self._is_whole(undecided[i]):
                self._solve(box, float(upper[i]))
            else:
                heapq.heappush(self.queue, (-float(upper[i]), next(self.numbers), box, int(axes[i])))
        self.progress("bounding boxes", self.done, None)

    def _try_whole(self) -> None:
        """Solve the whole box as one program for a while; its bound is the start of the search if that is too short."""
        if len(self.queue) != 1 or self._is_over():
            return
        upper, _, box, axis = self.queue.pop()
        bounds = LinearBounds(self.objective.net, torch.from_numpy(box[None]))
        if int(bounds.undecided()[0]) > WHOLE_UNITS:
            self.queue.append((upper, next(self.numbers), box, axis))
            return
        now = time.monotonic()
        bound = self._run_program(box, -upper, WHOLE_SHARE * (self.limits.deadline - now))
        if bound is None or bound > self.enough:
            start = -upper if bound is None else bound
            self.queue.append((-start, next(self.numbers), box, axis))
        else:
            self.closed = max(self.closed, bound)

    def _is_whole(self, undecided: int) -> bool:
        return len(self.domain.box) > SPLIT_INPUTS and undecided <= MAX_BINARIES

    def _solve(self, box: Floats, upper: float) -> None:
        """Solve one box by a mixed-integer program; what it leaves open stays a bound."""
        bound = self._run_program(box, upper, self.limits.deadline - time.monotonic())
        if bound is None:
            self._divide_later(box, upper)
        else:
            self.closed = max(self.closed, bound)

    def _run_program(self, box: Floats, upper: float, seconds: float) -> float | None:
        """Return the upper bound of a box's program, having tried its solution; None if there is no program."""
        if seconds <= 0:
            return None
        bounds = LinearBounds(self.objective.net, torch.from_numpy(box[None]))
        program = self.objective.program(bounds, box)
        if program is None:
            return None
        encoding = program.encoding
        if len(self.domain.b):
            encoding = encoding.add_rows(self.domain.A, -np.inf, self.domain.b)
        solution = encoding.maximize(program.cost, time_limit=seconds, gap=self.limits.tolerance / 10)
        if solution.point is not None:
            x = np.clip(solution.point[: len(box)], *box.T)
            self._try(x[None])
            self._try(self.objective.improve(self.domain.within(box), x, solution.point, encoding)[None])
        return min(upper, solution.bound + program.constant)

    def _divide_later(self, box: Floats, upper: float) -> None:
        axis = int((np.ptp(box, axis=1) / np.maximum(np.ptp(self.domain.box, axis=1), 1e-300)).argmax())
        if np.ptp(box[axis]) <= 1e-9 * np.ptp(self.domain.box[axis]):
            self.closed = max(self.closed, upper)
            return
        heapq.heappush(self.queue, (-upper, next(self.numbers), box, axis))

    def _step(self) -> None:
        """Split the boxes with the largest bounds."""
        halves: list[Floats] = []
        while self.queue and len(halves) < 2 * BATCH and -self.queue[0][0] > self.enough:
            _, _, box, axis = heapq.heappop(self.queue)
            middle = box[axis].mean()
            left, right = box.copy(), box.copy()
            left[axis, 1] = right[axis, 0] = middle
            halves += [left, right]
        self._push(np.stack(halves))
