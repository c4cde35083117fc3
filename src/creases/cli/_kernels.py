"""Compile the kernels before timing work, and say so: the first call on a machine takes seconds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from creases.cli._console import note


def load_kernels() -> None:
    """Load the kernels of the plane, or compile them and say so if numba's cache does not hold them yet."""
    if importlib.util.find_spec("numba") is None:
        return
    import creases
    from creases.regions._plane import kernel

    _announce(kernel)
    creases.plane(creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [-0.5])])).boundary()  # numba compiles on first use


def load_spline_kernels() -> None:
    """The same for the kernels of the best fit, and of gradient descent in float64."""
    from creases.lab import Batch
    from creases.splines import optimal_fit
    from creases.splines.batches import gradient_descent
    from creases.splines.free_knots import _optimal_kernel as optimal_kernel

    _announce(optimal_kernel)
    x = [0.0, 0.1, 0.3, 0.4, 0.7, 0.9, 1.0]
    optimal_fit(x, [place**2 for place in x], 3)
    gradient_descent(Batch.initial(1, [1, 1, 1], seed=0, dtype="float64"), x, x, steps=1, lr=0.1)


def _announce(module: ModuleType) -> None:
    """Say so if the kernels of a module are not in numba's cache."""
    if not any(_cache_folder(module).glob(f"{module.__name__.rpartition('.')[2]}.*.nbi")):
        note("compiling kernels (once per machine)…")


def _cache_folder(module: ModuleType) -> Path:
    kernels: list[Any] = [kernel for kernel in vars(module).values() if hasattr(kernel, "stats")]
    return Path(kernels[0].stats.cache_path)
