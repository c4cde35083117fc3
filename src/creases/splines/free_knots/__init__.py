"""Least-squares splines with free knots: the best piecewise-linear fit, also with conditions or jumps."""

from creases.splines.free_knots._optimal_fit import OptimalFit, optimal_fit
from creases.splines.free_knots._statistics import SlopeStatistics
from creases.splines.free_knots._warm_up import compile_kernels

__all__ = [
    "OptimalFit",
    "SlopeStatistics",
    "compile_kernels",
    "optimal_fit",
]
