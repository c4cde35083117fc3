"""Proofs of nearest changes: the trees that the search recorded, with the statement that they prove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.certify._nearest.evidence import GoalTree
from creases.certify._nearest.question import Question, predicted_class
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
    keys = _keys(question) if radius > 0 else []
    parts = tuple(
        ClaimProof(key, tree.tree(question, len(goal.g), radius) if isinstance(tree, GoalTree) else tree)
        for key, goal, tree in zip(keys, question.goals, trees, strict=False)
    )
    proof = make_proof(_statement(question, point, distance, radius), parts, net=question.net)
    answer = check_proof(proof, question.net)
    return (proof, "") if answer else (None, f"the check refused the tree: {answer.text}")


def _statement(question: Question, point: Floats | None, distance: float, radius: float) -> NearestStatement:
    target: Any = question.target
    is_range = isinstance(target, tuple | list)
    ends = tuple(None if end is None or np.isinf(end) else float(end) for end in target) if is_range else None
    return NearestStatement(
        x=tuple(question.x.tolist()),
        predicted=predicted_class(question.layers.values(question.x[None])[0][0]),
        norm=question.norm,
        weights=tuple(question.weights.tolist()),
        box=tuple(zip(question.low.tolist(), question.high.tolist(), strict=True)),
        lower_bound=radius,
        integer=tuple(int(j) for j in np.flatnonzero(question.integer)),
        one_hot=question.one_hot,
        target=None if is_range or target is None else int(target),
        target_range=ends,  # type: ignore[arg-type]
        distance=None if point is None else distance,
        point=None if point is None else tuple(point.tolist()),
    )


def _keys(question: Question) -> list[tuple[str | int, ...]]:
    """Return the name of each goal's claim."""
    target: Any = question.target
    if isinstance(target, tuple | list):
        return [("goal",)]
    if len(question.layers.c) == 1:
        return [("goal", int(question.goals[0].G[0, 0] > 0))]
    if target is not None:
        return [("goal", int(target))]
    return [("goal", int(goal.G[0].argmax())) for goal in question.goals]
