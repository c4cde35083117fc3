"""Certificates of nearest changes: true ones hold in rational arithmetic, false ones are refuted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import creases
from creases.certify import nearest
from nearest_cases import NORMS, random_network


@pytest.mark.parametrize("seed", range(20, 28))
def test_answers_hold_in_rational_arithmetic(seed: int) -> None:
    net, x = random_network(seed)
    for norm in NORMS:
        change = nearest(net, x, norm=norm, box=(-3, 3))
        verification = change.certificate.check()
        assert verification.point_holds
        assert verification.bound_holds is True
        assert bool(verification)


NET = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.5])])


@pytest.mark.parametrize("norm", NORMS)
def test_a_bound_that_is_too_high_is_refuted(norm: str) -> None:
    honest = nearest(NET, [0.0, 0.5], norm=norm).certificate  # type: ignore[arg-type]
    assert honest.check()
    false = replace(honest, lower_bound=1.01 * honest.distance).check()
    assert false.bound_holds is not True
    assert not false


def test_a_point_that_is_not_decided_otherwise_is_refuted() -> None:
    honest = nearest(NET, [0.0, 0.5]).certificate
    point = np.array([0.0, 0.5]) + 0.999999 * (honest.point - np.array([0.0, 0.5]))
    false = replace(honest, point=point, distance=honest.question.distance(point))
    assert not false.check().point_holds
    assert false.check().margin < 0  # type: ignore[operator]
    assert not replace(honest, distance=0.9 * honest.distance).check().point_holds


def test_constraints_are_part_of_the_claim() -> None:
    x = [0.0, 0.5]
    change = nearest(NET, x, integer=[0], weights=[1.0, 10.0])
    assert change.certificate.check()
    free = nearest(NET, x, weights=[1.0, 10.0])
    assert not replace(change.certificate, point=free.point, distance=free.distance).check().point_holds
    group = nearest(NET, [1.0, 0.0], target=(None, -1.0), one_hot=[[0, 1]], box=(0, 1))
    assert group.point is None
    assert group.proved
    assert group.certificate.check()


def test_what_takes_too_long_is_not_decided() -> None:
    assert nearest(NET, [0.0, 0.5]).certificate.check(max_sets=1).bound_holds is None
