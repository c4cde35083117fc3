"""One-dimensional networks as linear splines.

A shallow network ``c0 + c1 x + sum v_i phi(w_i x + b_i)`` (:class:`Shallow`) is a continuous piecewise-linear function.
The same function is given by its breakpoints, delta-slopes and orientations (:class:`Spline`), or by its affine
function on every interval (:class:`Pieces`).

Convert    :func:`from_module`, :func:`to_module`, :func:`to_spline`, :func:`to_shallow`; :func:`to_hyperplanes` for
           several inputs; :func:`deep_breakpoints` for deep networks, :func:`to_shallow_plane` and
           :func:`to_shallow_space` for deep networks of two and of more inputs
Fit        :func:`fit` trains a network and compares it with the best fit, :func:`optimal_fit`; :func:`initialise`
           sets where breakpoints start; :class:`Tracker` records them in a training loop and :class:`Relocation`
           moves them
Integrals  :func:`ridge_coefficients` writes a function of several inputs as an integral of units (Radon transform),
           :func:`ridge_network` as many units; :func:`offset_distribution` is where random units bend
Theory     :mod:`~creases.splines.initialisation`: how breakpoints are distributed at first;
           :mod:`~creases.splines.dynamics`: how they move; :mod:`~creases.splines.landscape`: the loss around a
           network; :mod:`~creases.splines.free_knots`: the best fit; :mod:`~creases.splines.batches`: many networks
           at once

Much of this implements, and where needed corrects, theorems of the lecture "Understanding Neural Nets as Splines" [1]_.

References
----------
.. [1] Ankit B. Patel, "Understanding Neural Nets as Splines", lecture, ELEC/COMP 576.

Examples
--------
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
from creases.splines._ridge import offset_distribution, ridge_coefficients, ridge_network
from creases.splines._shallow_plane import ShallowPlane, to_shallow_plane
from creases.splines._shallow_space.shallow_space import ShallowSpace, to_shallow_space
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
    "ShallowPlane",
    "ShallowSpace",
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
    "offset_distribution",
    "optimal_fit",
    "relocate",
    "relocation",
    "ridge_coefficients",
    "ridge_network",
    "roughness",
    "to_hyperplanes",
    "to_module",
    "to_shallow",
    "to_shallow_plane",
    "to_shallow_space",
    "to_spline",
]
