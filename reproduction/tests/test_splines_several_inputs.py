"""Judges of the slides on several inputs."""

from __future__ import annotations

import numpy as np
import pytest
from altered_numbers import judge_altered

from creases_reproduction.splines.theory.ridge import ridge_coefficients


def test_a_function_that_is_not_rebuilt_disagrees():
    assert judge_altered("splines/radon", {}).verdict == "disagrees"
    assert judge_altered("splines/radon", {"as printed": 1.0}).verdict == "agrees"
    assert (
        judge_altered("splines/radon", {"as printed": 1.0, "errors": {"round": 1e-7, "oblique": 0.1}}).verdict
        == "disagrees"
    )
    assert judge_altered("splines/radon", {"as printed": 1.0, "distribution": {"2": 0.2}}).verdict == "disagrees"


def test_directions_that_do_not_come_apart_disagree():
    assert judge_altered("splines/directions", {}).verdict == "agrees"
    same = {"random": [[9.0, 9.0], [8.0, 8.0]], "adversarial": [[12.0, 12.0], [10.0, 10.0]]}
    assert judge_altered("splines/directions", same).verdict == "disagrees"


def test_with_theta_as_printed_the_density_of_a_gaussian_is_zero():
    theta = np.linspace(-12, 12, 24_001)

    def density(power):  # at offset 0, of exp(-|x|^2 / 2) in two dimensions
        integrand = power * -(theta**2) * 2 * np.pi * np.exp(-(theta**2) / 2)
        return np.trapezoid(integrand, theta) / (2 * np.pi) / (4 * np.pi)

    def transform(k):
        return 2 * np.pi * np.exp(-(k**2).sum(axis=1) / 2)

    right = ridge_coefficients(transform, [[1.0, 0.0]], [0.0])[0, 0]
    assert density(np.abs(theta)) == pytest.approx(right, rel=1e-6)
    assert abs(density(theta)) < 1e-9 < abs(right)
