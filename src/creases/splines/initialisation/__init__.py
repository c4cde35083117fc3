"""How the breakpoints of a new network are distributed."""

from creases.splines.initialisation._distributions import product_normal, product_uniform, ratio_uniform
from creases.splines.initialisation._goodness_of_fit import GoodnessOfFit, KSTest, goodness_of_fit
from creases.splines.initialisation._initial_distribution import InitialDistribution, Scheme, initial_distribution
from creases.splines.initialisation._initialise import METHODS, Method, initialise
from creases.splines.initialisation._lonely import (
    LonelySimulation,
    Spacing,
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
    "RoughnessDistribution",
    "Scheme",
    "Spacing",
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
