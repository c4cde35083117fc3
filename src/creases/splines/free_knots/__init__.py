"""Least-squares splines with free knots: the best continuous piecewise-linear fit."""
