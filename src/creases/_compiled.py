"""Just-in-time compilation with numba; import this only in modules of kernels, as numba takes long to import."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile a function, cache it on disk and release the GIL while it runs.

    Loops over scalars compile quickly; array slices take seconds.
    """
    return _cache_by_room(numba.njit(cache=True, nogil=True)(function), function)


def jit_internal(function: F) -> F:
    """Compile a function that only compiled functions call; without a Python wrapper it compiles faster."""
    options: Any = {"cache": True, "no_cpython_wrapper": True, "error_model": "numpy"}
    return _cache_by_room(numba.njit(**options)(function), function)


def _cache_by_room(dispatcher: Any, function: F) -> F:
    """Make the cache of a compiled function depend on all source files of its room.

    By default numba checks only the file of the function itself and would reuse stale machine code of functions
    inlined from other files. It has no public way to change that, so this sets a private field; a test would notice if
    it were renamed.
    """
    dispatcher._cache._cache_file._source_stamp = source_stamp(function)
    return dispatcher  # type: ignore[no-any-return]


def source_stamp(function: Callable[..., Any]) -> tuple[tuple[str, int, int], ...]:
    """Return the name, modification time and size of every source file in the room of a function."""
    room = Path(inspect.getfile(function)).parent
    while room.parent != Path(__file__).parent and room != room.parent:
        room = room.parent
    sources = sorted(room.rglob("*.py")) if room != room.parent else [Path(inspect.getfile(function))]
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sources)


def is_cached(module: ModuleType) -> bool:
    """Return whether numba's cache on disk holds kernels of a module, so that their first call is quick."""
    return any(cache_folder(module).glob(f"{module.__name__.rpartition('.')[2]}.*.nbi"))


def cache_folder(module: ModuleType) -> Path:
    """Return the folder in which numba caches the kernels of a module."""
    kernels: list[Any] = [kernel for kernel in vars(module).values() if hasattr(kernel, "stats")]
    return Path(kernels[0].stats.cache_path)
