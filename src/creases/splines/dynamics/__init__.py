"""How breakpoints move during training.

Record     :class:`Tracker` records the breakpoints in a training loop, as a :class:`History`; :func:`breakpoints` are
           those at one moment, :func:`match_breakpoints` pairs them with those at another
Flow       :func:`velocities` under gradient flow, which :func:`parameter_flow` and :func:`closed_flow` integrate;
           :func:`metric`, :func:`invariants` and :func:`spline_gradient` behind them; the tangent kernel :func:`ntk`
Kernel     :func:`minimum_norm_spline`: the limit of training with fixed breakpoints; :func:`natural_cubic_spline`;
           other activations, :class:`PowerReLU` and :class:`SaturatingReLU`, with :func:`minimum_norm_fit`
"""

from creases.splines.dynamics._activations import Activation, PowerReLU, SaturatingReLU, minimum_norm_fit
from creases.splines.dynamics._breakpoints import Breakpoints, breakpoints, match_breakpoints
from creases.splines.dynamics._flow import Flow, closed_flow, parameter_flow
from creases.splines.dynamics._history import Event, EventKind, Frame, History, Track
from creases.splines.dynamics._kernel_regime import minimum_norm_spline, natural_cubic_spline
from creases.splines.dynamics._ntk import ntk
from creases.splines.dynamics._tracker import Tracker
from creases.splines.dynamics._velocities import Velocities, invariants, metric, spline_gradient, velocities

__all__ = [
    "Activation",
    "Breakpoints",
    "Event",
    "EventKind",
    "Flow",
    "Frame",
    "History",
    "PowerReLU",
    "SaturatingReLU",
    "Track",
    "Tracker",
    "Velocities",
    "breakpoints",
    "closed_flow",
    "invariants",
    "match_breakpoints",
    "metric",
    "minimum_norm_fit",
    "minimum_norm_spline",
    "natural_cubic_spline",
    "ntk",
    "parameter_flow",
    "spline_gradient",
    "velocities",
]
