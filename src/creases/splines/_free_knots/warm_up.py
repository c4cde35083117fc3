"""Compile the kernels of the best fit ahead of the first one."""

from __future__ import annotations

from collections.abc import Callable


def compile_kernels(announce: Callable[[], None]) -> None:
    """Load the kernels of the best fit and of gradient descent in float64, or compile them once per machine.

    Parameters
    ----------
    announce
        Called before kernels are compiled; not where numba's cache holds them.
    """
    from creases._compiled import is_cached
    from creases.lab import Batch
    from creases.splines._coefficients import gradient_descent
    from creases.splines._free_knots import optimal_kernel as kernel
    from creases.splines._free_knots.optimal_fit import optimal_fit

    if not is_cached(kernel):
        announce()
    x = [0.0, 0.1, 0.3, 0.4, 0.7, 0.9, 1.0]
    optimal_fit(x, [0.0, 1.0, 0.0, 0.0, 1.0, 3.0, 1.0], 3, max_nodes=1)  # too few nodes, so that all searches run
    gradient_descent(Batch.initial(1, [1, 1, 1], seed=0, dtype="float64"), x, x, steps=1, lr=0.1)
