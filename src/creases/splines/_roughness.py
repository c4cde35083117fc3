"""The roughness ``rho = sum_i mu_i^2`` of a network."""

from __future__ import annotations

from creases.errors import InputError
from creases.splines._spline import Shallow, Spline


def roughness(function: Spline | Shallow) -> float:
    """Return the roughness ``rho = sum_i mu_i^2``, with coinciding breakpoints counted separately."""
    if isinstance(function, Shallow):
        bent = function.w != 0
        mu = ((1 - function.leak) * function.w * function.v)[bent]
    elif isinstance(function, Spline):
        mu = function.mu
    else:
        raise InputError("function", "be a Spline or Shallow", type(function).__name__)
    return float((mu**2).sum())
