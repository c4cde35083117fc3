"""How breakpoints move while a network trains."""

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
