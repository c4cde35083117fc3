"""The distribution of breakpoints and delta-slopes at initialisation, for shallow networks of one input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_number, check_numbers
from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import breakpoint_density
from creases_reproduction.splines.theory.distributions import product_normal, product_uniform, ratio_uniform

#: A scheme of random initial weights.
Scheme = Literal["he", "glorot", "torch"]


@dataclass(frozen=True)
class InitialDistribution:
    """Independent weights w, b, v of H units, each with mean 0: normal, or uniform on an interval.

    :func:`initial_distribution` returns those of the usual schemes.
    """

    width: int  #: number of units H
    uniform: bool  #: whether the weights are uniform; else normal
    sw: float  #: standard deviation of w
    sb: float  #: standard deviation of b
    sv: float  #: standard deviation of v

    def __post_init__(self) -> None:
        check_count(self.width, "width")
        for name in ("sw", "sb", "sv"):
            if check_number(getattr(self, name), name) <= 0:
                hint = "without biases every breakpoint is at 0" if name == "sb" else ""
                raise InputError(name, "be a standard deviation above 0", repr(getattr(self, name)), hint)

    def breakpoints(self) -> Any:
        """Return the distribution of beta, as a frozen scipy one: ``Cauchy(0, sb / sw)``, or a ratio of uniforms."""
        return (ratio_uniform if self.uniform else stats.cauchy)(scale=self.sb / self.sw)

    def delta_slopes(self) -> Any:
        """Return the distribution of mu: density ``K0(|mu| / (sv sw)) / (pi sv sw)``, or a product of uniforms."""
        if self.uniform:
            return product_uniform(
                scale=3 * self.sv * self.sw
            )  # a uniform distribution extends to sqrt(3) standard deviations
        return product_normal(scale=self.sv * self.sw)

    def delta_slopes_given(self, beta: ArrayLike) -> Any:
        """Return the distributions of mu given breakpoints beta.

        ``Laplace(0, sb sv sw / sqrt(sb^2 + sw^2 beta^2))`` for normal weights; for uniform ones symmetric and
        triangular, up to the largest ``|w v|`` with ``|w| <= min(sw, sb / |beta|) sqrt(3)``.
        """
        ratio = np.abs(check_numbers(beta, "beta")) * (self.sw / self.sb)
        if self.uniform:
            largest = 3 * self.sv * self.sw / np.maximum(1.0, ratio)
            return stats.triang(0.5, loc=-largest, scale=2 * largest)
        return stats.laplace(scale=self.sv * self.sw / np.hypot(1.0, ratio))

    def joint_density(self, beta: ArrayLike, mu: ArrayLike) -> Floats:
        """Return the density of (beta, mu), broadcast; far from 0, breakpoints have small delta-slopes."""
        return breakpoint_density(beta, mu, sw=self.sw, sb=self.sb, sv=self.sv, uniform=self.uniform)

    def sample(self, seed: int) -> Shallow:
        """Return a network with random weights."""
        rng = np.random.default_rng(seed)
        scales = np.array([[self.sw], [self.sb], [self.sv]])
        if self.uniform:
            w, b, v = rng.uniform(-1, 1, (3, self.width)) * np.sqrt(3) * scales
        else:
            w, b, v = rng.standard_normal((3, self.width)) * scales
        return Shallow(w, b, v)


def initial_distribution(scheme: Scheme, width: int, *, sb: float | None = None) -> InitialDistribution:
    """Return the distribution of the initial weights of a network with one input and one output.

    The resulting distributions of breakpoints and delta-slopes are those of the lecture.

    Parameters
    ----------
    scheme
        ``"torch"``: the default of ``nn.Linear``, uniform within 1 / sqrt(fan-in), including biases. ``"he"``: normal
        with variance 2 / fan-in. ``"glorot"``: normal with variance 2 / (fan-in + fan-out).
    width
        Number of units.
    sb
        Standard deviation of the biases, required for ``"he"`` and ``"glorot"``: their biases are zero, which would put
        every breakpoint at 0.

    Examples
    --------
    >>> from creases_reproduction.splines.theory import initial_distribution
    >>> distribution = initial_distribution("torch", 40)
    >>> distribution.breakpoints().cdf([-1, 1, 3])  # half of the breakpoints are within 1
    array([0.25      , 0.75      , 0.91666667])
    """
    H = check_count(width, "width")
    check_choice(scheme, get_args(Scheme), "scheme")
    if scheme == "torch":
        if sb is not None:
            raise InputError("sb", "be None for 'torch', which sets it to 1 / sqrt(3)", repr(sb))
        return InitialDistribution(H, True, 3**-0.5, 3**-0.5, (3 * H) ** -0.5)
    if sb is None:
        raise InputError(
            "sb",
            f"be a number for {scheme!r}",
            "None",
            "without biases every breakpoint is at 0; try {0}",
            [("sb", 1.0)],
        )
    if scheme == "he":
        return InitialDistribution(H, False, 2**0.5, sb, (2 / H) ** 0.5)
    return InitialDistribution(H, False, (2 / (1 + H)) ** 0.5, sb, (2 / (1 + H)) ** 0.5)
