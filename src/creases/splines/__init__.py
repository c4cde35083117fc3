"""Networks of one input as splines: breakpoints and slopes.

A shallow network ``c0 + c1 x + sum v_i phi(w_i x + b_i)`` (``Shallow``) is a continuous piecewise-linear function,
given by its breakpoints, delta-slopes and orientations (``Spline``) or by its affine function on every interval
(``Pieces``). "The lecture" here is "Understanding Neural Nets as Splines", whose theorems these files are named after
and, where they are wrong, correct.

>>> import torch
>>> from creases import splines
>>> model = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).double()
>>> f = splines.to_spline(splines.from_module(model))
>>> f.width, f.pieces().count
(3, 4)
>>> x = torch.linspace(-2, 2, 9, dtype=torch.float64)
>>> bool(abs(f(x) - model(x[:, None])[:, 0].detach().numpy()).max() < 1e-14)
True
"""

from creases.splines import batches, dynamics, free_knots, initialisation, landscape, relocation
from creases.splines._convert import from_module, to_module, to_shallow, to_spline
from creases.splines._deep import DeepBreakpoints, ZeroIntervals, deep_breakpoints
from creases.splines._fit import SplineFit, fit
from creases.splines._multivariate import Hyperplanes, to_hyperplanes
from creases.splines._spline import Pieces, Shallow, Spline
from creases.splines.dynamics import Breakpoints, History, Tracker, breakpoints
from creases.splines.free_knots import OptimalFit, optimal_fit
from creases.splines.initialisation import initialise, roughness
from creases.splines.relocation import Relocation, RelocationResult, relocate

__all__ = [
    "Breakpoints",
    "DeepBreakpoints",
    "History",
    "Hyperplanes",
    "OptimalFit",
    "Pieces",
    "Relocation",
    "RelocationResult",
    "Shallow",
    "Spline",
    "SplineFit",
    "Tracker",
    "ZeroIntervals",
    "batches",
    "breakpoints",
    "deep_breakpoints",
    "dynamics",
    "fit",
    "free_knots",
    "from_module",
    "initialisation",
    "initialise",
    "landscape",
    "optimal_fit",
    "relocate",
    "relocation",
    "roughness",
    "to_hyperplanes",
    "to_module",
    "to_shallow",
    "to_spline",
]
