"""Whether breakpoints and delta-slopes of networks are distributed as a law says: Kolmogorov-Smirnov tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from creases.errors import InputError
from creases.splines._convert import to_spline
from creases.splines._spline import Shallow
from creases.splines.initialisation._initial_distribution import InitialDistribution


class KSTest(NamedTuple):
    """One Kolmogorov-Smirnov test: the largest distance of the two distribution functions, and its p-value."""

    statistic: float
    pvalue: float


class GoodnessOfFit(NamedTuple):
    """Tests of one sample of units against a law."""

    units: int  #: number of units tested
    breakpoints: KSTest
    delta_slopes: KSTest
    given_breakpoints: KSTest  #: delta-slopes given their breakpoints


def goodness_of_fit(networks: Shallow | Sequence[Shallow], law: InitialDistribution) -> GoodnessOfFit:
    """Test the units of one or several networks, together, against a law.

    Delta-slopes given breakpoints are tested by their conditional distribution functions, which must be uniform.

    Examples
    --------
    >>> from creases.splines.initialisation import goodness_of_fit, initial_distribution
    >>> law = initial_distribution("torch", 1000)
    >>> goodness_of_fit(law.sample(seed=0), law).breakpoints.pvalue > 0.01
    True
    """
    several = [networks] if isinstance(networks, Shallow) else list(networks)
    forms = [to_spline(network) for network in several]
    units = sum(form.width for form in forms)
    if not units:
        raise InputError("networks: expected units with a breakpoint, got none")
    beta, mu = (np.concatenate([getattr(form, name) for form in forms]) for name in ("beta", "mu"))
    given = law.delta_slopes_given(beta).cdf(mu)
    return GoodnessOfFit(
        units,
        KSTest(*map(float, stats.kstest(beta, law.breakpoints().cdf)[:2])),
        KSTest(*map(float, stats.kstest(mu, law.delta_slopes().cdf)[:2])),
        KSTest(*map(float, stats.kstest(given, "uniform")[:2])),
    )
