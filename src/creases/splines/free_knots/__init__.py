"""Least-squares splines with free knots: the best continuous piecewise-linear fit."""

from creases.splines.free_knots._optimal_fit import OptimalFit, optimal_fit
from creases.splines.free_knots._warm_up import compile_kernels

__all__ = [
    "OptimalFit",
    "compile_kernels",
    "optimal_fit",
]
