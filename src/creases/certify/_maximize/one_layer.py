"""Whether the smallest of several rows reaches 0 over a box, for networks with one bend: by a batched dual search.

Nodes fix sides of units and shrink the box. A node is empty if multipliers of its rows, of its units' lines and of its
sides give a bound below 0 [1]_; they are improved by steps of Polyak's length [2]_ towards 0, many nodes at a time.
Before that, rows and sides that must hold shrink the box of a node, input by input. Bounds count all rounding errors.

References
----------
.. [1] Wang, Zhang, Xu, Lin, Jana, Hsieh, Kolter, "Beta-CROWN: Efficient Bound Propagation with Per-neuron Split
   Constraints for Neural Network Robustness Verification", NeurIPS 2021, arXiv:2103.06624.
.. [2] Polyak, "Minimization of unsmooth functionals", USSR Comp. Math. and Math. Physics 9, 1969.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from creases._compiled import has_compiled
from creases._typing import Bools, Floats, Ints
from creases.certify._form import Form
from creases.certify._maximize import shrink_kernel
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.shrink_kernel import LOOSE, shrink_boxes
from creases.certify._nodes import FREE, OFF, ON, Nodes
from creases.certify.proofs._rounding import TINY, gamma
from creases.certify.proofs._spec import relu_lines

#: Numbers (of nodes times inputs and units) that are worked on at a time; steps for the root and for other nodes.
BATCH_SIZE, ROOT_STEPS, STEPS = 2**15, 200, 32

#: How far below the best bound steps aim, relative to it, and the factor by which that shrinks where a step fails.
AIM, SHORTER = 0.1, 0.8

#: Units of a node that are tried where sides shrink boxes.
CANDIDATES = 32

#: What decides between units whose lines leave as much room, relative to that.
TIE = 1e-3


@dataclass(frozen=True, eq=False)
class _Batch:
    """Nodes: sides, boxes of v, and the multipliers to start from."""

    sides: Ints  #: (b, m)
    low: Floats  #: (b, n)
    high: Floats  #: (b, n)
    rows: Floats  #: (b, k) weights of the rows, which add up to 1
    slopes: Floats  #: (b, m) of the line below each unit
    betas: Floats  #: (b, m) of known sides

    def take(self, which: Ints | Bools | slice) -> _Batch:
        return _Batch(*(getattr(self, part.name)[which] for part in fields(self)))

    @staticmethod
    def join(parts: list[_Batch]) -> _Batch:
        return _Batch(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(_Batch)))


class _Pass(NamedTuple):
    """A pass backwards: bounds of the weighted rows, and what they are made of."""

    value: Floats  #: (b,)
    G: Floats  #: (b, n)
    corner: Floats  #: (b, n) where the bound is reached
    z: Floats  #: (b, m) there
    weights: Floats  #: (b, m) of what leaves the units
    slopes: Floats  #: (b, m) of the units' lines
    intercepts: Floats  #: (b, m)
    q: Floats  #: (b, m) of what enters the units


class LayerSearch:
    """The search for a point of a box where all of ``rows y + offsets``, (k, n_out) and (k,), are at least 0.

    Parameters
    ----------
    reaches
        Whether a point (n,) is such a one, exactly; it keeps the point.
    search_nodes
        Whether nodes of known sides (b, m), which have no open units, stay undecided at a time; it keeps a point.
    """

    def __init__(
        self,
        root: Nodes,
        rows: Floats,
        offsets: Floats,
        domain: Domain,
        reaches: Callable[[Floats], bool],
        search_nodes: Callable[[Ints, float], bool],
    ) -> None:
        self.reaches, self.search_nodes, self.box = reaches, search_nodes, domain.box
        form, (low,), (high,) = root.form, root.inputs.low, root.inputs.high
        self.middle, self.leak = domain.middle, form.leak
        self.B, self.c = form.layers[0].W, form.layers[0].c
        self.L, self.F = np.split(rows @ form.output.W, [form.n_in], axis=1)
        self.f = rows @ form.output.c + offsets
        self.lost = root.lost[-1][0]
        self.slack, g = root.slack[0], 2 * gamma(form.n_terms + len(offsets))
        self.row_slack = 2 * (np.abs(rows) @ root.out_slack[0] + g * np.abs(offsets))  # (k,)
        self.gamma = g
        # Twice the half of each unit's and each row's range is the scale of its multiplier.
        self.scale = np.maximum((root.high[0] - root.low[0]) / 2, 1e-300)
        reach = np.abs(self.L) @ np.maximum(-low, high) + np.abs(self.F) @ np.maximum(root.high[0], 0.0)
        self.row_scale = np.maximum(reach + np.abs(self.f), 1e-300)
        self.up, self.down = np.maximum(self.B, 0.0).T.copy(), np.minimum(self.B, 0.0).T.copy()
        at, column = np.nonzero(self.B)
        self.edges = np.searchsorted(at, np.arange(len(self.c) + 1)), column, self.B[at, column]
        self.units, self.constants = np.stack([self.c, self.slack, self.leak]), np.stack([self.f, self.row_slack])
        k, m = len(offsets), len(self.c)
        below, betas = root.lines.below, np.zeros((1, m))
        self.root = _Batch(root.sides, low[None], high[None], np.full((1, k), 1.0 / k), below, betas)
        norms = np.maximum(np.linalg.norm(self.B, axis=1), 1e-300)
        self.overlap = np.abs((self.B / norms[:, None]) @ (self.B / norms[:, None]).T)
        self.useless = 0  # batches in a row whose boxes did not shrink
        self.n_nodes = self.n_batches = 0

    def run(self, until: float) -> bool:
        """Search until a time; return whether the box has such a point, or may have one."""
        begin = time.monotonic()
        self._shrink(self.root)
        if has_compiled(shrink_kernel):  # once on a machine, which does not count
            until += time.monotonic() - begin
        room = max(4, BATCH_SIZE // sum(self.B.shape))
        stack, steps, is_open = [self.root], ROOT_STEPS, False
        while stack:
            if time.monotonic() >= until:
                return True
            nodes = stack.pop()
            while stack and len(nodes.sides) < room:
                nodes = _Batch.join([stack.pop(), nodes])
            if len(nodes.sides) > room:
                stack.append(nodes.take(slice(None, -room)))
                nodes = nodes.take(slice(-room, None))
            children, stuck = self._work(nodes, steps)
            if children is None:
                return True
            steps = STEPS
            is_open |= len(stuck) > 0 and self.search_nodes(stuck, until)
            if len(children.sides):
                stack.append(children)
        return is_open

    def _work(self, nodes: _Batch, steps: int) -> tuple[_Batch | None, Ints]:
        """Bound nodes; return children of those that stay, and sides of those without open units. None: at a point."""
        self.n_nodes += len(nodes.sides)
        nodes = self._shrink(nodes)[0]
        nodes, value, G, mean = self._improve(nodes, steps // 8 if self.propagates else steps)
        if self._try(np.concatenate([mean, np.where(G > 0, nodes.high, nodes.low)])):
            return None, nodes.sides[:0]
        nodes = self._cut(nodes, value, G)
        low, high, _, over = self._lines(nodes)[:4]
        is_open = (nodes.sides == FREE) & (low < 0) & (high > 0)
        weights = (nodes.rows + 0.1 / len(self.f)) @ np.maximum(self.F, 0.0)
        score = np.where(is_open & (weights > 0), weights * over, -1.0)
        can_split = score.max(axis=1) >= 0
        stuck = nodes.sides[~can_split]
        nodes, score, mean = nodes.take(can_split), score[can_split], mean[can_split]
        if self.propagates and len(score):
            return self._look_ahead(nodes, score, is_open[can_split]), stuck
        unit = score.argmax(axis=1)
        likely = (mean * self.B[unit]).sum(axis=1) + self.c[unit] > 0
        sides = np.where(likely, OFF, ON), np.where(likely, ON, OFF)
        return _Batch.join([_set_side(nodes, unit, side) for side in sides]), stuck

    def _look_ahead(self, nodes: _Batch, score: Floats, is_open: Bools) -> _Batch:
        """Return the children of nodes by the units, of a few, whose sides shrink the boxes of both children most."""
        before = np.maximum(nodes.high - nodes.low, 1e-300)
        shared = (is_open * -np.minimum(self.F, 0.0).sum(axis=0)) @ self.overlap
        score = np.where(
            score >= 0, score * (1 + TIE * shared / np.maximum(shared.max(axis=1, keepdims=True), 1e-300)), -1
        )
        units = np.argsort(-score, axis=1, kind="stable")[:, :CANDIDATES]
        kept = np.take_along_axis(score, units, axis=1) >= 0
        at, column = np.nonzero(kept)
        parent = np.concatenate([at, at])
        tried = _Batch.join([_set_side(nodes.take(at), units[at, column], side) for side in (OFF, ON)])
        children, index = self._shrink(tried)
        gain = np.full(2 * len(at), np.inf)
        gain[index] = (1 - (children.high - children.low) / before[parent[index]]).sum(axis=1)
        off, on = gain[: len(at)], gain[len(at) :]
        both = np.full(units.shape, -np.inf)
        with np.errstate(invalid="ignore"):
            both[at, column] = np.where(np.isinf(off) | np.isinf(on), np.inf, (off + 1e-3) * (on + 1e-3))
        best = both.argmax(axis=1)
        is_best = column == best[at]
        return children.take(np.concatenate([is_best, is_best])[index])

    # -- bounds -------------------------------------------------------------------------------------------------------

    def _lines(self, nodes: _Batch) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """Return the range of what enters units, slopes and intercepts above, and the range of slopes below."""
        low = self.c - self.slack + nodes.low @ self.up + nodes.high @ self.down
        high = self.c + self.slack + nodes.high @ self.up + nodes.low @ self.down
        is_off = (nodes.sides == OFF) | (high <= 0)
        is_on = ~is_off & ((nodes.sides == ON) | (low >= 0))
        lines = relu_lines(low, high, self.leak, is_on, is_off)
        return (
            low,
            high,
            lines.above,
            lines.above_at,
            np.where(is_on, 1.0, self.leak),
            np.where(is_off, self.leak, 1.0),
        )

    def _pass(self, nodes: _Batch, lines: tuple[Floats, ...]) -> _Pass:
        _, _, above, over, least, most = lines
        weights = nodes.rows @ self.F
        slopes = np.where(weights > 0, above, np.clip(nodes.slopes, least, most))
        intercepts = np.where(weights > 0, over, 0.0)
        q = weights * slopes + np.where(nodes.sides == ON, nodes.betas, -nodes.betas) * (nodes.sides != FREE)
        G = nodes.rows @ self.L + q @ self.B
        corner = np.where(G > 0, nodes.high, nodes.low)
        value = nodes.rows @ self.f + (weights * intercepts).sum(axis=1) + q @ self.c + (G * corner).sum(axis=1)
        return _Pass(value, G, corner, corner @ self.B.T + self.c, weights, slopes, intercepts, q)

    def _improve(self, nodes: _Batch, steps: int) -> tuple[_Batch, Floats, Floats, Floats]:
        """Improve multipliers; return the nodes that are not shown to be empty, bounds, slopes and points (b, n)."""
        lines: tuple[Floats, ...] = self._lines(nodes)
        mean = (nodes.low + nodes.high) / 2
        best = replace(nodes, rows=nodes.rows.copy(), slopes=nodes.slopes.copy(), betas=nodes.betas.copy())
        least = np.full(len(mean), np.inf)
        ahead = np.zeros(len(mean))  # how far below the best bound a step aims
        for step in range(steps):
            passed = self._pass(nodes, lines)
            value, better = passed.value, passed.value < least
            farther = np.where(better, np.maximum(ahead, AIM * value), SHORTER * ahead)
            ahead = farther if step else 1.05 * np.abs(value)
            least = np.where(better, value, least)
            best.rows[better], best.slopes[better], best.betas[better] = (
                nodes.rows[better], nodes.slopes[better], nodes.betas[better]
            )  # fmt: skip
            mean += (passed.corner - mean) * max(2.0 / (step + 2), 0.05)
            nodes = self._step(nodes, passed, lines, value - least + ahead)
            if step % 4 == 3 and not (stays := least >= 0).all():
                stays[~stays] = self._bound(best.take(~stays), lines, ~stays)[0] >= 0
                nodes, best, least, mean, ahead = (
                    nodes.take(stays), best.take(stays), least[stays], mean[stays], ahead[stays]
                )  # fmt: skip
                lines = tuple(part[stays] for part in lines)
                if not len(least):
                    break
        bound, G = self._bound(best, lines)
        stays = bound >= 0
        return best.take(stays), bound[stays], G[stays], mean[stays]

    def _bound(
        self, nodes: _Batch, lines: tuple[Floats, ...], which: Bools | slice = slice(None)
    ) -> tuple[Floats, Floats]:
        """Return bounds (b,) that hold in real arithmetic, and their slopes (b, n)."""
        passed = self._pass(nodes, tuple(part[which] for part in lines))
        error = nodes.rows @ self.row_slack + np.abs(passed.q) @ self.slack
        error += self.gamma * (np.abs(passed.weights) * np.abs(passed.intercepts)).sum(axis=1)
        bound = passed.value + 1.01 * error + self.lost + TINY
        return np.where(np.isfinite(bound), bound, np.inf), passed.G

    def _step(self, nodes: _Batch, passed: _Pass, lines: tuple[Floats, ...], length_of_step: Floats) -> _Batch:
        """Move multipliers against the gradient of the bound, by Polyak's step towards a little below 0."""
        least, most = lines[4:]
        z, weights = passed.z / self.scale, passed.weights
        sign = np.where(nodes.sides == ON, 1.0, -1.0) * (nodes.sides != FREE)
        slopes = passed.slopes
        moves_beta = (sign != 0) & ((nodes.betas > 0) | (sign * z < 0))
        down = (weights * z > 0) & (slopes > least)
        moves_slope = (weights < 0) & (down | ((weights * z < 0) & (slopes < most)))
        length = (np.where(moves_beta | moves_slope, z, 0.0) ** 2).sum(axis=1)
        rows = np.zeros_like(nodes.rows)
        if len(self.f) > 1:
            leaving = slopes * passed.z + passed.intercepts
            rows = (self.f + passed.corner @ self.L.T + leaving @ self.F.T) / self.row_scale
            rows -= rows.mean(axis=1, keepdims=True)
            length = length + (rows**2).sum(axis=1)
        size = ((length_of_step + 1e-12 * self.row_scale.max()) / np.maximum(length, 1e-300))[:, None]
        betas = np.where(moves_beta, np.maximum(nodes.betas - size * sign * z / self.scale, 0.0), nodes.betas)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.clip(slopes - size * z / self.scale / weights, least, most)
        slopes = np.where(moves_slope, moved, nodes.slopes)
        weights_of_rows = nodes.rows
        if len(self.f) > 1:
            weights_of_rows = np.maximum(nodes.rows - size * rows / self.row_scale.max(), 0.0)
            weights_of_rows = weights_of_rows / np.maximum(weights_of_rows.sum(axis=1, keepdims=True), 1e-300)
        return replace(nodes, rows=weights_of_rows, slopes=slopes, betas=betas)

    # -- boxes --------------------------------------------------------------------------------------------------------

    def _cut(self, nodes: _Batch, value: Floats, G: Floats) -> _Batch:
        """Shrink boxes to where bounds, each linear, are at least 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = value[:, None] / np.abs(G) * (1 + 1e-9)
        reach = np.where(G != 0, reach, np.inf)
        margin = LOOSE * (np.abs(nodes.low) + np.abs(nodes.high)) + TINY
        low = np.where(G > 0, np.maximum(nodes.low, nodes.high - reach - margin), nodes.low)
        high = np.where(G < 0, np.minimum(nodes.high, nodes.low + reach + margin), nodes.high)
        return replace(nodes, low=low, high=high)

    def _shrink(self, nodes: _Batch) -> tuple[_Batch, Ints]:
        """Shrink boxes by known sides and rows that are at least 0.

        Return the nodes that have inputs left, and which of the given ones they are.
        """
        self.n_batches += 1
        if not self.propagates and self.n_batches % 16:
            return nodes, np.arange(len(nodes.sides))
        low, high = nodes.low.copy(), nodes.high.copy()
        is_empty, has_shrunk = shrink_boxes(
            low, high, nodes.sides, *self.edges, self.units, self.F, self.L, self.constants, self.gamma
        )
        self.useless = 0 if is_empty.any() or has_shrunk.any() else self.useless + 1
        index = np.flatnonzero(~is_empty)
        return replace(nodes, low=low, high=high).take(index), index

    @property
    def propagates(self) -> bool:
        """Whether boxes have shrunk by known sides in one of the last batches."""
        return self.useless < 4

    def _try(self, V: Floats) -> bool:
        """Whether one of points (p, n) around the middle, moved to ends of the box that are near, is what is sought."""
        X = self.middle + V
        for end in self.box.T:
            X = np.where(np.abs(X - end) <= 1e-7 * np.ptp(self.box, axis=1), end, X)
        X = np.clip(X, *self.box.T)
        z = (X - self.middle) @ self.B.T + self.c
        values = (self.f + (X - self.middle) @ self.L.T + np.where(z > 0, z, self.leak * z) @ self.F.T) / self.row_scale
        least = values.min(axis=1)
        return any(least[i] >= -1e-12 and self.reaches(X[i]) for i in np.argsort(-least)[:4])


def _set_side(nodes: _Batch, units: Ints, sides: Ints | int) -> _Batch:
    """Return nodes with one more side known each."""
    new = nodes.sides.copy()
    new[np.arange(len(units)), units] = sides
    return replace(nodes, sides=new)


def is_made_for(form: Form, domain: Domain) -> bool:
    """Whether a network has one bend of ReLUs or leaky ones, and the domain is a box."""
    return len(form.layers) == 1 and domain.is_box and bool(((form.leak >= 0) & (form.leak < 1)).all())
