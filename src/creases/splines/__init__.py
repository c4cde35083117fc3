"""One-dimensional networks as linear splines.

A shallow network ``c0 + c1 x + sum v_i phi(w_i x + b_i)`` (:class:`Shallow`) is a continuous piecewise-linear function.
The same function is given by its breakpoints, delta-slopes and orientations (:class:`Spline`), or by its affine
function on every interval (:class:`Pieces`).

Convert    :func:`from_module`, :func:`to_module`, :func:`to_spline`, :func:`to_shallow`; :func:`to_hyperplanes` for
           several inputs; :func:`deep_breakpoints` for deep networks
Fit        :func:`fit` trains a network and compares it with the best fit, :func:`optimal_fit`; :func:`initialise`
           sets where breakpoints start; :class:`Tracker` records them in a training loop, as a :class:`History` (or the
           normals and offsets of creases, for several inputs), and :class:`Relocation` moves them;
           :func:`relocate` does so once
Explain    :mod:`creases.splines.theory`: laws of motion, the loss surface, the kernel regime, densities
Measure    :func:`breakpoints` of any model

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

from creases.splines._convert import Hyperplanes, from_module, to_hyperplanes, to_module, to_shallow, to_spline
from creases.splines._deep import Breakpoints, deep_breakpoints
from creases.splines._dynamics import History, Tracker, breakpoints
from creases.splines._fit import fit
from creases.splines._free_knots.optimal_fit import OptimalFit, compile_kernels, optimal_fit
from creases.splines._initialise import initialise
from creases.splines._relocation import Relocation, relocate
from creases.splines._spline import Shallow, Spline

__all__ = [
    "Breakpoints",
    "History",
    "Hyperplanes",
    "OptimalFit",
    "Relocation",
    "Shallow",
    "Spline",
    "Tracker",
    "breakpoints",
    "compile_kernels",
    "deep_breakpoints",
    "fit",
    "from_module",
    "initialise",
    "optimal_fit",
    "relocate",
    "to_hyperplanes",
    "to_module",
    "to_shallow",
    "to_spline",
]
