"""Memory that a partition may take."""

from __future__ import annotations

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
