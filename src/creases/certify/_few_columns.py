"""Nearest changes where few columns may change: boxes of a ball, halved until linear bounds show that each is safe.

A box is closed where a row of the goal stays below 0 by a linear function that bounds it from above over the box and
over the ball, or where it is outside of the ball. No side of a unit is split, so units may be choices.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from creases._typing import Floats
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import LeastRow
from creases.certify._maximize.queue_search import BELOW, Limits
from creases.certify._maximize.search import BoxSearch
from creases.certify._nearest.best import Best
from creases.certify._nearest.question import Question
from creases.certify.proofs._format import Tree
from creases.certify.proofs._rounding import TINY
from creases.certify.propagation._linear import LinearBounds

#: The most columns that may change, the most boxes of a goal, and how many are bounded at a time.
MAX_COLUMNS, MAX_BOXES, BATCH = 3, 8_000, 256

#: The most values of a network, of which each box needs bounds.
MAX_VALUES = 2**12

#: A row is below 0 if it is so by this share of its terms: far beyond rounding, so that other bounds show it too.
ROOM = 1e-11


def has_few_columns(question: Question) -> bool:
    """Whether a question is made for boxes: few columns may change, none to whole numbers, in a small network."""
    is_small = sum(question.net.sizes) <= MAX_VALUES and all(step.op != "interpolate" for step in question.net.steps)
    return is_small and 0 < int(question.columns.sum()) <= MAX_COLUMNS and not question.integer.any()


def exclude_ball(question: Question, best: Best, radius: float, until: float) -> tuple[Tree, ...] | None:
    """Return for each goal the tree of boxes that shows that no input within a radius reaches it; None if that fails.

    Inputs that reach a goal are offered on the way, and end the search.
    """
    if not radius > 0:
        return None
    reach = radius / question.weights
    low, high = np.maximum(question.low, question.x - reach), np.minimum(question.high, question.x + reach)
    spare = (2.0**-50 * (np.abs(question.x) + reach) + TINY) * question.columns
    domain = Domain(np.stack([low - spare, high + spare], axis=1), np.zeros((0, len(low))), np.zeros(0))
    limits = Limits(time.monotonic() + until - time.perf_counter(), stop_above=BELOW, stop_below=BELOW)
    trees: list[Tree] = []
    for goal in question.goals:
        objective = _GoalInBall(question.net, goal.G, goal.g, question, best, radius)
        search = BoxSearch(objective, domain, limits, lambda what, done, total: None)
        search.batch = BATCH
        tree = search.prove(domain.middle[None], MAX_BOXES)
        if tree is None:
            return None
        trees.append(tree)
    return tuple(trees)


@dataclass(frozen=True, eq=False)
class _GoalInBall(LeastRow):
    """The smallest row of a goal, which no input within a radius may bring to 0."""

    question: Question
    best: Best
    radius: float

    def reached(self, domain: Domain, x: Floats, until: float | None = None) -> float:
        """Offer a point (n,) that seems to reach the goal; return 0 if one is within the radius, else -inf."""
        self.best.offer(self.question.to_local(np.clip(x, self.question.low, self.question.high)))
        return 0.0 if self.best.distance < self.radius else -np.inf

    def improve(self, domain: Domain, x: Floats, until: float = np.inf) -> Floats:
        """Return ``x``: offers improve themselves."""
        return x

    def bound(self, bounds: LinearBounds, domain: Domain) -> tuple[Floats, Floats, Floats]:
        """Return bounds within the radius, middles of boxes, and their widths; see :meth:`LeastRow.bound`."""
        question, radius = self.question, self.radius
        with torch.no_grad():
            linear, constant = bounds.linear_upper(torch.from_numpy(self.rows))
            by_box = bounds.worst(linear, constant).numpy()
        G, c = linear.numpy(), constant.numpy()  # (b, k, n), (b, k)
        low, high = (end.flatten(1).numpy()[:, None] for end in bounds.values[0])
        inward = np.where(G > 0, high <= question.x, low >= question.x)  # grows towards x: bounded by the box
        rest = np.where(inward, 0.0, G)
        slopes = np.abs(rest) / question.weights
        most = slopes.max(axis=2)
        shares = slopes / np.where(most > 0, most, 1.0)[..., None]
        steep = {"l1": most, "l2": most * np.sqrt((shares**2).sum(axis=2)), "linf": slopes.sum(axis=2)}[question.norm]
        terms = np.where(inward, np.maximum(G * low, G * high), rest * question.x)
        by_ball = c + terms.sum(axis=2) + radius * steep + TINY
        size = np.abs(c) + (np.abs(G) * np.maximum(np.abs(low), np.abs(high))).sum(axis=2)
        size = size + np.abs(self.offsets) + radius * steep
        upper = (np.minimum(by_box, by_ball) + self.offsets + ROOM * size).min(axis=1)
        boxes = np.stack([low[:, 0], high[:, 0]], axis=2)
        away = np.maximum(np.maximum(boxes[:, :, 0] - question.x, question.x - boxes[:, :, 1]), 0.0) * question.weights
        for i, part in enumerate(away):
            if question.length(part / radius) > 1 + 1e-9:  # outside beyond rounding; no square overflows
                upper[i] = -np.inf
        return upper, boxes.mean(axis=2), np.ptp(boxes, axis=2) * question.weights * question.columns
