"""Passes over the rows of a table: a function of every block, summed in a fixed order on any engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet

from creases._engines import Engine, map_in_order, open_engine, start_engine
from creases.errors import FileError, InputError
from creases.tables._streaming.files import BLOCK_BYTES, CELL_BYTES, LIBRARIES, MAX_MEMORY, TableFiles, find_files

#: Bytes of a process that reads blocks, without a block; and of a fit to the sample, in this process.
WORKER, SAMPLE = 260_000_000, 650_000_000


def held_memory() -> int:
    """Return how many bytes of the machine's memory this process holds now."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return peak_memory()


def peak_memory() -> int:
    """Return how many bytes this process held at most; 0 where the system does not say."""
    with suppress(OSError, ValueError, StopIteration):  # not of the process before exec, as the other counts it
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    with suppress(ImportError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 0


@dataclass(frozen=True)
class MemoryLimit:
    """The bytes that all processes together may hold."""

    limit: float = MAX_MEMORY
    held: int = field(default_factory=held_memory)  #: by this process, before
    peak: int = field(default_factory=peak_memory)  #: of this process, before

    def own(self) -> int:
        """Return the most bytes that count of this process since the limit was set."""
        peak = peak_memory()
        now = peak if peak > self.peak else held_memory()
        return max(now - self.held, 0) + min(self.held, LIBRARIES)

    def plan(self, n_jobs: int, block: float) -> int:
        """Return how many of ``n_jobs`` processes fit, each with a block of so many bytes; 1 means this process."""
        free = self.limit - self.own() - SAMPLE
        if free < block:
            raise self.error(self.limit - free + block)
        n_fit = int(free // (WORKER + block))
        return min(n_jobs, n_fit) if n_fit > 1 else 1

    def error(self, needed: float) -> InputError:
        """Return the error that says how much the fit takes."""
        expected = f"be larger than {needed / 1e9:.2f} GB, which a fit of this table takes"
        hint = "fewer columns take less, and Parquet files with smaller row groups"
        return InputError("max_memory", expected, f"{self.limit / 1e9:g} GB", hint)


class LimitedEngine:
    """Processes of this machine, or this process alone, that call a function and keep to a limit of memory.

    Every task says how much its process took at most. If all processes together might take more than the limit, fewer
    go on; if this process alone does, the work ends with an error.
    """

    def __init__(self, function: Callable[..., Any], n_jobs: int, limit: MemoryLimit) -> None:
        self._function, self._limit = partial(_measure, function), limit
        self._tasks: dict[int, tuple[Any, ...]] = {}
        self._largest = 0
        self._start(n_jobs)

    def _start(self, n_jobs: int) -> None:
        self._engine: Engine = start_engine("serial" if n_jobs == 1 else "local", self._function, n_jobs, n_jobs, None)
        self.workers = self._engine.workers
        for number, arguments in self._tasks.items():
            self._engine.submit(number, *arguments)

    def submit(self, number: int, *arguments: Any) -> None:
        """Queue a task."""
        self._tasks[number] = arguments
        self._engine.submit(number, *arguments)

    def wait(self) -> dict[int, Any | None]:
        """Wait until at least one task is finished or lost."""
        results: dict[int, Any | None] = {}
        for number, measured in self._engine.wait().items():
            del self._tasks[number]
            results[number] = None
            if measured is not None:
                process, peak, results[number] = measured
                self._largest = max(self._largest, peak if process != os.getpid() else 0)
        self._keep_limit()
        return results

    def close(self) -> None:
        """Stop all work at once."""
        self._engine.close()

    def _keep_limit(self) -> None:
        """Go on with fewer processes if those that run might take too much together."""
        own = self._limit.own()
        if own > self._limit.limit:
            raise self._limit.error(own)
        if self.workers == 1 or own + self.workers * self._largest <= self._limit.limit:
            return
        n_fit = int((self._limit.limit - own) // self._largest)
        self.close()
        self._start(n_fit if n_fit > 1 else 1)


def _measure(function: Callable[..., Any], *arguments: Any) -> tuple[int, int, Any]:
    """Return the number of this process, the most bytes it ever held, and what a function returns."""
    result = function(*arguments)
    return os.getpid(), peak_memory(), result


# Passes over the rows of a table.


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


# Rows that come from elsewhere than files, such as a query of a database: written to a file once, and read from it.

#: What a table that is not in files is called.
NAME = "table"

#: Rows of a row group at most: parts that processes read.
GROUP = 250_000


@contextmanager
def spool(data: Any, engine: str = "local") -> Iterator[TableFiles]:
    """Write a stream of rows to a temporary Parquet file, which is removed at the end.

    ``data`` has the method ``__arrow_c_stream__`` of Arrow's PyCapsule interface, as relations of DuckDB, tables and
    readers of pyarrow, and data frames of Polars have it. A fit reads rows several times, by several processes, and
    needs the same each time; a stream or a query may give them only once, or in another order.
    """
    if engine == "ray":
        got, hint = f"'ray' for a {type(data).__name__}", "write it to files that all machines can read"
        raise InputError("engine", "be 'local' or 'serial' for a table that is not in files", got, hint)
    with TemporaryDirectory(prefix="creases-") as folder:
        path = Path(folder, f"{NAME}.parquet")
        _write_stream(data, path)
        files = find_files(path, always=True)
        assert files is not None
        yield replace(files, title=NAME)


def _write_stream(data: Any, path: Path) -> None:
    """Write all rows of a stream, in constant memory."""
    try:
        reader = pa.RecordBatchReader.from_stream(data)
        # some libraries have views of text, which files cannot hold
        is_view = ["view" in str(each.type) for each in reader.schema]
        pairs = zip(reader.schema, is_view, strict=True)
        schema = pa.schema([each.with_type(pa.string()) if view else each for each, view in pairs])
        size = max(min(GROUP, BLOCK_BYTES // (CELL_BYTES * max(len(schema), 1))), 1)
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            waiting: list[pa.RecordBatch] = []
            for batch in reader:
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= size:
                    writer.write_table(pa.Table.from_batches(waiting).cast(schema), row_group_size=size)
                    waiting = []
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting).cast(schema), row_group_size=size)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot write the rows of a {type(data).__name__} to {path.parent}: {error}") from None
