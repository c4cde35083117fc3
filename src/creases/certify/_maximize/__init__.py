"""The largest value of a piecewise-linear function over a polytope, by branch and bound."""
