"""What a search records: for each goal a tree of splits, with the multipliers that show the bound of every node."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.certify._nearest.question import Question
from creases.certify.proofs._format import Leaf, Lemma, Multipliers, Split, Tree
from creases.certify.proofs._record import TreeRecord


class Evidence(NamedTuple):
    """Non-negative multipliers of what holds in a node wherever it reaches the goal, and slopes of free lines."""

    goal: Floats  #: (rows,) of the goal; empty if none is needed
    sums: Floats  #: of the sums of one-hot groups
    units: Ints  #: with a multiplier of their side
    sides: Floats
    bent: Ints  #: units with a slope
    slopes: Floats
    limits: Floats  #: (n,) of upper limits of u, less those of lower ones
    crossed: int = -1  #: a unit whose bounds alone show that the node has no inputs

    @classmethod
    def nothing(cls, crossed: int = -1) -> Evidence:
        """Limits, or the bounds of a unit, show that a node has no inputs."""
        none, no_units = np.zeros(0), np.zeros(0, int)
        return cls(none, none, no_units, none, no_units, none, none, crossed)

    def leaf(self, question: Question, rows: int, cuts: tuple[Multipliers, ...]) -> Leaf:
        """Return the leaf that it is of, for a goal of so many rows."""
        shown = self.multipliers(question, rows)
        lemmas = () if self.crossed < 0 else (Lemma(self.crossed, "low"), Lemma(self.crossed, "high"))
        return Leaf("multipliers" if shown.rows else "empty", shown, lemmas, cuts)

    @classmethod
    def of(
        cls,
        y: Floats,
        sums: int,
        limits: Floats,
        code: Ints,
        depends: Floats,
        slopes: Floats,
        number: Ints,
        bent: Bools,
        convex: Bools,
    ) -> Evidence:
        """Return the evidence of multipliers y of sums, then of rows with a code: the goal's row, or -1 less the unit.

        Free lines are mixed as the rows that need them are: slopes (lines, units), of which each row has a number,
        weighted by what rows take of them.
        """
        total = y[:sums]
        used = np.flatnonzero(y[sums:] > 0)
        y, code = y[sums:][used], code[used]
        size = max(float(part.max(initial=0.0)) for part in (y, total, np.abs(limits))) or 1.0
        taken = y[:, None] * np.maximum(np.where(convex, -depends[used], depends[used]), 0.0)
        whole = taken.sum(axis=0)
        mixed = np.flatnonzero(bent & (whole > 0))
        slope = (taken * slopes[number[used]]).sum(axis=0)[mixed] / whole[mixed]
        slope = np.clip(slope, slopes.min(axis=0)[mixed], slopes.max(axis=0)[mixed])
        is_goal = code >= 0
        goal = np.asarray(np.bincount(code[is_goal], y[is_goal] / size), float)
        units, place = np.unique(-1 - code[~is_goal], return_inverse=True)
        sides = np.asarray(np.bincount(place, y[~is_goal] / size), float)
        return cls(goal, total / size, units, sides, mixed, slope, limits / size)

    def multipliers(self, question: Question, rows: int) -> Multipliers:
        """Return the evidence in the words of a proof, for a goal of so many rows."""
        groups = len(question.one_hot)
        names = np.flatnonzero(question.columns)[: len(self.limits)]
        box = self.limits * question.weights[names]
        goal = np.pad(self.goal, (0, rows - len(self.goal))) if len(self.goal) else self.goal
        return Multipliers(
            rows=tuple(goal.tolist()),
            domain={2 * (i % groups) + i // groups: float(v) for i, v in enumerate(self.sums) if v},
            sides=dict(zip(self.units.tolist(), self.sides.tolist(), strict=True)),
            slopes=dict(zip(self.bent.tolist(), self.slopes.tolist(), strict=True)),
            box={int(j): float(v) for j, v in zip(names, box, strict=True) if v},
        )


class _Shown(NamedTuple):
    """What shows the bound of a node, beyond the planes that were known then."""

    bound: float
    evidence: Evidence
    cuts: int  #: of the node so far


class GoalTree(TreeRecord):
    """The tree of a goal, recorded as the search grows it.

    A node keeps what showed its bound each time it was bounded. Evidence holds for the bounds of units that it was
    found with: with tighter ones, those of children among them, chords are steeper or flatter, and the same multipliers
    may show less. So a tree for a radius ends at the first evidence on the way that shows it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[int, list[_Shown]] = {}
        self._cuts: dict[int, list[Evidence]] = {}

    def show(self, number: int, evidence: Evidence, bound: float = np.inf) -> None:
        """Say what shows the bound of a node; by default that it has no inputs."""
        self._shown.setdefault(number, []).append(_Shown(bound, evidence, len(self._cuts.get(number, ()))))

    def cut(self, number: int, evidence: Evidence) -> None:
        """Say that only inputs beyond the plane of the evidence count in a node and all nodes below."""
        self._cuts.setdefault(number, []).append(evidence)

    def tree_within(self, question: Question, rows: int, radius: float) -> Tree | None:
        """Return the tree of a proof in preorder that nothing is within a radius, for a goal of so many rows.

        None where nothing showed the bound of a node, as numbers left the range of floats.
        """
        nodes: list[Split | Leaf] = []
        stack = [0]
        while stack:
            number = stack.pop()
            shown = self._shown.get(number, [])
            last = next((part for part in shown if part.bound >= radius), None)
            if last is None and number not in self._splits:
                if not shown:
                    return None
                last = shown[-1]
            cuts = [cut.multipliers(question, rows) for cut in self._cuts.get(number, ())]
            if last is not None:
                nodes.append(last.evidence.leaf(question, rows, tuple(cuts[: last.cuts])))
            else:
                split, first = self._splits[number]
                nodes.append(replace(split, cuts=tuple(cuts)))
                stack += [first + 1, first]
        return tuple(nodes)
