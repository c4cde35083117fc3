"""Branch and bound over boxes for networks of up to three inputs and many units, such as lattices of linear functions.

Bounds are carried forwards: every value is between two affine functions of the input, of n + 1 numbers each, so that a
box costs one sparse product for each stage and bound instead of a pass backwards for each unit. In small boxes most
units keep their side, and there both functions are the network itself. The number of small boxes that matter is modest
in up to three dimensions.

All bounds hold in real arithmetic: what rounding may change is added to the constants.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from creases._typing import Bools, Floats, Ints
from creases.certify._boxes.chain import Stage
from creases.certify._boxes.search import MAX_PRODUCTS, Answer, row_leaves
from creases.certify._case import Case
from creases.certify._exact import exact_outputs
from creases.certify.proofs._format import Split
from creases.certify.proofs._record import TreeRecord
from creases.certify.proofs._rounding import TINY, UNIT, gamma
from creases.certify.proofs._spec import relu_lines
from creases.network import Network

#: Numbers of a batch of boxes, and its most boxes.
BATCH_SIZE, MAX_BATCH = 2**21, 256

#: Batches of a part that another process searches, if it is small, and if not.
SMALL_SHARE, SHARE = 8, 32

#: Points in a case that are checked in exact arithmetic, at most: each takes as long as many boxes.
MAX_CHECKS = 50


class Boxes(NamedTuple):
    """Boxes that wait."""

    boxes: Floats  #: (p, n, 2)
    is_open: Bools  #: (p, cases)
    node: Ints  #: (p,) number in the tree


class _Affine(NamedTuple):
    """Affine functions (values, boxes, n + 1) of u from -1 to 1, the constant last, that values are between."""

    below: Floats
    above: Floats


class _Part(NamedTuple):
    """A linear part: its positive and its negative entries."""

    up: Any
    down: Any
    terms: int  #: the most entries of a row

    @classmethod
    def of(cls, W: Any) -> _Part:
        sparse = csr_array(W)
        up, down = sparse.maximum(0).tocsr(), sparse.minimum(0).tocsr()
        return cls(up, down, int(np.diff(sparse.indptr).max(initial=0)))

    def apply(self, x: _Affine, constant: Floats) -> _Affine:
        """Return ``W x + constant``, rounded outwards."""
        shape = (self.up.shape[0], *x.above.shape[1:])
        low, high = (end.reshape(len(end), -1) for end in x)
        above = (self.up @ high + self.down @ low).reshape(shape)
        below = (self.up @ low + self.down @ high).reshape(shape)
        size = np.maximum(np.abs(x.below).sum(axis=2), np.abs(x.above).sum(axis=2))  # (values, boxes)
        total = self.up @ size - self.down @ size + np.abs(constant)[:, None]
        error = gamma(self.terms + shape[2] + 2) * total + TINY
        above[:, :, -1] += constant[:, None] + error
        below[:, :, -1] += constant[:, None] - error
        return _Affine(below, above)


def is_supported(stages: Sequence[Stage]) -> bool:
    """Whether all leaks are from 0 to 1."""
    return all(((stage.leak >= 0) & (stage.leak <= 1)).all() for stage in stages)


@lru_cache(maxsize=1)
def _prepare(stages: tuple[Stage, ...], keep_tree: bool) -> tuple[list[_Part], list[bool], dict[int, _Fold]]:
    """Return the linear parts of stages, which have bends, and which are bounded with the next one.

    For a proof each is bounded for itself. Parts of a search in turn ask for the same.
    """
    is_bent = [bool((stage.leak != 1).any()) for stage in stages]
    folds = {
        k: _Fold(*pair)
        for k, pair in enumerate(pairwise(stages))
        if not keep_tree and is_bent[k] and not is_bent[k + 1] and _Fold.is_small(*pair)
    }
    return [_Part.of(stage.W) for stage in stages], is_bent, folds


class SparseSearch:
    """The search of cases with one box for an input in one of them; see :class:`ChainSearch`."""

    def __init__(self, net: Network, stages: Sequence[Stage], cases: Sequence[Case], keep_tree: bool) -> None:
        self.net, self.stages, self.cases = net, stages, cases
        self.parts, self.is_bent, self.folds = _prepare(tuple(stages), keep_tree)
        m = len(stages[-1].b)
        C = np.vstack([part for case in cases for part in (np.zeros((len(case.b), m)), -case.C)])
        self.D = np.vstack([part for case in cases for part in (-case.A, -case.D)]) + 0.0
        self.e = np.concatenate([part for case in cases for part in (case.b, case.d)])
        self.rows, self.of_inputs = _Part.of(C), _Part.of(self.D)
        self.starts = np.cumsum([0, *(len(case.b) + len(case.d) for case in cases)])
        self.margin = 1e-9 * (1 + float(np.abs(self.e).max(initial=0.0))) if keep_tree else 0.0
        self.leaves, self.keep_tree = row_leaves(cases), keep_tree
        numbers = sum(len(stage.b) for stage in self.stages) * (stages[0].W.shape[1] + 1)
        self.batch = int(np.clip(BATCH_SIZE // max(1, numbers), 1, MAX_BATCH))
        self.checks, self.done = 0, 0

    def run(self, until: float) -> Answer:
        """Search the whole box until a time of ``time.monotonic()``."""
        return self._work(None, until, np.inf)

    def take_part(self, nodes: Boxes | None, until: float, number: int, *, is_small: bool) -> Answer:
        """Go on from some boxes for a while; the number is that of ascents, which there are none of here."""
        return self._work(nodes, until, SMALL_SHARE if is_small else SHARE)

    def _work(self, nodes: Boxes | None, until: float, max_batches: float) -> Answer:
        boxes, is_open, numbers = self._root() if nodes is None else nodes
        self.trees = TreeRecord(len(numbers), len(self.cases))
        next_node, batches, is_stuck = len(numbers), 0, False
        while len(boxes) and batches < max_batches:
            top = slice(-self.batch, None)
            part, part_open, part_nodes = boxes[top], is_open[top], numbers[top]
            still, axis, point = self._bound(part, part_open, part_nodes)
            batches += 1
            self.done += len(part)
            if point is not None:
                return Answer(point, [True] * len(self.cases), self.trees, self.done)
            left = np.flatnonzero(still.any(axis=1))
            is_stuck = bool((axis[left] < 0).any())  # a point in float64 whose rows are not decided
            if time.monotonic() >= until or is_stuck:
                break
            middle, halves = _halve(part[left], axis[left])
            for i, j, at in zip(part_nodes[left].tolist(), axis[left].tolist(), middle.tolist(), strict=True):
                if self.keep_tree:
                    self.trees.put(i, Split("input", j, at), next_node)
                next_node += 2
            first = next_node - 2 * len(left)
            boxes = np.concatenate([boxes[: -self.batch], halves])
            is_open = np.concatenate([is_open[: -self.batch], np.repeat(still[left], 2, axis=0)])
            numbers = np.concatenate([numbers[: -self.batch], first + np.arange(2 * len(left))])
        open_cases = [bool(is_open[:, case].any()) for case in range(len(self.cases))]
        return Answer(None, open_cases, self.trees, self.done, Boxes(boxes, is_open, numbers), is_stuck)

    def _root(self) -> Boxes:
        box = np.ascontiguousarray(self.cases[0].box, np.float64)
        return Boxes(box[None], np.ones((1, len(self.cases)), bool), np.zeros(1, np.int64))

    def _carry(self, x: _Affine) -> _Affine:
        """Return the outputs as functions of u, given the inputs."""
        k = 0
        while k < len(self.stages):
            if k in self.folds:
                x, k = self.folds[k].apply(x), k + 2
                continue
            x = self.parts[k].apply(x, self.stages[k].b)
            x, k = _bend(x, self.stages[k].leak) if self.is_bent[k] else x, k + 1
        return x

    def _bound(self, boxes: Floats, is_open: Bools, nodes: Ints) -> tuple[Bools, Ints, Floats | None]:
        """Return which cases (p, cases) are open in boxes (p, n, 2), the inputs to split (p,), and a violation."""
        inputs = _box_functions(boxes)
        x = self._carry(inputs)
        rows, shift = self.rows.apply(x, self.e), self.of_inputs.apply(inputs, np.zeros(len(self.e)))
        above, below = rows.above + shift.above, rows.below + shift.below  # (rows, p, n + 1)
        error = gamma(above.shape[2] + 4) * (np.abs(rows.above) + np.abs(shift.above)).sum(axis=2)
        upper = above[:, :, -1] + np.abs(above[:, :, :-1]).sum(axis=2) + error + TINY
        middle = above[:, :, -1] + below[:, :, -1]
        still, by = is_open.copy(), np.zeros(len(boxes), np.int64)
        for case, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            row = start + upper[start:end].argmin(axis=0)
            closed = is_open[:, case] & (upper[row, np.arange(len(boxes))] < -self.margin)
            still[:, case] &= ~closed
            if self.keep_tree:
                for i in np.flatnonzero(closed):
                    self.trees.close(int(nodes[i]), self.leaves[row[i]], case)
            outputs = min(start + len(self.cases[case].b), end - 1)  # rows of inputs alone never close at their limit
            lowest = outputs + middle[outputs:end].argmin(axis=0)  # that which may be negative over the whole box
            by = np.where(still[:, case], lowest, by)
        index = np.arange(len(boxes))
        slope, spread = above[by, index, :-1], np.abs(above - below)[by, index, :-1]
        violation = self._violation(boxes, slope, np.asarray(still.any(axis=1)))
        return still, _axes(boxes, np.abs(slope) + spread), violation

    def _violation(self, boxes: Floats, slope: Floats, is_left: Bools) -> Floats | None:
        """Return a point in a case, of corners and middles of boxes that are left."""
        corners = np.where(slope > 0, boxes[:, :, 1], boxes[:, :, 0])
        points = np.concatenate([corners, boxes.mean(axis=2)])[np.tile(is_left, 2)]
        if not len(points) or self.checks >= MAX_CHECKS:
            return None
        h = points.T
        for stage, part in zip(self.stages, self.parts, strict=True):
            z = part.up @ h + part.down @ h + stage.b[:, None]
            h = np.where(z > 0, z, stage.leak[:, None] * z)
        values = self.rows.up @ h + self.rows.down @ h + self.D @ points.T + self.e[:, None]
        ends = zip(self.starts[:-1], self.starts[1:], strict=True)
        value = np.max([values[start:end].min(axis=0, initial=np.inf) for start, end in ends], axis=0)
        x = points[int(value.argmax())]
        if value.max() < -1e-9 * (1 + float(np.abs(self.e).max(initial=0.0))):
            return None
        self.checks += 1
        y = exact_outputs(self.net, x, MAX_PRODUCTS)
        return np.asarray(x) if y is not None and any(case.contains(x, y) for case in self.cases) else None


def _box_functions(boxes: Floats) -> _Affine:
    """Return the inputs (n, p, n + 1) of boxes (p, n, 2) as functions of u, whose range contains each box."""
    p, n = boxes.shape[:2]
    middle = boxes.mean(axis=2)
    radius = np.maximum(boxes[:, :, 1] - middle, middle - boxes[:, :, 0])
    radius = np.nextafter(radius, np.inf) * (radius > 0)
    x = np.zeros((n, p, n + 1))
    x[:, :, -1] = middle.T
    x[np.arange(n), :, np.arange(n)] = radius.T
    return _Affine(x, x)


class _Lines(NamedTuple):
    """Lines around units in boxes (m, p): ``below z <= h <= above z + over``."""

    below: Floats
    above: Floats
    over: Floats
    is_on: Bools


def _lines(z: _Affine, leak: Floats) -> _Lines:
    """Return a chord above and a line through 0 below units (m, p, n + 1) whose side is not known, else their own."""
    slack = gamma(z.above.shape[2] + 2)
    high = z.above[:, :, -1] + np.abs(z.above[:, :, :-1]).sum(axis=2) + slack * np.abs(z.above).sum(axis=2)
    low = z.below[:, :, -1] - np.abs(z.below[:, :, :-1]).sum(axis=2) - slack * np.abs(z.below).sum(axis=2)
    a = leak[:, None]
    is_on = (low >= 0) | (a == 1)
    lines = relu_lines(low, high, a, is_on, ~is_on & (high <= 0))
    return _Lines(lines.below, lines.above, lines.above_at, is_on)


def _bend(z: _Affine, leak: Floats) -> _Affine:
    """Return what leaves units (m, p, n + 1)."""
    size = np.abs(z.above).sum(axis=2), np.abs(z.below).sum(axis=2)  # (m, p)
    lines = _lines(z, leak)
    above, below = z.above * lines.above[:, :, None], z.below * lines.below[:, :, None]
    rounds = ~lines.is_on & (lines.above != 0.0)  # else products are exact
    above[:, :, -1] += lines.over + rounds * (4 * UNIT * (size[0] + lines.over) + TINY)
    below[:, :, -1] -= rounds * (4 * UNIT * size[1] + TINY)
    return _Affine(below, above)


class _Fold:
    """Units and the sparse affine stage after them, bounded by what enters the units: ``V h + c``, h of ``W x + b``.

    With a line for each unit the stage is affine in x, and coefficients of one entry of x are added before its own
    bounds are used: ``a - relu(a - b)`` is about ``(1 - s) a + s b``.
    """

    def __init__(self, stage: Stage, after: Stage) -> None:
        W, V = csr_array(stage.W), csr_array(after.W)
        self.enter, self.b, self.leak, self.c = _Part.of(W), stage.b, stage.leak, after.b
        rows, units = V.nonzero()
        weights = np.asarray(V[rows, units]).ravel()
        counts = np.diff(W.indptr)[units]
        term = np.repeat(np.arange(len(units)), counts)  # of V for each product of an entry of V and one of W
        place = np.repeat(W.indptr[units] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        entries, entry = np.unique(rows[term] * W.shape[1] + W.indices[place], return_inverse=True)
        products, shape = weights[term] * W.data[place], (len(entries), W.shape[0])
        of_unit = (entry, units[term])
        self.up, self.down = (
            csr_array((np.where(chosen, products, 0.0), of_unit), shape)
            for chosen in (weights[term] > 0, weights[term] < 0)
        )
        self.columns = entries % W.shape[1]
        index = np.arange(len(entries))
        self.sums = csr_array((np.ones(len(entries)), (entries // W.shape[1], index)), (V.shape[0], len(entries)))
        self.plus, self.minus = V.maximum(0).tocsr(), V.minimum(0).tocsr()
        self.sizes = np.bincount(entry, np.abs(products), len(entries))
        self.terms = int(np.bincount(rows[term], minlength=1).max()) + int(np.diff(V.indptr).max(initial=0))

    @staticmethod
    def is_small(stage: Stage, after: Stage) -> bool:
        """Whether there are about as many products as weights."""
        W, V = csr_array(stage.W), csr_array(after.W)
        return int(np.diff(V.tocsc().indptr) @ np.diff(W.indptr)) <= 2 * (W.nnz + V.nnz)

    def apply(self, x: _Affine) -> _Affine:
        """Return what the stage gives."""
        lines = _lines(self.enter.apply(x, self.b), self.leak)
        b, size = self.b[:, None], np.maximum(np.abs(x.below).sum(axis=2), np.abs(x.above).sum(axis=2))
        over = lines.above * b + lines.over
        largest = self.plus @ (np.abs(b) + lines.over) - self.minus @ (np.abs(b) + lines.over)
        total = self.sums @ (self.sizes[:, None] * size[self.columns]) + largest + np.abs(self.c)[:, None]
        error = gamma(self.terms + x.above.shape[2] + 8) * total + TINY
        ends = []
        for up, down, sign in ((lines.above, lines.below, 1.0), (lines.below, lines.above, -1.0)):
            G = (self.up @ up + self.down @ down)[:, :, None]
            part = np.where(sign * G > 0, x.above[self.columns], x.below[self.columns]) * G
            y = (self.sums @ part.reshape(len(part), -1)).reshape(-1, *part.shape[1:])
            at = (over, lines.below * b) if sign > 0 else (lines.below * b, over)
            y[:, :, -1] += self.plus @ at[0] + self.minus @ at[1] + self.c[:, None] + sign * error
            ends.append(y)
        return _Affine(ends[1], ends[0])


def _axes(boxes: Floats, effect: Floats) -> Ints:
    """Return the input to split of each box (p,): that with the largest effect (p, n); -1 if no side can be divided."""
    low, high = boxes[:, :, 0], boxes[:, :, 1]
    middle = boxes.mean(axis=2)
    can = (low < middle) & (middle < high)
    score = np.where(can, effect + 1e-3 * effect.max(axis=1, initial=0.0)[:, None], -1.0)
    score = np.where(can & (score.max(axis=1) <= 0)[:, None], high - low, score)
    return np.where(can.any(axis=1), score.argmax(axis=1), -1)


def _halve(boxes: Floats, axis: Ints) -> tuple[Floats, Floats]:
    """Return the middles (p,) and the halves (2 p, n, 2) of boxes, those of one box next to each other."""
    index = np.arange(len(boxes))
    middle = boxes.mean(axis=2)[index, axis]
    halves = np.repeat(boxes, 2, axis=0)
    halves[2 * index, axis, 1] = middle
    halves[2 * index + 1, axis, 0] = middle
    return middle, halves
