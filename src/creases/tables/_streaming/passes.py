"""Passes over the rows of a table: a function of every block, summed in a fixed order on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from creases._engines import Engine, map_in_order, open_engine
from creases.tables._streaming.files import TableFiles
from creases.tables._streaming.memory import LimitedEngine, MemoryLimit


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


@contextmanager
def open_sums(
    engine: str, n_jobs: int | None, address: str | None, files: TableFiles, limit: MemoryLimit
) -> Iterator[Engine]:
    """Start an engine for :func:`sum_blocks` over files; stop it at the end.

    All processes of this machine together keep to a limit of memory.
    """
    if engine == "ray":
        with open_engine(engine, sum_task, files.n_tasks, n_jobs, address) as workers:
            yield workers
        return
    from loky import cpu_count

    wanted = 1 if engine == "serial" else min(files.n_tasks, n_jobs or cpu_count())
    processes = LimitedEngine(sum_task, limit.plan(wanted, files.block_bytes), limit)
    try:
        yield processes
    finally:
        processes.close()
