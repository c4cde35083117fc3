"""The best fit: a spline with free knots."""
