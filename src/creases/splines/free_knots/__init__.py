"""Least-squares splines with free knots: the best continuous piecewise-linear fit."""

from creases.splines.free_knots._optimal_fit import OptimalFit, optimal_fit

__all__ = [
    "OptimalFit",
    "optimal_fit",
]
