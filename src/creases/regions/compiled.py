"""Compiling loops (numba; import this only where compiled loops are, so that numba comes up late)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function compiled, kept on disk between runs; it runs beside other threads.

    (Loops over numbers compile quickly; slices take seconds.)
    """
    made: Any = numba.njit(cache=True, nogil=True)(function)
    return made  # type: ignore[no-any-return]


def inner(function: F) -> F:
    """As :func:`compiled`, for functions that only compiled ones call: without a way in from Python, sooner ready."""
    options: Any = {"cache": True, "no_cpython_wrapper": True, "error_model": "numpy"}
    made: Any = numba.njit(**options)(function)
    return made  # type: ignore[no-any-return]
