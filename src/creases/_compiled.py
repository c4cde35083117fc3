"""Compiling loops (numba; import this only where compiled loops are, so that numba comes up late)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """The function compiled, kept on disk between runs; it runs beside other threads.

    (Loops over numbers compile quickly; slices take seconds.)
    """
    return _kept(numba.njit(cache=True, nogil=True)(function), function)


def jit_internal(function: F) -> F:
    """As :func:`jit`, for functions that only compiled ones call: without a way in from Python, sooner ready."""
    options: Any = {"cache": True, "no_cpython_wrapper": True, "error_model": "numpy"}
    return _kept(numba.njit(**options)(function), function)


def _kept(made: Any, function: F) -> F:
    """What numba made, kept for as long as no source of its room changes.

    numba looks at the function's own file only, and would go on with old code of what is compiled into it from others.
    """
    made._cache._cache_file._source_stamp = source_stamp(function)
    return made  # type: ignore[no-any-return]


def source_stamp(function: Callable[..., Any]) -> tuple[tuple[str, int, int], ...]:
    """Name, time of change and size of every source file of the room that a function is in."""
    room = Path(inspect.getfile(function)).parent
    while room.parent != Path(__file__).parent and room != room.parent:
        room = room.parent
    sources = sorted(room.rglob("*.py")) if room != room.parent else [Path(inspect.getfile(function))]
    return tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sources)
