"""The multiply-adds of a growth step."""

from __future__ import annotations

import torch

from creases.growth._cost import charge, count_cost


def test_products_factorisations_and_charges_add_up() -> None:
    a = torch.randn(100, 50, dtype=torch.float64)
    s = a.T @ a + torch.eye(50, dtype=torch.float64)
    with count_cost() as cost:
        _ = a.T @ a
        torch.linalg.cholesky_ex(s)
        torch.linalg.svd(a, full_matrices=False)
        torch.linalg.eigh(s)
        torch.linalg.solve_triangular(s, s, upper=True)
        charge(7)
    expected = 100 * 50**2 + 50**3 / 6 + 11 * 100 * 50**2 + 9 / 2 * 50**3 + 50**3 / 2 + 7
    assert abs(cost.multiply_adds - expected) <= 1


def test_nothing_is_charged_outside() -> None:
    with count_cost() as cost:
        pass
    charge(5)
    assert cost.multiply_adds == 0
