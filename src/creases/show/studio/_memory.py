"""The memory limit of a worker, and the errors that libraries raise when it is reached."""

from __future__ import annotations

import sys
from pathlib import Path

#: What libraries say when memory runs out and they raise no MemoryError: torch's allocator, C++, threads.
_PHRASES = ("can't allocate memory", "not enough memory", "bad_alloc", "can't start new thread")


def limit_memory(size: int) -> None:
    """Limit the memory that this process can allocate from now on, in bytes, where the system can (Linux).

    The limit is relative to the memory in use: imported libraries reserve much more than they use.
    """
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _data_size() + size
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether an error was raised because memory could not be allocated."""
    if isinstance(problem, MemoryError):
        return True
    return isinstance(problem, RuntimeError) and any(phrase in str(problem) for phrase in _PHRASES)


def _data_size() -> int:
    """Return the bytes of private memory of this process, as the system counts them for the limit."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:"))
