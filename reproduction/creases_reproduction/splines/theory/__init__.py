"""Theorems of the lecture as functions: Ankit B. Patel, "Understanding Neural Nets as Splines", ELEC/COMP 576.

Start      ``initial_distribution`` of breakpoints and delta-slopes, ``goodness_of_fit``, ``roughness_distribution``;
           samples that share their piece with no other: ``lonely_probability``, ``simulate_lonely``
Motion     ``velocities`` under gradient flow, which ``parameter_flow`` and ``closed_flow`` integrate; the tangent
           kernel ``ntk``; ``minimum_norm_spline``, the limit of training with fixed breakpoints
Loss       ``residuals``, ``hessian``, ``degeneracies``, ``critical_point``, ``loss_slice``
Inputs     ``ridge_coefficients`` and ``ridge_network``: a function of several inputs as an integral of units;
           ``to_shallow_plane`` and ``to_shallow_space``: deep networks of two and more inputs as shallow ones
"""

from creases_reproduction.splines.theory.activations import Activation, PowerReLU, SaturatingReLU, minimum_norm_fit
from creases_reproduction.splines.theory.critical import CriticalPoint, critical_point
from creases_reproduction.splines.theory.degeneracy import Degeneracy, degeneracies, gram_rank
from creases_reproduction.splines.theory.distributions import product_normal, product_uniform, ratio_uniform
from creases_reproduction.splines.theory.flow import Flow, closed_flow, parameter_flow
from creases_reproduction.splines.theory.goodness_of_fit import GoodnessOfFit, KSTest, goodness_of_fit
from creases_reproduction.splines.theory.hessian import Hessian, generating_vectors, hessian, spline_hessian
from creases_reproduction.splines.theory.initial_distribution import InitialDistribution, Scheme, initial_distribution
from creases_reproduction.splines.theory.kernel_regime import minimum_norm_spline, natural_cubic_spline
from creases_reproduction.splines.theory.lonely import (
    LonelySimulation,
    Placement,
    interlacing_spline,
    is_lonely,
    lonely_fraction,
    lonely_probability,
    simulate_lonely,
)
from creases_reproduction.splines.theory.loss_slice import LossSlice, loss_slice
from creases_reproduction.splines.theory.ntk import ntk
from creases_reproduction.splines.theory.residuals import Residuals, residuals
from creases_reproduction.splines.theory.ridge import offset_distribution, ridge_coefficients, ridge_network
from creases_reproduction.splines.theory.roughness import RoughnessDistribution, roughness_distribution
from creases_reproduction.splines.theory.shallow_plane import ShallowPlane, to_shallow_plane
from creases_reproduction.splines.theory.shallow_space.shallow_space import ShallowSpace, to_shallow_space
from creases_reproduction.splines.theory.velocities import Velocities, invariants, metric, spline_gradient, velocities

__all__ = [
    "Activation",
    "CriticalPoint",
    "Degeneracy",
    "Flow",
    "GoodnessOfFit",
    "Hessian",
    "InitialDistribution",
    "KSTest",
    "LonelySimulation",
    "LossSlice",
    "Placement",
    "PowerReLU",
    "Residuals",
    "RoughnessDistribution",
    "SaturatingReLU",
    "Scheme",
    "ShallowPlane",
    "ShallowSpace",
    "Velocities",
    "closed_flow",
    "critical_point",
    "degeneracies",
    "generating_vectors",
    "goodness_of_fit",
    "gram_rank",
    "hessian",
    "initial_distribution",
    "interlacing_spline",
    "invariants",
    "is_lonely",
    "lonely_fraction",
    "lonely_probability",
    "loss_slice",
    "metric",
    "minimum_norm_fit",
    "minimum_norm_spline",
    "natural_cubic_spline",
    "ntk",
    "offset_distribution",
    "parameter_flow",
    "product_normal",
    "product_uniform",
    "ratio_uniform",
    "residuals",
    "ridge_coefficients",
    "ridge_network",
    "roughness_distribution",
    "simulate_lonely",
    "spline_gradient",
    "spline_hessian",
    "to_shallow_plane",
    "to_shallow_space",
    "velocities",
]
