"""Kolmogorov-Smirnov tests of the breakpoints and delta-slopes of networks against a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from creases.errors import InputError
from creases.splines import Shallow, to_spline
from creases_reproduction.splines.theory.initial_distribution import InitialDistribution


class KSTest(NamedTuple):
    """A Kolmogorov-Smirnov test: the largest distance of the two distribution functions, and its p-value."""

    statistic: float
    pvalue: float


class GoodnessOfFit(NamedTuple):
    """Tests of the units of networks against a distribution."""

    units: int  #: number of units tested
    breakpoints: KSTest
    delta_slopes: KSTest
    conditional: KSTest  #: delta-slopes given their breakpoints


def goodness_of_fit(networks: Shallow | Sequence[Shallow], distribution: InitialDistribution) -> GoodnessOfFit:
    """Test the units of one or several networks, together, against a distribution.

    Delta-slopes given breakpoints are tested by their conditional distribution functions, whose values must be uniform.

    Examples
    --------
    >>> from creases_reproduction.splines.theory import goodness_of_fit, initial_distribution
    >>> distribution = initial_distribution("torch", 1000)
    >>> goodness_of_fit(distribution.sample(seed=0), distribution).breakpoints.pvalue > 0.01
    True
    """
    networks = [networks] if isinstance(networks, Shallow) else list(networks)
    forms = [to_spline(network) for network in networks]
    units = sum(form.width for form in forms)
    if not units:
        raise InputError("networks", "have units with a breakpoint", "none")
    beta, mu = (np.concatenate([getattr(form, name) for form in forms]) for name in ("beta", "mu"))
    conditional = distribution.delta_slopes_given(beta).cdf(mu)
    return GoodnessOfFit(
        units,
        KSTest(*map(float, stats.kstest(beta, distribution.breakpoints().cdf)[:2])),
        KSTest(*map(float, stats.kstest(mu, distribution.delta_slopes().cdf)[:2])),
        KSTest(*map(float, stats.kstest(conditional, "uniform")[:2])),
    )
