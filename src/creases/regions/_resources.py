"""Memory and threads that a partition may take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from creases._validation import check_number
from creases.errors import LimitError


def no_progress(what: str, done: int, total: int | None) -> None:
    """Report progress to nobody."""


class MemoryLimit:
    """About how many bytes work may hold; ``hint`` says what to do where that is too little."""

    def __init__(self, max_memory: float | None, hint: str) -> None:
        self.bytes = float("inf") if max_memory is None else check_number(max_memory, "max_memory", above=0)
        self.hint = hint

    def __str__(self) -> str:
        return f"max_memory={self.bytes:g}"

    def block(self, default: int) -> int:
        """Return how many bytes a block of the work may take: ``default``, or a quarter of the limit."""
        return int(max(1, min(default, self.bytes / 4)))

    def check(self, held: float, so_far: str) -> None:
        """Raise :class:`creases.errors.LimitError` where more bytes are held than the limit."""
        if held > self.bytes:
            raise LimitError(str(self), f"reached with {so_far} so far", self.hint)

    def require(self, needed: float, what: str) -> None:
        """Raise :class:`creases.errors.LimitError` where something needs more bytes than the limit."""
        if needed > self.bytes:
            raise LimitError(str(self), f"is less than the {needed:.2g} bytes that {what} needs", self.hint)


# Work shared among threads: as many as torch uses.

T = TypeVar("T")
R = TypeVar("R")


def thread_count() -> int:
    """Return the number of threads to share work among."""
    return torch.get_num_threads()


def map_in_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Yield ``function(item)`` in order; when an exception or Ctrl-C ends it, what has not begun is dropped.

    ``function`` must release the GIL, and leave torch alone: its threads would multiply.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(function, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
