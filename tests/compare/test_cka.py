from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.compare import cka
from creases.compare._coefficients import Coefficients
from creases.compare.measures import coefficient_cka
from creases.compare.measures._cka import cka_matrix
from creases.errors import InputError


def direct(X: np.ndarray, Y: np.ndarray) -> float:
    """Eq. (7.7) through the Gram matrices of samples and the centring matrix."""
    p = len(X)
    H = np.eye(p) - 1 / p
    K, L = H @ X @ X.T @ H, H @ Y @ Y.T @ H
    return float((K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum()))


def direct_unbiased(X: np.ndarray, Y: np.ndarray) -> float:
    """With HSIC_1 of Song et al. (2012), eq. (5)."""

    def hsic(K: np.ndarray, L: np.ndarray) -> float:
        p, one = len(K), np.ones(len(K))
        inner = np.trace(K @ L) + one @ K @ one * (one @ L @ one) / (p - 1) / (p - 2) - 2 / (p - 2) * one @ K @ L @ one
        return float(inner / p / (p - 3))

    K, L = X @ X.T, Y @ Y.T
    for gram in (K, L):
        np.fill_diagonal(gram, 0)
    return hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))


@pytest.mark.parametrize("shapes", [(40, 5, 3), (10, 30, 20), (7, 1, 1)])
def test_it_is_the_direct_formula(shapes: tuple[int, int, int]) -> None:
    p, d, e = shapes
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(p, d)) + 3, rng.normal(size=(p, e))
    assert cka(X, Y) == pytest.approx(direct(X, Y), abs=1e-12)
    assert cka(X, Y, unbiased=True) == pytest.approx(direct_unbiased(X, Y), abs=1e-12)


def test_tiles_and_products_of_columns_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("creases.compare.measures._cka"), "TILE", 7)
    rng = np.random.default_rng(1)
    X, Y, Z = (rng.normal(size=(30, d)) for d in (4, 6, 9))
    all_pairs = cka_matrix([X, Y, Z])
    assert all_pairs[0, 1] == pytest.approx(cka(X, Y), abs=1e-13)
    assert np.array_equal(all_pairs, all_pairs.T)
    assert cka_matrix([X, Y, Z], unbiased=True)[1, 2] == pytest.approx(direct_unbiased(Y, Z), abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 999), scale=st.sampled_from([1e-150, 1e-6, 1.0, 1e9, 1e150]), shift=st.floats(-5, 5))
def test_it_does_not_change_with_rotation_scale_and_shift(seed: int, scale: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    assert cka((X @ Q + shift) * scale, Y) == pytest.approx(cka(X, Y), abs=1e-10)
    assert cka((X @ Q + shift) * scale, X) == pytest.approx(1, abs=1e-10)


def test_a_matrix_without_variation_has_no_alignment() -> None:
    X = np.random.default_rng(2).normal(size=(6, 3))
    found = cka_matrix([X, np.full((6, 2), 0.1), np.zeros((6, 2))])
    assert np.isnan(found[0, 1:]).all()
    assert np.isnan(np.diag(found)[1:]).all()
    assert found[0, 0] == 1


def test_float32_matrices_are_summed_in_float64() -> None:
    X, Y = (np.random.default_rng(s).normal(size=(1100, 20)).astype(np.float32) for s in (3, 4))
    assert cka(X, Y) == pytest.approx(direct(X.astype(float), Y.astype(float)), abs=1e-12)


def test_a_network_is_like_itself_whatever_its_outputs_do() -> None:
    features = torch.randn(2, 9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    features[1] = features[1, :1]  # an output with one piece
    C = Coefficients(features, None, torch.zeros(9, 2))
    D = Coefficients(features.flip(2), None, torch.zeros(9, 2))
    found = coefficient_cka([C, D])
    assert found[0, 0] == found[1, 1] == 1
    assert found[0, 1] == pytest.approx(0.5)  # the mean of 1 and none


def test_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"must have the same samples as rows, got \[3, 4\]"):
        cka(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(InputError, match="at least 4 samples"):
        cka(np.zeros((3, 2)), np.zeros((3, 2)), unbiased=True)
    with pytest.raises(InputError, match=r"matrices\[1\] must be finite, got NaN"):
        cka(np.zeros((3, 2)), np.full((3, 2), np.nan))
    with pytest.raises(InputError, match=r"matrices\[0\] must be a matrix"):
        cka(np.zeros(3), np.zeros((3, 1)))
