"""Compiling loops (numba; import this only where compiled loops are, so that numba comes up late)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function compiled, kept on disk between runs. (Loops over numbers compile quickly; slices take seconds.)"""
    made: Any = numba.njit(cache=True)(function)
    return made  # type: ignore[no-any-return]
