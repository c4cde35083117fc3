"""Proofs of nearest changes: the trees that the search recorded, with the statement that they prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from creases._typing import Floats
from creases.certify._nearest.evidence import GoalTree
from creases.certify._nearest.question import Question
from creases.certify.proofs import Proof, check_proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, NearestStatement, Tree


def prove_change(
    question: Question, point: Floats | None, distance: float, radius: float, trees: Sequence[GoalTree | Tree]
) -> tuple[Proof | None, str]:
    """Return a proof that the point is that near and nothing within the radius, or why there is none.

    A tree for each goal; none where the radius is 0.
    """
    splits_sides = not trees or any(isinstance(tree, GoalTree) for tree in trees)
    if radius > 0 and splits_sides and any(step.op == "choice" for step in question.net.steps):
        return None, "the network has choices (max-pooling, say), whose sides no proof of a distance can split"
    if radius > 0 and len(trees) < len(question.goals):
        return None, "the lower bound was found without a tree of sides"
    parts = []
    for goal, tree in zip(question.goals, trees if radius > 0 else (), strict=False):
        nodes = tree.tree_within(question, len(goal.g), radius) if isinstance(tree, GoalTree) else tree
        if nodes is None:
            return None, "the search bounded a part without numbers that show it"
        parts.append(ClaimProof(goal.key, nodes))
    proof = make_proof(_statement(question, point, distance, radius), tuple(parts), net=question.net)
    answer = check_proof(proof, question.net)
    return (proof, "") if answer else (None, f"the check refused the tree: {answer.text}")


def _statement(question: Question, point: Floats | None, distance: float, radius: float) -> NearestStatement:
    return replace(
        question.asked,
        x=tuple(question.x.tolist()),
        weights=tuple(question.weights.tolist()),
        box=tuple(zip(question.low.tolist(), question.high.tolist(), strict=True)),
        lower_bound=radius,
        integer=tuple(int(j) for j in np.flatnonzero(question.integer)),
        one_hot=question.one_hot,
        distance=None if point is None else distance,
        point=None if point is None else tuple(point.tolist()),
    )
