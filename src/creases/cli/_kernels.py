"""Compile kernels before timing work, and say so: the first call on a machine takes seconds."""

from __future__ import annotations

from creases.cli.console import note


def load_kernels() -> None:
    """Load the kernels of the plane; say so if they must be compiled."""
    from creases.regions import compile_kernels

    compile_kernels(_announce)


def load_spline_kernels() -> None:
    """Load the kernels of the best fit; say so if they must be compiled."""
    from creases.splines import compile_kernels

    compile_kernels(_announce)


def _announce() -> None:
    note("Compiling kernels (once per machine)…")
