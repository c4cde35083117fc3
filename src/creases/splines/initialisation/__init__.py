"""The breakpoints of a network before training.

Set           :func:`initialise` sets the weights of a torch module by where its breakpoints lie
Distribution  :func:`initial_distribution` of breakpoints and delta-slopes, tested by :func:`goodness_of_fit`;
              :func:`roughness` and its :func:`roughness_distribution`; ``product_normal``, ``product_uniform`` and
              ``ratio_uniform`` as scipy distributions
Lonely        samples that share their piece with no other: :func:`is_lonely`, :func:`lonely_probability`,
              :func:`lonely_fraction`, :func:`simulate_lonely`, :func:`interlacing_spline`
"""

from creases.splines.initialisation._distributions import product_normal, product_uniform, ratio_uniform
from creases.splines.initialisation._goodness_of_fit import GoodnessOfFit, KSTest, goodness_of_fit
from creases.splines.initialisation._initial_distribution import InitialDistribution, Scheme, initial_distribution
from creases.splines.initialisation._initialise import METHODS, Method, initialise
from creases.splines.initialisation._lonely import (
    LonelySimulation,
    Placement,
    interlacing_spline,
    is_lonely,
    lonely_fraction,
    lonely_probability,
    simulate_lonely,
)
from creases.splines.initialisation._roughness import RoughnessDistribution, roughness, roughness_distribution

__all__ = [
    "METHODS",
    "GoodnessOfFit",
    "InitialDistribution",
    "KSTest",
    "LonelySimulation",
    "Method",
    "Placement",
    "RoughnessDistribution",
    "Scheme",
    "goodness_of_fit",
    "initial_distribution",
    "initialise",
    "interlacing_spline",
    "is_lonely",
    "lonely_fraction",
    "lonely_probability",
    "product_normal",
    "product_uniform",
    "ratio_uniform",
    "roughness",
    "roughness_distribution",
    "simulate_lonely",
]
