"""Proofs that a fit is optimal, against quadratic programs for all assignments of samples to pieces."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from creases.splines import optimal_fit
from creases.splines._free_knots.branch_and_bound import MAX_SAMPLES, BranchAndBound, separate_lines_bound
from creases.splines._samples import merge_samples


def least_error(A, b, G):
    """Least ``|A z - b|^2`` with ``G z >= 0``, as a least distance problem (Lawson and Hanson, chapter 23)."""
    z = np.linalg.lstsq(A, b, rcond=None)[0]
    if (G @ z < -1e-12).any():
        Q, R = np.linalg.qr(np.vstack([A, 1e-7 * np.eye(A.shape[1])]))
        inverse, center = np.linalg.inv(R), Q[: len(A)].T @ b
        dual = np.vstack([(G @ inverse).T, -G @ inverse @ center])
        residual = dual @ nnls(dual, np.eye(len(dual))[-1])[0] - np.eye(len(dual))[-1]
        z = inverse @ (center - residual[:-1] / residual[-1])
    return ((A @ z - b) ** 2).sum()


def by_quadratic_programs(x, y, w, pieces):
    """Least error over all groups of neighbouring samples, some empty, and all signs of slope changes."""
    best = np.inf
    for cuts in combinations_with_replacement(range(1, len(x)), pieces - 1):
        ends = np.unique([0, *cuts, len(x)])
        which = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        A = np.zeros((len(x), len(ends) - 1, 2))
        A[np.arange(len(x)), which] = np.column_stack([np.ones_like(x), x])
        A = A.reshape(len(x), -1) * np.sqrt(w)[:, None]
        joined = [k for k in range(1, len(ends) - 1) if cuts.count(ends[k]) == 1]  # two knots in a gap join any lines
        for signs in product((1, -1), repeat=len(joined)):
            G = np.zeros((2 * len(joined), len(ends) - 1, 2))
            for row, (k, sign) in enumerate(zip(joined, signs, strict=True)):
                for side in (0, 1):
                    line = (-1) ** side * sign * np.array([1, x[ends[k] - 1 + side]])
                    G[2 * row + side, k - 1], G[2 * row + side, k] = line, -line
            best = min(best, least_error(A, y * np.sqrt(w), G.reshape(len(G), A.shape[1])))
    return best


def random_samples(seed, n, *, spaced=False):
    rng = np.random.default_rng(seed)
    x = np.arange(n) / (n - 1) if spaced else np.sort(rng.uniform(size=n))
    return x, rng.normal(size=n), rng.uniform(0.2, 2, n)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 8), st.integers(2, 4), st.booleans())
def test_no_assignment_of_samples_to_pieces_has_a_smaller_error(seed, n, pieces, spaced):
    x, y, w = random_samples(seed, n, spaced=spaced)
    fit = optimal_fit(x, y, pieces, weights=w)
    assert fit.is_optimal
    assert fit.sse == pytest.approx(by_quadratic_programs(x, y, w, min(pieces, n - 1)), rel=1e-6, abs=1e-9)
    assert fit.lower_bound == pytest.approx(fit.sse, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_optimum_from_nothing(seed):
    x, y, w = random_samples(seed, 9)
    data = merge_samples(x, y, w)
    proof = BranchAndBound(data, 4).prove(data.total, 10**6)
    assert proof.is_complete
    found = data.error(data.fit(proof.knots))
    assert found == pytest.approx(by_quadratic_programs(x, y, w, 4), rel=1e-6, abs=1e-9)
    assert proof.bound * data.size == pytest.approx(found, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_every_bound_is_below_the_optimum_and_a_larger_budget_raises_it(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=60))
    y = rng.normal(size=60)
    optimum = optimal_fit(x, y, 6)
    assert optimum.is_optimal
    data = merge_samples(x, y)
    bounds = [separate_lines_bound(data, 6) * data.size]
    for nodes in (0, 10_000):
        fit = optimal_fit(x, y, 6, max_nodes=nodes)
        assert fit.sse >= optimum.sse * (1 - 1e-9)
        bounds.append(fit.lower_bound)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] <= optimum.sse * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [MAX_SAMPLES + 1, 6000])
def test_the_bound_of_many_samples_is_close(n):
    rng = np.random.default_rng(n)
    x = np.linspace(-3, 3, n)
    y = np.sin(2 * x) + 0.3 * rng.normal(size=n)
    data = merge_samples(x, y)
    knots = np.array([0, 0.12, 0.38, 0.62, 0.88, 1])
    error = data.error(data.fit(knots))  # a good fit with five pieces, not the best one
    assert 0.85 * error < separate_lines_bound(data, 5) * data.size < error


def test_a_bound_from_groups_is_below_that_of_all_samples(monkeypatch):
    x, y, _ = random_samples(0, 200)
    data = merge_samples(x, y)
    exact = separate_lines_bound(data, 4)
    monkeypatch.setattr("creases.splines._free_knots.branch_and_bound._GROUPS", 50)
    assert 0.8 * exact < separate_lines_bound(data, 4) <= exact
