"""Networks of one input as splines: breakpoints and slopes.

A shallow network ``c0 + c1 x + sum v_i phi(w_i x + b_i)`` (``Shallow``) is a continuous piecewise-linear function,
given by its breakpoints, delta-slopes and orientations (``Spline``) or by its affine function on every interval
(``Pieces``).

>>> import torch
>>> from creases import splines
>>> model = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).double()
>>> f = splines.spline_of(splines.from_module(model))
>>> f.width, f.pieces().count
(3, 4)
>>> x = torch.linspace(-2, 2, 9, dtype=torch.float64)
>>> bool(abs(f(x) - model(x[:, None])[:, 0].detach().numpy()).max() < 1e-14)
True
"""

from creases.splines.convert import from_module, network_of, spline_of, to_module
from creases.splines.multivariate import Planes, planes_of
from creases.splines.spline import Pieces, Shallow, Spline

__all__ = ["Pieces", "Planes", "Shallow", "Spline", "from_module", "network_of", "planes_of", "spline_of", "to_module"]
