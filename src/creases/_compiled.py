"""Just-in-time compilation with numba; import this only in modules of kernels, as numba takes long to import."""

from __future__ import annotations

import inspect
import warnings
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
    return _compile(function, nogil=True)


def jit_internal(function: F) -> F:
    """Compile a function that only compiled functions call; without a Python wrapper it compiles faster."""
    return _compile(function, no_cpython_wrapper=True, error_model="numpy")


def _compile(function: F, **options: Any) -> F:
    """Compile a function with numba's cache; without it where neither the package's folder nor the home is writable."""
    try:
        return _cache_by_room(numba.njit(cache=True, **options)(function), function)
    except RuntimeError as problem:
        if "no locator available" not in str(problem):
            raise
    warnings.warn(
        "compiled code cannot be cached, so every start compiles again; set NUMBA_CACHE_DIR to a folder that can be "
        "written",
        RuntimeWarning,
        stacklevel=3,
    )
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


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
    folder = cache_folder(module)
    return folder is not None and any(folder.glob(f"{module.__name__.rpartition('.')[2]}.*.nbi"))


def cache_folder(module: ModuleType) -> Path | None:
    """Return the folder in which numba caches the kernels of a module; None if it cannot write to any."""
    kernels: list[Any] = [kernel for kernel in vars(module).values() if hasattr(kernel, "stats")]
    path = kernels[0].stats.cache_path
    return None if path is None else Path(path)
