"""Making the compiled kernels ready, so that times are those of the work and the first call does not look hung."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from creases.cli.console import note


def load_kernels() -> None:
    """Load the kernels of the plane, or compile them and say so if numba's cache does not hold them yet."""
    if importlib.util.find_spec("numba") is None:
        return
    import creases

    if not any(_cache_folder().glob("kernel.*.nbi")):
        note("compiling kernels (once per machine)…")
    creases.plane(creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [-0.5])])).boundary()  # numba compiles on first use


def _cache_folder() -> Path:
    from creases.regions.planar import kernel as loops

    kernels: list[Any] = [kernel for kernel in vars(loops).values() if hasattr(kernel, "stats")]
    return Path(kernels[0].stats.cache_path)
