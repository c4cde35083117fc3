"""Saying that kernels are being compiled, so that the first call on a machine does not look hung."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from creases.cli.console import note


def announce_compilation() -> None:
    """Print a line if numba's cache holds no kernels of the plane yet."""
    if importlib.util.find_spec("numba") is None:
        return  # nothing to compile with
    from creases.regions import plane_kernel

    kernels: list[Any] = [kernel for kernel in vars(plane_kernel).values() if hasattr(kernel, "stats")]
    folder = Path(kernels[0].stats.cache_path)
    if not any(folder.glob("plane_kernel.*.nbi")):
        note("compiling kernels (once per machine)…")
