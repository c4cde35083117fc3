"""Programs in rational arithmetic: their answers are those of HiGHS, and show themselves without rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from creases.certify._maximize.exact_leaf import nearby_floats
from creases.certify._maximize.exact_program import maximize_exactly


def fractions(values: np.ndarray) -> list[Fraction]:
    return [Fraction(v) for v in values.tolist()]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_optimum_and_its_multipliers_prove_each_other(seed: int) -> None:
    """Small integers make ties, parallel rows and empty sets common."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(0, 7))
    rows = np.vstack([rng.integers(-2, 3, size=(m, n)), np.eye(n), -np.eye(n)]).astype(float)
    limits = np.concatenate([rng.integers(-2, 3, size=m), np.ones(2 * n)]).astype(float)
    cost = rng.integers(-2, 3, size=n).astype(float)
    A, b, c = [fractions(row) for row in rows], fractions(limits), fractions(cost)
    answer = maximize_exactly(A, b, c, rng.permutation(len(b)).tolist())
    reference = linprog(-cost, rows, limits, bounds=[(None, None)] * n)
    assert answer is not None
    assert all(value > 0 for value in answer.multipliers.values())
    total = [sum(value * A[i][j] for i, value in answer.multipliers.items()) for j in range(n)]
    room = sum(value * b[i] for i, value in answer.multipliers.items())
    if answer.point is None:
        assert reference.status == 2
        assert not any(total)
        assert room == answer.value < 0
        return
    assert reference.status == 0
    assert abs(float(answer.value) + reference.fun) < 1e-9
    assert all(
        sum(a * v for a, v in zip(row, answer.point, strict=True)) <= limit for row, limit in zip(A, b, strict=True)
    )
    assert sum(a * v for a, v in zip(c, answer.point, strict=True)) == answer.value == room
    assert total == c


def test_rows_contradict_each_other_where_no_variable_has_limits() -> None:
    zero, rows = fractions(np.zeros(3)), np.array([[-1.0, 0.0, 0.0], [1.0, -3.0, 0.0], [0.0, 3.0, 0.0]])
    answer = maximize_exactly([fractions(row) for row in rows], fractions(np.array([2.0, 0.0, -5.0])), zero, range(3))
    assert answer is not None
    assert answer.point is None
    assert len({*answer.multipliers.values()}) == 1
    assert sorted(answer.multipliers) == [0, 1, 2]
    free = maximize_exactly([fractions(row) for row in rows], fractions(np.array([2.0, 0.0, 5.0])), zero, range(3))
    assert free is not None
    assert free.point is not None
    one = maximize_exactly([fractions(row) for row in rows], fractions(np.ones(3)), fractions(np.ones(3)), range(3))
    assert one is None  # the third variable has no limits


def test_floats_around_a_rational_point_stay_in_the_box() -> None:
    third = Fraction(1, 3)
    points = nearby_floats([third, Fraction(1, 2), third], np.array([[0.0, 1.0], [0.0, 1.0], [0.0, float(third)]]))
    assert {tuple(x) for x in points} == {(1 / 3, 0.5, 1 / 3), (float(np.nextafter(1 / 3, 1)), 0.5, 1 / 3)}
