"""Passes over the rows of a table: a function of every block, summed in a fixed order on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from creases._engines import Engine, map_in_order


class Reader(Protocol):
    """Something that reads the blocks of a table, in any process."""

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""

    def read(self, task: int) -> Iterator[Any]:
        """Yield the blocks of a part."""


def sum_blocks(engine: Engine, function: Callable[[Any], Any], reader: Reader) -> Any:
    """Return the sum of a function of all blocks; None if there are none.

    Blocks of a part are added one after another, then parts: so the sum is the same, bit for bit, however many
    processes there are.
    """
    total = None
    for parts in map_in_order(engine, ((function, reader, task) for task in range(reader.n_tasks))):
        for part in parts:
            total = part if total is None else total + part
    return total


def sum_task(function: Callable[[Any], Any], reader: Reader, task: int) -> list[Any]:
    """Return the sum over the blocks of a part, in a list that is empty where there are none."""
    from threadpoolctl import threadpool_limits

    total = None
    with threadpool_limits(1):  # products of matrices are rounded in another way by more threads
        for block in reader.read(task):
            part = function(block)
            total = part if total is None else total + part
    return [] if total is None else [total]
