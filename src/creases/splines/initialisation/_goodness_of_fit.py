"""Whether breakpoints and delta-slopes of networks are distributed as a law says: Kolmogorov-Smirnov tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from creases.errors import InputError
from creases.splines._convert import spline_of
from creases.splines._spline import Shallow
from creases.splines.initialisation._initial_distribution import InitialLaw


class Fit(NamedTuple):
    """One Kolmogorov-Smirnov test: the largest distance of the two distribution functions, and its p-value."""

    statistic: float
    pvalue: float


class InitialisationCheck(NamedTuple):
    """Tests of one sample of units against a law."""

    units: int  #: number of units tested
    breakpoints: Fit
    delta_slopes: Fit
    given_breakpoints: Fit  #: delta-slopes given their breakpoints


def check_initialisation(networks: Shallow | Sequence[Shallow], law: InitialLaw) -> InitialisationCheck:
    """Test the units of one or several networks, together, against a law.

    Delta-slopes given breakpoints are tested by their conditional distribution functions, which must be uniform.

    Examples
    --------
    >>> from creases.splines import check_initialisation, initial_law
    >>> law = initial_law("torch", 1000)
    >>> check_initialisation(law.sample(seed=0), law).breakpoints.pvalue > 0.01
    True
    """
    several = [networks] if isinstance(networks, Shallow) else list(networks)
    forms = [spline_of(network) for network in several]
    units = sum(form.width for form in forms)
    if not units:
        raise InputError("networks: expected units with a breakpoint, got none")
    beta, mu = (np.concatenate([getattr(form, name) for form in forms]) for name in ("beta", "mu"))
    given = law.delta_slopes_given(beta).cdf(mu)
    return InitialisationCheck(
        units,
        Fit(*map(float, stats.kstest(beta, law.breakpoints().cdf)[:2])),
        Fit(*map(float, stats.kstest(mu, law.delta_slopes().cdf)[:2])),
        Fit(*map(float, stats.kstest(given, "uniform")[:2])),
    )
