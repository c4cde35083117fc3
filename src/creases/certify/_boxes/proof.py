"""The tree of boxes of a search as the tree of a proof."""

from __future__ import annotations

from collections.abc import Sequence

from creases.certify._boxes.search import CaseLike, TreeLog
from creases.certify.proofs._format import Leaf, Multipliers, Split


def case_trees(
    log: TreeLog, cases: Sequence[CaseLike], is_open: Sequence[bool]
) -> list[tuple[Split | Leaf, ...] | None]:
    """Return for each case the tree that proves that it is empty; None for those that are open."""
    trees: list[tuple[Split | Leaf, ...] | None] = []
    first = 0
    for number, case in enumerate(cases):
        trees.append(None if is_open[number] else _tree(log, number, first, len(case.b)))
        first += len(case.b) + len(case.d)
    return trees


def _tree(log: TreeLog, case: int, first_row: int, input_rows: int) -> tuple[Split | Leaf, ...]:
    """Return the nodes of one case in preorder; the first of its rows limit the inputs."""
    nodes: list[Split | Leaf] = []
    stack = [0]
    while stack:
        node = stack.pop()
        row = log.rows[case].get(node)
        if row is None:
            axis, at, child = log.splits[node]
            nodes.append(Split("input", axis, at))
            stack += [child + 1, child]
        elif row - first_row < input_rows:
            nodes.append(Leaf("empty", Multipliers(domain={row - first_row: 1.0})))
        else:
            nodes.append(Leaf("bounds"))
    return tuple(nodes)
