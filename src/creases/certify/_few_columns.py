"""Nearest changes where few columns may change: boxes of a ball, halved until linear bounds show that each is safe.

A box is closed where a row of the goal stays below 0 by a linear function that bounds it from above over the box and
over the ball, or where it is outside of the ball. No side of a unit is split, so units may be choices.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from creases._typing import Bools, Floats, Ints
from creases.certify._nearest.best import Best
from creases.certify._nearest.question import Goal, Question
from creases.certify.proofs._format import Leaf, Tree
from creases.certify.proofs._record import TreeRecord
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
    trees: list[Tree] = []
    for goal in question.goals:
        tree = _exclude(question, goal, best, radius, until)
        if tree is None:
            return None
        trees.append(tree)
    return tuple(trees)


def _exclude(question: Question, goal: Goal, best: Best, radius: float, until: float) -> Tree | None:
    record, rows = TreeRecord(), torch.from_numpy(goal.G)
    reach = radius / question.weights
    low, high = np.maximum(question.low, question.x - reach), np.minimum(question.high, question.x + reach)
    spare = (2.0**-50 * (np.abs(question.x) + reach) + TINY) * question.columns
    boxes, numbers = np.stack([low - spare, high + spare], axis=1)[None], np.zeros(1, int)
    while len(boxes):
        if len(record) > MAX_BOXES or time.perf_counter() >= until:
            return None
        part, own = boxes[-BATCH:], numbers[-BATCH:]
        boxes, numbers = boxes[:-BATCH], numbers[:-BATCH]
        if _offer_middles(question, goal, best, part, radius):
            return None
        is_closed = _is_outside(question, part, radius)
        left = np.flatnonzero(~is_closed)
        is_closed[left] = _is_safe(question, goal, rows, part[left], radius)
        for number in own[is_closed]:
            record.close(int(number), Leaf("bounds"))
        halves, children = _halve(question, record, part[~is_closed], own[~is_closed])
        boxes, numbers = np.concatenate([boxes, halves]), np.concatenate([numbers, children])
    return record.tree()


def _offer_middles(question: Question, goal: Goal, best: Best, boxes: Floats, radius: float) -> bool:
    """Offer the middles of boxes (b, n, 2) that reach the goal; return whether one is within the radius."""
    points = np.clip(boxes.mean(axis=2), question.low, question.high)
    reached = np.flatnonzero(goal.margins(question.form.values(points)[0]) >= 0)
    for k in reached[:4]:
        best.offer(question.to_local(points[k]))
    return best.distance < radius


def _is_outside(question: Question, boxes: Floats, radius: float) -> Bools:
    """Return which boxes (b, n, 2) have no input within the radius, by more than rounding."""
    away = np.maximum(np.maximum(boxes[:, :, 0] - question.x, question.x - boxes[:, :, 1]), 0.0) * question.weights
    return np.array([question.length(part / radius) > 1 + 1e-9 for part in away], bool)  # no square over- or underflows


def _is_safe(question: Question, goal: Goal, rows: torch.Tensor, boxes: Floats, radius: float) -> Bools:
    """Return in which boxes (b, n, 2) some row of the goal is below 0 wherever they are within the radius."""
    if not len(boxes):
        return np.zeros(0, bool)
    bounds = LinearBounds(question.net, torch.from_numpy(boxes))
    with torch.no_grad():
        linear, constant = bounds.linear_upper(rows)
        by_box = bounds.worst(linear, constant).numpy()
    G, c = linear.numpy(), constant.numpy()  # (b, k, n), (b, k)
    low, high = boxes[:, None, :, 0], boxes[:, None, :, 1]
    inward = np.where(G > 0, high <= question.x, low >= question.x)  # grows towards x: bounded by the box
    rest = np.where(inward, 0.0, G)
    slopes = np.abs(rest) / question.weights
    most = slopes.max(axis=2)
    shares = slopes / np.where(most > 0, most, 1.0)[..., None]
    steep = {"l1": most, "l2": most * np.sqrt((shares**2).sum(axis=2)), "linf": slopes.sum(axis=2)}[question.norm]
    terms = np.where(inward, np.maximum(G * low, G * high), rest * question.x)
    by_ball = c + terms.sum(axis=2) + radius * steep + TINY
    size = np.abs(c) + (np.abs(G) * np.maximum(np.abs(low), np.abs(high))).sum(axis=2)
    size = size + np.abs(goal.g) + radius * steep
    safe: Bools = (np.minimum(by_box, by_ball) + goal.g < -ROOM * size).any(axis=1)
    return safe


def _halve(question: Question, record: TreeRecord, boxes: Floats, numbers: Ints) -> tuple[Floats, Ints]:
    """Return the halves of boxes (b, n, 2) along their widest sides, and their numbers in the record."""
    halves, children = np.repeat(boxes, 2, axis=0), list[int]()
    widths = np.ptp(boxes, axis=2) * question.weights * question.columns
    for i, (number, axis) in enumerate(zip(numbers.tolist(), widths.argmax(axis=1).tolist(), strict=True)):
        middle = float(boxes[i, axis].mean())
        halves[2 * i, axis, 1] = halves[2 * i + 1, axis, 0] = middle
        children += record.split(number, "input", axis, middle)
    return halves, np.array(children, int)
