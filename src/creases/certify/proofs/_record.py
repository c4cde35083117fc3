"""The tree of a search, recorded while it runs in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from creases.certify.proofs._format import Leaf, Lemma, Number, Split, Tree
from creases.errors import RequestError


class TreeRecord:
    """A tree of splits that grows as a search runs; nodes are numbers, the root is 0.

    A part of a search has a record of its own, with several roots: 0, 1, ...

    Examples
    --------
    >>> record = TreeRecord()
    >>> left, right = record.split(0, "unit", 3)
    >>> record.close(right, Leaf("bounds"))
    >>> record.close(left, Leaf("empty"))
    >>> [type(node).__name__ for node in record.tree()]
    ['Split', 'Leaf', 'Leaf']
    """

    def __init__(self, roots: int = 1) -> None:
        self._nodes: list[Split | Leaf | Tree | None] = [None] * roots
        self._children: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._nodes)

    def split(
        self, node: int, kind: Literal["input", "unit"], index: int, at: Number = 0.0, lemmas: Sequence[Lemma] = ()
    ) -> tuple[int, int]:
        """Split an open node; return its children: below and above, off and on."""
        self._nodes[node] = Split(kind, index, at, tuple(lemmas))
        first = len(self._nodes)
        self._nodes += [None, None]
        self._children[node] = first, first + 1
        return first, first + 1

    def close(self, node: int, leaf: Leaf | Tree) -> None:
        """Make an open node a leaf, or put a whole tree there."""
        self._nodes[node] = leaf

    def graft(self, part: TreeRecord, roots: Sequence[int]) -> list[int]:
        """Put the trees of a part at open nodes, one for each of its roots; return the numbers here of its nodes."""
        new = range(len(self), len(self) + len(part) - len(roots))
        numbers = [*roots, *new]
        self._nodes += [None] * len(new)
        for number, node in zip(numbers, part._nodes, strict=True):
            self._nodes[number] = node
        for number, (first, second) in part._children.items():
            self._children[numbers[number]] = numbers[first], numbers[second]
        return numbers

    def tree(self) -> Tree:
        """Return the tree, in preorder; no node may be open."""
        nodes: list[Split | Leaf] = []
        stack = [0]
        while stack:
            number = stack.pop()
            node = self._nodes[number]
            if node is None:
                raise RequestError(f"node {number} of the tree is open; close it before the tree is stored")
            nodes += node if isinstance(node, tuple) else (node,)
            stack.extend(reversed(self._children.get(number, ())))
        return tuple(nodes)
