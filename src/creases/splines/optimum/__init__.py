"""The best continuous piecewise-linear fit."""
