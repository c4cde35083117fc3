"""The tree of a search, recorded while it runs in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from creases._typing import Ints
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

    def __init__(self, roots: int = 1, cases: int = 1) -> None:
        """Open a record; several cases have the splits in common, and leaves of their own."""
        self._splits: dict[
            int, tuple[Split, int]
        ] = {}  # and the first of the two children, which are next to each other
        self._leaves: list[dict[int, Leaf | Tree]] = [{} for _ in range(cases)]
        self._size = roots

    def __len__(self) -> int:
        """Return the number of nodes: numbers from here on are those of none."""
        return self._size

    def split(
        self, node: int, kind: Literal["input", "unit"], index: int, at: Number = 0.0, lemmas: Sequence[Lemma] = ()
    ) -> tuple[int, int]:
        """Split an open node; return its children: below and above, off and on."""
        first = self._size
        self.put(node, Split(kind, index, at, tuple(lemmas)), first)
        return first, first + 1

    def put(self, node: int, split: Split, first: int) -> None:
        """Split an open node whose first child has a number of its own, which no node has so far."""
        self._splits[node] = split, first
        self._size = max(self._size, first + 2)

    def close(self, node: int, leaf: Leaf | Tree, case: int = 0) -> None:
        """Make an open node a leaf, or put a whole tree there."""
        self._leaves[case][node] = leaf

    def graft(self, part: TreeRecord, roots: Sequence[int] | Ints) -> Ints:
        """Put the trees of a part at open nodes, one for each of its roots; return the numbers here of its nodes."""
        numbers = np.concatenate([roots, np.arange(self._size, self._size + len(part) - len(roots))]).astype(np.int64)
        self._size += len(part) - len(roots)
        for node, (split, first) in part._splits.items():
            self._splits[int(numbers[node])] = split, int(numbers[first])
        for leaves, more in zip(self._leaves, part._leaves, strict=True):
            leaves |= {int(numbers[node]): leaf for node, leaf in more.items()}
        return numbers

    def tree(self, case: int = 0) -> Tree:
        """Return the tree of a case, in preorder; no node may be open."""
        nodes: list[Split | Leaf] = []
        stack = [0]
        while stack:
            number = stack.pop()
            leaf = self._leaves[case].get(number)
            if leaf is not None:
                nodes += leaf if isinstance(leaf, tuple) else (leaf,)
            elif number in self._splits:
                split, first = self._splits[number]
                nodes.append(split)
                stack += [first + 1, first]
            else:
                raise RequestError(f"node {number} of the tree is open; close it before the tree is stored")
        return tuple(nodes)
