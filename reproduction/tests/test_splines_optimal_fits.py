"""The optimal fit is never worse than other searches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from creases.splines import optimal_fit
from creases_reproduction.splines.optimal_fits import against_descent, random_curves


@pytest.mark.thorough
@pytest.mark.slow
def test_no_restart_of_descent_beats_the_optimal_fit_on_random_targets():
    found = against_descent(restarts=50, steps=500)
    assert len(found) == 20
    for curve, optimal, descent in found:
        assert optimal.sse <= descent.min() * (1 + 1e-9), curve.kind
        assert optimal.is_optimal
        assert optimal.lower_bound <= optimal.sse * (1 + 1e-9) <= optimal.grid_sse * (1 + 2e-9)


@pytest.mark.slow
def test_pwlf_does_not_beat_the_optimal_fit():
    pwlf = pytest.importorskip("pwlf")
    for curve in random_curves(20):
        if curve.pieces <= 5:
            fit = pwlf.PiecewiseLinFit(curve.x, curve.y, seed=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit.fit(curve.pieces)
            assert optimal_fit(curve.x, curve.y, curve.pieces).sse <= fit.ssr * (1 + 1e-9), curve.kind


def test_descent_finds_a_single_kink():
    curve = random_curves(2)[1]._replace(y=np.abs(random_curves(2)[1].x), pieces=2)
    (found,) = against_descent([curve], restarts=5, steps=500)
    assert found.optimal.sse < 1e-12
    assert found.descent.min() < 1e-3
