"""The experiments on better fits, with fewer seeds and steps, show what they are for."""

from __future__ import annotations

import numpy as np
import pytest

from creases_reproduction.splines.kernel_regime import cubic_limit, rich_and_kernel
from creases_reproduction.splines.relocation import relocation_gap, relocation_table


def test_relocation_beats_refits_and_descent_and_nears_the_optimum():
    losses, optimum = relocation_table(widths=(6,), seeds=3, steps=3000, every=500)[6]
    assert losses["relocation"].mean < 0.5 * losses["refit"].mean
    assert losses["refit"].mean < losses["descent"].mean
    assert losses["relocation"].mean < 2 * optimum.reached
    assert min(min(spread.values) for spread in losses.values()) >= optimum.bound  # of 6 breakpoints
    assert optimum.bound < optimum.reached


def test_relocation_closes_most_of_the_gap_to_the_optimal_fit():
    for target, gap in relocation_gap(seeds=3, steps=3000, every=500).items():
        assert gap.relocated.mean < gap.plain.mean, target
        assert gap.relocated_gap.mean < 0.5 * gap.plain_gap.mean, target


def test_distances_to_the_cubic_spline_fall_with_the_width():
    found = cubic_limit(widths=(100, 1000), seeds=3)
    assert found[100][1] < 5e-3
    assert found[1000][1] < 5e-5
    assert found[1000][2].mean < found[100][2].mean
    assert found[100][1] < found[100][2].mean


def test_without_a_free_line_the_distance_to_the_cubic_spline_stays():
    found = cubic_limit(widths=(100, 1000), seeds=1)
    assert found[1000][0] > 5e-3


@pytest.mark.slow
def test_the_kernel_regime_ends_near_the_cubic_and_the_rich_one_nearer_to_lines():
    found = rich_and_kernel(alphas=(10.0, 0.3), width=60, seeds=2, steps=20_000)
    kernel, rich = found[10.0], found[0.3]
    assert kernel[0].mean < 0.5 * kernel[1].mean
    assert rich[1].mean < rich[0].mean
    assert np.isfinite([*rich[0].values, *kernel[0].values]).all()
