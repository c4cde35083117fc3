"""Initialisations of shallow networks of one input as laws of their breakpoints, delta-slopes and roughness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from creases._typing import Floats
from creases._validation import check_count, check_number, check_numbers
from creases.errors import InputError
from creases.splines._spline import Shallow
from creases.splines.initialisation._distributions import product_normal, product_uniform, ratio_uniform

Scheme = Literal["he", "glorot", "torch"]


@dataclass(frozen=True)
class InitialDistribution:
    """Independent weights of H units of one input, w, b and v each with mean 0: normal, or uniform on an interval.

    :func:`initial_distribution` makes those of the usual schemes.
    """

    width: int  #: units H
    uniform: bool  #: whether the weights are uniform; else normal
    sw: float  #: standard deviation of w
    sb: float  #: standard deviation of b
    sv: float  #: standard deviation of v

    def __post_init__(self) -> None:
        check_count(self.width, "width")
        for name in ("sw", "sb", "sv"):
            if not check_number(getattr(self, name), name) > 0:
                raise InputError(
                    f"{name}: expected a standard deviation above 0, got {getattr(self, name)}"
                    + ("; without biases every breakpoint is at 0" if name == "sb" else "")
                )

    def breakpoints(self) -> Any:
        """The distribution of beta (a frozen scipy one): ``Cauchy(0, sb / sw)``, or a ratio of uniforms."""
        return (ratio_uniform if self.uniform else stats.cauchy)(scale=self.sb / self.sw)

    def delta_slopes(self) -> Any:
        """The distribution of mu: density ``K0(|mu| / (sv sw)) / (pi sv sw)``, or a product of uniforms."""
        if self.uniform:
            return product_uniform(scale=3 * self.sv * self.sw)  # a uniform reaches sqrt(3) deviations
        return product_normal(scale=self.sv * self.sw)

    def delta_slopes_given(self, beta: ArrayLike) -> Any:
        """The distributions of mu at breakpoints beta.

        ``Laplace(0, sb sv sw / sqrt(sb^2 + sw^2 beta^2))``; of uniforms symmetric and triangular, as far as
        ``|w| <= min(sw, sb / |beta|) sqrt(3)`` lets ``|w v|`` reach.
        """
        ratio = np.abs(check_numbers(beta, "beta")) * (self.sw / self.sb)
        if self.uniform:
            reach = 3 * self.sv * self.sw / np.maximum(1.0, ratio)
            return stats.triang(0.5, loc=-reach, scale=2 * reach)
        return stats.laplace(scale=self.sv * self.sw / np.hypot(1.0, ratio))

    def joint_density(self, beta: ArrayLike, mu: ArrayLike) -> Floats:
        """Density of (beta, mu), broadcast: where breakpoints are far out, delta-slopes are small."""
        points = check_numbers(beta, "beta")
        given = self.delta_slopes_given(points).pdf(check_numbers(mu, "mu"))
        return np.asarray(self.breakpoints().pdf(points) * given)

    def sample(self, seed: int) -> Shallow:
        """A network with weights drawn from the law."""
        rng = np.random.default_rng(seed)
        scales = np.array([[self.sw], [self.sb], [self.sv]])
        if self.uniform:
            w, b, v = rng.uniform(-1, 1, (3, self.width)) * np.sqrt(3) * scales
        else:
            w, b, v = rng.standard_normal((3, self.width)) * scales
        return Shallow(w, b, v)


def initial_distribution(scheme: Scheme, width: int, *, sb: float | None = None) -> InitialDistribution:
    """The law of a usual initialisation of ``width`` units with one input and one output.

    Parameters
    ----------
    scheme
        ``"torch"``: what ``nn.Linear`` draws, uniform within 1 / sqrt(fan-in), biases too. ``"he"``: normal of variance
        2 / fan-in. ``"glorot"``: normal of variance 2 / (fan-in + fan-out).
    sb
        Standard deviation of the biases. He's and Glorot's are zero, which puts every breakpoint at 0: give one.

    Examples
    --------
    >>> from creases.splines.initialisation import initial_distribution
    >>> law = initial_distribution("torch", 40)
    >>> law.breakpoints().cdf([-1, 1, 3])  # half of the breakpoints are within 1
    array([0.25      , 0.75      , 0.91666667])
    """
    H = check_count(width, "width")
    if scheme == "torch":
        if sb is not None:
            raise InputError(f"sb: torch's own scheme says it (1 / sqrt(3)), got {sb}")
        return InitialDistribution(H, True, 3**-0.5, 3**-0.5, (3 * H) ** -0.5)
    if scheme not in ("he", "glorot"):
        raise InputError(f"scheme: expected 'he', 'glorot' or 'torch', got {scheme!r}")
    if sb is None:
        raise InputError(
            f"sb: {scheme!r} has no biases, so every breakpoint is at 0; give their deviation, such as 1.0"
        )
    if scheme == "he":
        return InitialDistribution(H, False, 2**0.5, sb, (2 / H) ** 0.5)
    return InitialDistribution(H, False, (2 / (1 + H)) ** 0.5, sb, (2 / (1 + H)) ** 0.5)
