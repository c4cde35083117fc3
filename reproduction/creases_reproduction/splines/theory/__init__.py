"""Theorems of the lecture that only claims use; the others are in ``creases.splines.theory``.

Start      ``initial_distribution`` of breakpoints and delta-slopes, ``goodness_of_fit``, ``roughness_distribution``;
           ``simulate_lonely``, ``interlacing_spline``
           ``lonely_probability`` and ``lonely_fraction``
Motion     the flow's ``metric`` and ``spline_gradient``; ``parameter_flow``, and ``closed_flow`` without weights
Loss       ``critical_point``, ``gram_rank``
Responses  ``PowerReLU`` and ``SaturatingReLU``, with ``minimum_norm_fit`` by powers
Inputs     ``ridge_coefficients`` and ``ridge_network``: a function of several inputs as an integral of units;
           ``to_shallow_plane`` and ``to_shallow_space``: deep networks of two and more inputs as shallow ones
"""

from creases_reproduction.splines.theory.activations import Activation, PowerReLU, SaturatingReLU, minimum_norm_fit
from creases_reproduction.splines.theory.critical import CriticalPoint, critical_point, gram_rank
from creases_reproduction.splines.theory.distributions import product_normal, product_uniform, ratio_uniform
from creases_reproduction.splines.theory.flow import Flow, closed_flow, parameter_flow
from creases_reproduction.splines.theory.goodness_of_fit import GoodnessOfFit, KSTest, goodness_of_fit
from creases_reproduction.splines.theory.initial_distribution import InitialDistribution, Scheme, initial_distribution
from creases_reproduction.splines.theory.lonely import (
    LonelySimulation,
    Placement,
    interlacing_spline,
    lonely_fraction,
    lonely_probability,
    simulate_lonely,
)
from creases_reproduction.splines.theory.metric import invariants, metric, spline_gradient
from creases_reproduction.splines.theory.ridge import offset_distribution, ridge_coefficients, ridge_network
from creases_reproduction.splines.theory.roughness import RoughnessDistribution, roughness_distribution
from creases_reproduction.splines.theory.shallow_plane import ShallowPlane, to_shallow_plane
from creases_reproduction.splines.theory.shallow_space.shallow_space import ShallowSpace, to_shallow_space

__all__ = [
    "Activation",
    "CriticalPoint",
    "Flow",
    "GoodnessOfFit",
    "InitialDistribution",
    "KSTest",
    "LonelySimulation",
    "Placement",
    "PowerReLU",
    "RoughnessDistribution",
    "SaturatingReLU",
    "Scheme",
    "ShallowPlane",
    "ShallowSpace",
    "closed_flow",
    "critical_point",
    "goodness_of_fit",
    "gram_rank",
    "initial_distribution",
    "interlacing_spline",
    "invariants",
    "lonely_fraction",
    "lonely_probability",
    "metric",
    "minimum_norm_fit",
    "offset_distribution",
    "parameter_flow",
    "product_normal",
    "product_uniform",
    "ratio_uniform",
    "ridge_coefficients",
    "ridge_network",
    "roughness_distribution",
    "simulate_lonely",
    "spline_gradient",
    "to_shallow_plane",
    "to_shallow_space",
]
