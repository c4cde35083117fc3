"""Networks of one input as splines: breakpoints and slopes.

A shallow network ``c0 + c1 x + sum v_i phi(w_i x + b_i)`` (``Shallow``) is a continuous piecewise-linear function,
given by its breakpoints, delta-slopes and orientations (``Spline``) or by its affine function on every interval
(``Pieces``). "The lecture" here is "Understanding Neural Nets as Splines", whose theorems these files are named after
and, where they are wrong, correct.

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

from creases.splines._convert import from_module, network_of, spline_of, to_module
from creases.splines._deep import DeepBreakpoints, ZeroIntervals, deep_breakpoints
from creases.splines._multivariate import Planes, planes_of
from creases.splines._residuals import Residuals, residuals
from creases.splines._spline import Pieces, Shallow, Spline
from creases.splines.batches._batches import batch_of, descend, shallow, squared_errors
from creases.splines.dynamics._activations import PowerRelu, SaturatingRelu, least_norm_fit
from creases.splines.dynamics._breakpoints import Marks, marks, matched
from creases.splines.dynamics._flow import Flow, closed_flow, parameter_flow
from creases.splines.dynamics._history import Event, Frame, History, Track
from creases.splines.dynamics._kernel_regime import minimum_norm, natural_spline
from creases.splines.dynamics._ntk import ntk
from creases.splines.dynamics._tracker import Tracker
from creases.splines.dynamics._velocities import Velocities, invariants, metric, spline_gradient, velocities
from creases.splines.free_knots._optimal_fit import OptimalFit, optimal_fit
from creases.splines.initialisation._distributions import product_normal, product_uniform, ratio_uniform
from creases.splines.initialisation._goodness_of_fit import Fit, InitialisationCheck, check_initialisation
from creases.splines.initialisation._initial_distribution import InitialLaw, initial_law
from creases.splines.initialisation._initialise import How, initialise
from creases.splines.initialisation._lonely import (
    LonelySimulation,
    interlaced,
    lonely,
    lonely_fraction,
    lonely_probability,
    simulate_lonely,
)
from creases.splines.initialisation._roughness import RoughnessLaw, roughness, roughness_law
from creases.splines.landscape._critical import CriticalPoint, critical_point
from creases.splines.landscape._degeneracy import Degeneracy, degeneracies, gram_rank
from creases.splines.landscape._hessian import Hessian, generating_vectors, hessian, spline_hessian
from creases.splines.landscape._loss_slice import LossSlice, loss_slice
from creases.splines.relocation._callback import Relocation
from creases.splines.relocation._relocate import Move, Relocated, relocate

__all__ = [
    "CriticalPoint",
    "DeepBreakpoints",
    "Degeneracy",
    "Event",
    "Fit",
    "Flow",
    "Frame",
    "Hessian",
    "History",
    "How",
    "InitialLaw",
    "InitialisationCheck",
    "LonelySimulation",
    "LossSlice",
    "Marks",
    "Move",
    "OptimalFit",
    "Pieces",
    "Planes",
    "PowerRelu",
    "Relocated",
    "Relocation",
    "Residuals",
    "RoughnessLaw",
    "SaturatingRelu",
    "Shallow",
    "Spline",
    "Track",
    "Tracker",
    "Velocities",
    "ZeroIntervals",
    "batch_of",
    "check_initialisation",
    "closed_flow",
    "critical_point",
    "deep_breakpoints",
    "degeneracies",
    "descend",
    "from_module",
    "generating_vectors",
    "gram_rank",
    "hessian",
    "initial_law",
    "initialise",
    "interlaced",
    "invariants",
    "least_norm_fit",
    "lonely",
    "lonely_fraction",
    "lonely_probability",
    "loss_slice",
    "marks",
    "matched",
    "metric",
    "minimum_norm",
    "natural_spline",
    "network_of",
    "ntk",
    "optimal_fit",
    "parameter_flow",
    "planes_of",
    "product_normal",
    "product_uniform",
    "ratio_uniform",
    "relocate",
    "residuals",
    "roughness",
    "roughness_law",
    "shallow",
    "simulate_lonely",
    "spline_gradient",
    "spline_hessian",
    "spline_of",
    "squared_errors",
    "to_module",
    "velocities",
]
