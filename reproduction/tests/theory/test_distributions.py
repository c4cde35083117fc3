"""Distributions of breakpoints, delta-slopes and roughness against integrals, Monte Carlo and torch's own weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats
from torch import nn

from creases import splines
from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import breakpoint_density
from creases_reproduction.splines import theory
from creases_reproduction.splines.networks import roughness
from creases_reproduction.splines.theory.initial_distribution import InitialDistribution

LAWS = {
    "he": theory.initial_distribution("he", 100, sb=1.0),
    "glorot": theory.initial_distribution("glorot", 100, sb=0.3),
    "torch": theory.initial_distribution("torch", 100),
    "uneven": InitialDistribution(100, False, 10.0, 0.1, 3.0),
    "uneven_uniform": InitialDistribution(100, True, 0.2, 5.0, 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_a_hundred_thousand_units_pass_every_kolmogorov_smirnov_test(name: str) -> None:
    distribution = LAWS[name]
    check = theory.goodness_of_fit([distribution.sample(seed) for seed in range(1000)], distribution)
    assert check.units == 100_000
    for fit in check[1:]:
        assert fit.pvalue > 0.01
        assert fit.statistic < 0.006


@pytest.mark.parametrize("name", ["he", "torch"])
def test_units_of_another_distribution_fail_the_tests(name: str) -> None:
    other = theory.initial_distribution("glorot", 2000, sb=1.0)
    check = theory.goodness_of_fit(other.sample(0), LAWS[name])
    assert max(fit.pvalue for fit in check[1:]) < 1e-6


@pytest.mark.slow
def test_modules_of_torch_have_its_distribution() -> None:
    torch.manual_seed(0)
    models = (nn.Sequential(nn.Linear(1, 100), nn.ReLU(), nn.Linear(100, 1)) for _ in range(200))
    check = theory.goodness_of_fit([splines.from_module(model) for model in models], LAWS["torch"])
    assert min(fit.pvalue for fit in check[1:]) > 0.01


@pytest.mark.parametrize("name", ["product_normal", "ratio_uniform", "product_uniform"])
def test_density_distribution_function_and_quantiles_agree(name: str) -> None:
    distribution = getattr(theory, name)
    for low, high in [(-0.9, -0.3), (0.2, 0.7), (0.5, 0.99), (-3.0, -1.5), (2.0, 8.0)]:
        area, _ = integrate.quad(distribution.pdf, low, high)
        assert area == pytest.approx(distribution.cdf(high) - distribution.cdf(low), abs=1e-10)
    q = np.array([0.01, 0.2, 0.25, 0.4, 0.5, 0.6, 0.75, 0.99])
    np.testing.assert_allclose(distribution.cdf(distribution.ppf(q)), q, atol=1e-9)
    np.testing.assert_allclose(distribution.sf(distribution.ppf(q)), 1 - q, atol=1e-9)
    np.testing.assert_allclose(distribution.cdf([-np.inf, np.inf]), [0, 1])


def test_the_bessel_marginal_is_the_struve_form_and_the_corrected_meijer_form() -> None:
    x = np.array([0.01, 0.5, 1.0, 4.0, 10.0])
    struve = x / 2 * (special.k0(x) * special.modstruve(-1, x) + special.k1(x) * special.modstruve(0, x))
    np.testing.assert_allclose(theory.product_normal.cdf(x) - 0.5, struve, atol=1e-11)
    # K0(z) is half of Meijer's G(z^2 / 4 | 0, 0), the inverse Mellin transform of gamma(s)^2: with scale sv sw the
    # argument is mu^2 / (4 sv^2 sw^2).
    sv, sw, mu = 3.0, 0.7, 1.3
    argument = mu**2 / (4 * sv**2 * sw**2)
    real, _ = integrate.quad(lambda t: (special.gamma(0.5 + 1j * t) ** 2 * argument ** -(0.5 + 1j * t)).real, -30, 30)
    density = InitialDistribution(1, False, sw, 1.0, sv).delta_slopes().pdf(mu)
    assert density == pytest.approx(real / (2 * np.pi) / (2 * np.pi * sv * sw), rel=1e-8)


@pytest.mark.parametrize(
    ("name", "moments"), [("product_normal", (0, 1, 0, 6)), ("product_uniform", (0, 1 / 9, 0, 6 / 25))]
)
def test_moments_are_those_of_the_products(name: str, moments: tuple[float, ...]) -> None:
    distribution = getattr(theory, name)
    np.testing.assert_allclose(distribution.stats(moments="mvsk"), moments, atol=1e-12)
    numeric = [
        2 * integrate.quad(lambda x, k=k: x**k * distribution.pdf(x), 0, min(distribution.support()[1], 60))[0]
        for k in (2, 4)
    ]
    np.testing.assert_allclose(numeric, [moments[1], (moments[3] + 3) * moments[1] ** 2], rtol=1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_the_joint_density_has_the_marginal_of_the_delta_slopes(name: str) -> None:
    distribution = LAWS[name]
    angle = (np.arange(100_000) + 0.5) / 100_000 * np.pi - np.pi / 2  # midpoints; beta = tan(angle) sb / sw
    beta, width = (
        np.tan(angle) * distribution.sb / distribution.sw,
        np.pi / 100_000 * distribution.sb / distribution.sw / np.cos(angle) ** 2,
    )
    for mu in np.array([0.3, 1.1]) * distribution.sv * distribution.sw:
        marginal = (distribution.joint_density(beta, mu) * width).sum()
        assert marginal == pytest.approx(distribution.delta_slopes().pdf(mu), rel=1e-6)


def test_the_joint_density_of_normal_weights_is_the_printed_one() -> None:
    sw, sb, sv = 2.0, 0.5, 3.0
    beta, mu = np.meshgrid([-1.0, 0.0, 4.0], [-2.0, 0.1, 5.0])
    root = np.sqrt(sb**2 + sw**2 * beta**2)
    printed = np.exp(-np.abs(mu) * root / (sb * sv * sw)) / (2 * np.pi * sv * root)
    np.testing.assert_allclose(InitialDistribution(1, False, sw, sb, sv).joint_density(beta, mu), printed)


def test_torchs_breakpoints_are_within_1_half_of_the_time_and_within_3_five_sixths() -> None:
    distribution = LAWS["torch"].breakpoints()
    np.testing.assert_allclose(distribution.cdf([1, 3]) - distribution.cdf([-1, -3]), [1 / 2, 5 / 6])


@pytest.mark.parametrize("width", [1, 7, 100])
def test_roughness_has_the_closed_forms_of_every_scheme(width: int) -> None:
    H = width
    expected = {
        "he": (4, 128 / H),
        "glorot": (4 * H / (H + 1) ** 2, 128 * H / (H + 1) ** 4),
        "torch": (1 / 9, 56 / (2025 * H)),
    }
    for scheme, (mean, variance) in expected.items():
        distribution = theory.initial_distribution(scheme, H, sb=None if scheme == "torch" else 1.0)
        found = theory.roughness_distribution(distribution)
        assert found.mean == pytest.approx(mean)
        assert found.variance == pytest.approx(variance)
        excess = np.array([0.0, 0.5, 3.0])
        np.testing.assert_allclose(found.tail(excess), variance / (variance + excess**2))


@pytest.mark.parametrize("scheme", ["he", "glorot", "torch"])
def test_roughness_of_sampled_networks_follows_its_distribution_and_stays_under_the_bound(scheme: str) -> None:
    distribution = theory.initial_distribution(scheme, 20, sb=None if scheme == "torch" else 1.0)
    rho = np.array([roughness(distribution.sample(seed)) for seed in range(4000)])
    expected = theory.roughness_distribution(distribution)
    error = np.sqrt(expected.variance / len(rho))
    assert abs(rho.mean() - expected.mean) < 4 * error
    assert rho.var() == pytest.approx(expected.variance, rel=0.25)
    for excess in np.sqrt(expected.variance) * np.array([0.5, 1, 2, 4]):
        assert (rho - expected.mean >= excess).mean() <= expected.tail(excess)


def test_roughness_is_that_of_the_spline() -> None:
    f = Shallow([1, -2, 0, 3], [1, 1, 1, 0], [3, 4, 5, 0])
    assert roughness(f) == (splines.to_spline(f).mu ** 2).sum() == 9 + 64


def test_sampling_is_repeatable() -> None:
    distribution = LAWS["he"]
    np.testing.assert_array_equal(distribution.sample(3).w, distribution.sample(3).w)
    assert (distribution.sample(3).w != distribution.sample(4).w).any()
    drawn = theory.product_normal.rvs(size=5000, random_state=0)
    assert stats.kstest(drawn, theory.product_normal.cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: theory.initial_distribution("he", 3),
            "sb must be a number for 'he', got None; without biases every breakpoint is at 0",
        ),
        (
            lambda: theory.initial_distribution("he", 3, sb=0.0),
            "sb must be a standard deviation above 0, got 0.0; without",
        ),
        (
            lambda: theory.initial_distribution("torch", 3, sb=1.0),
            "sb must be None for 'torch', which sets it to 1 / sqrt\\(3\\), got 1.0",
        ),
        (
            lambda: theory.initial_distribution("lecun", 3),
            "scheme must be 'he', 'glorot' or 'torch', got 'lecun'",
        ),
        (lambda: theory.initial_distribution("torch", 0), "width must be a positive integer, got 0"),
        (lambda: InitialDistribution(3, False, np.nan, 1.0, 1.0), "sw must be a finite number, got nan"),
        (
            lambda: theory.goodness_of_fit(Shallow([0.0], [1.0], [1.0]), LAWS["he"]),
            "networks must have units with a breakpoint",
        ),
        (
            lambda: theory.roughness_distribution(LAWS["he"]).tail(-1.0),
            "excess must be at least 0, got -1.0",
        ),
    ],
)
def test_wrong_arguments_are_refused_by_name(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("uniform", [False, True])
def test_densities_are_those_of_drawn_weights(uniform):
    sw, sb, sv = 0.5, 1.5, 2.0
    rng = np.random.default_rng(0)
    draw = (lambda s: rng.uniform(-1, 1, 200_000) * s * 3**0.5) if uniform else (lambda s: rng.normal(0, s, 200_000))
    w, b, v = draw(sw), draw(sb), draw(sv)

    def density(beta, mu=None):
        return breakpoint_density(beta, mu, sw=sw, sb=sb, sv=sv, uniform=uniform)

    low, high = -1.0, 4.0
    assert integrate.quad(density, low, high)[0] == pytest.approx(((-b / w > low) & (-b / w < high)).mean(), abs=5e-3)
    both = integrate.dblquad(lambda mu, beta: density(beta, mu), low, high, 0.2, 1.0, epsabs=1e-5)[0]
    assert both == pytest.approx(((-b / w > low) & (-b / w < high) & (w * v > 0.2) & (w * v < 1)).mean(), abs=5e-3)
    if not uniform:
        np.testing.assert_allclose(density([0.0, 2.0]), stats.cauchy(scale=sb / sw).pdf([0.0, 2.0]))
