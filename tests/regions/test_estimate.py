"""Estimates of the number of regions, from a few small samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import creases
from creases.errors import InputError
from creases.regions import estimate_regions
from creases.regions._estimate import Estimate


def random_network(*widths: int) -> creases.Network:
    rng = np.random.default_rng(0)
    return creases.read([(rng.normal(size=(n, m)) / np.sqrt(m), rng.normal(size=n) / 2) for m, n in pairwise(widths)])


def test_the_estimate_of_a_plane_is_near_its_number_of_regions() -> None:
    net = random_network(2, 60, 60, 1)
    count = creases.plane(net, (-2, 2)).count
    assert count > 1000
    assert count / 2 < estimate_regions(net, (-2, 2)).regions < 2 * count


def test_the_estimate_of_a_plane_through_points_is_near_its_number_of_regions() -> None:
    net = random_network(5, 60, 60, 1)
    points = np.random.default_rng(1).normal(size=(3, 5))
    count = creases.plane_through(net, *points).count
    assert count / 3 < estimate_regions(net, through=points).regions < 3 * count


@pytest.mark.parametrize("widths", [(3, 16, 16, 1), (4, 10, 10, 1)])
def test_the_estimate_of_a_space_is_near_its_number_of_regions(widths: tuple[int, ...]) -> None:
    net = random_network(*widths)
    count = creases.space(net, (-2, 2)).count
    assert count / 3 < estimate_regions(net, (-2, 2)).regions < 3 * count


def test_the_estimate_of_a_line_is_near_its_number_of_regions() -> None:
    net = random_network(20, 200, 200, 1)
    a, b = np.random.default_rng(1).normal(size=(2, 20))
    count = creases.line(net, a, b).count
    assert count / 2 < estimate_regions(net, (0, 1), a, (b - a)[:, None]).regions < 2 * count


def test_an_estimate_is_exact_where_samples_are_like_the_whole() -> None:
    lines = np.linspace(-0.99, 0.99, 200)
    layers = [(np.ones((200, 1)), -lines), (np.ones((1, 200)), np.zeros(1))]
    assert abs(estimate_regions(creases.read(layers), (-1, 1)).regions - 201) < 15


def test_estimates_claim_two_digits() -> None:
    assert str(Estimate(123_456, 600.0)) == "about 120,000 regions, 10 min"


def test_spaces_of_many_dimensions_are_refused() -> None:
    with pytest.raises(
        InputError, match="net must have at most 6 inputs, got 7; choose a plane by basis, or by through"
    ):
        estimate_regions(random_network(7, 3, 1))
