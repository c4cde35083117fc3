"""Fourier facts of the dissertation, by the measures of the library."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from boolean_images import functions_and_images
from creases import boolean


def _measures(f, n):
    """Degree, total influence and entropy."""
    found = boolean.measures(f, n)
    return found.degree, found.influence, found.entropy


def correlation(one, other):
    return np.corrcoef(one, other)[0, 1]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_polynomial_has_the_values_of_the_function(n):
    functions = np.random.default_rng(n).integers(0, 2 ** (2**n), 20)
    signs = 2 * boolean.all_inputs(n) - 1
    characters = np.stack([signs[:, boolean.all_inputs(n)[s] == 1].prod(axis=1) for s in range(2**n)], axis=1)
    values = 2.0 * boolean.truth_table(functions, n) - 1
    assert (boolean.measures(functions, n).coefficients @ characters.T == values).all()


def test_squared_coefficients_sum_to_one_and_give_the_influence():
    f = boolean.from_truth_table(np.random.default_rng(0).integers(0, 2, 2**16))
    squares = boolean.measures(f, 16).coefficients ** 2
    assert squares.sum() == pytest.approx(1, abs=1e-12)
    sizes = boolean.all_inputs(16).sum(axis=1)
    assert boolean.measures(f, 16).influence == pytest.approx((sizes * squares).sum(), abs=1e-10)  # (3.6)
    assert boolean.measures(f, 16).influence == pytest.approx(8, abs=0.05)  # of a random function: about n / 2
    assert boolean.measures(f, 16).degree >= 15


def test_parity_has_one_term():
    for n in (1, 4, 10):
        f = boolean.parity(n)
        assert np.flatnonzero(boolean.measures(f, n).coefficients).tolist() == [2**n - 1]
        assert _measures(f, n) == (n, n, 0)


def test_constants_have_no_degree_influence_or_entropy():
    for f in (0, 2**16 - 1):
        assert _measures(f, 4) == (0, 0, 0)


@given(functions_and_images())
@settings(deadline=None)
def test_degree_influence_and_entropy_are_those_of_the_class(case):
    n, *both = case
    for one, other in _measures(both, n):
        assert one == pytest.approx(other, abs=1e-12)


def test_or_has_the_most_entropy_of_up_to_three_bits_and_not_of_four():
    entropies = {n: boolean.measures(boolean.npn_classes(n).representatives, n).entropy for n in (1, 2, 3, 4)}
    ors = {n: boolean.measures(2 ** (2**n) - 2, n).entropy for n in entropies}
    assert all(ors[n] == pytest.approx(entropies[n].max()) for n in (1, 2, 3))
    assert ors[4] == pytest.approx(1.7012, abs=5e-5)
    assert entropies[4].max() == 4
    assert boolean.npn_classes(4).representatives[entropies[4] == 4].tolist() == [854, 857, 874, 6014]


def test_influence_and_entropy_are_not_correlated_over_classes():
    for n in (3, 4):  # since f xor parity has the same entropy, and the influence n - I(f)
        f = boolean.npn_classes(n).representatives
        assert correlation(boolean.measures(f, n).influence, boolean.measures(f, n).entropy) == pytest.approx(
            0, abs=1e-12
        )


def test_swaps_of_four_bits_are_correlated_with_influence_most():
    f, swaps = boolean.class_swaps(4)
    found = [correlation(swaps, measure) for measure in _measures(f, 4)]
    assert found == pytest.approx([0.116, 0.466, 0.218], abs=5e-4)


def test_no_functions_have_no_measures():
    assert [measure.shape for measure in _measures([], 3)] == [(0,), (0,), (0,)]
    assert boolean.measures([], 3).influences.shape == (0, 3)
    assert boolean.measures([], 3).coefficients.shape == (0, 8)
