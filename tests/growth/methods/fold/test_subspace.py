"""Leading directions of many columns."""

import numpy as np

from creases.growth.methods._fold.search import extend_basis, leading_directions


def test_leading_directions_are_those_of_the_singular_value_decomposition():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 80)) * 0.7 ** np.arange(80)
    A = A @ np.linalg.qr(rng.normal(size=(80, 80)))[0]
    directions = leading_directions(A, 6)
    exact = np.linalg.svd(A)[2][:6]
    assert np.allclose(directions.T @ directions, np.eye(6))
    assert np.linalg.svd(exact @ directions)[1].min() > 1 - 1e-6


def test_there_are_no_more_directions_than_the_rank():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 30))
    assert leading_directions(A, 10).shape == (30, 2)
    assert leading_directions(np.zeros((5, 3)), 2).shape == (3, 0)


def test_a_basis_is_extended_by_what_is_new_only():
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.normal(size=(9, 3)))[0]
    new = rng.normal(size=9)
    more = extend_basis(basis, np.array([basis[:, 1], new, 2 * new + basis[:, 0]]))
    assert more.shape == (9, 1)
    both = np.column_stack([basis, more])
    assert np.allclose(both.T @ both, np.eye(4))
    assert np.allclose(both @ (both.T @ new), new)
