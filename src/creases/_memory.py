"""How much memory files from elsewhere may take."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def free_memory() -> int:
    """Return how many bytes this process may still take: the free memory, or less where its limits are lower."""
    free = [_available(), _address_space(), _control_group()]
    return max(min(each for each in free if each is not None), 0)


def _available() -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return 2**32


def _address_space() -> int | None:
    """Return what a limit on the address space leaves (``ulimit -v``); None without one."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return limit - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return None


def _control_group() -> int | None:
    """Return what the control group that the process is in leaves, as containers have it; None without one."""
    folder = Path("/sys/fs/cgroup")
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            return int((folder / limit).read_text()) - int((folder / used).read_text())
    return None
