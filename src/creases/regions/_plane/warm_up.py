"""Compile the kernels of the plane ahead of the first partition."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from creases.network import read


def compile_kernels(announce: Callable[[], None]) -> None:
    """Load the kernels of the plane, or compile them, which takes seconds once per machine.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them, nor without numba.
    """
    if importlib.util.find_spec("numba") is None:
        return
    from creases._compiled import is_cached
    from creases.regions._plane import kernel
    from creases.regions._plane.plane import plane

    if not is_cached(kernel):
        announce()
    plane(read([([[1.0, 1.0]], [0.0]), ([[1.0]], [-0.5])])).boundary()  # numba compiles on first use
