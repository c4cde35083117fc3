"""Bounds against enumeration and against counts of real networks."""

from __future__ import annotations

from itertools import pairwise, product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases.errors import InputError
from creases.regions import estimate_regions
from creases.regions._counts import Estimate, bounds
from reference import exact_intervals, exact_regions

small = st.lists(st.integers(1, 5), max_size=4)


def serra_by_enumeration(widths: list[int], d: int) -> int:
    """Theorem 1 of Serra et al. as it stands: the sum over the index set J."""
    total = 0
    for js in product(*(range(n + 1) for n in widths)):
        rooms = [min([d, *(n - j for n, j in zip(widths[:i], js[:i], strict=True))]) for i in range(len(widths))]
        if all(j <= room for j, room in zip(js, rooms, strict=True)):
            total += prod(comb(n, j) for n, j in zip(widths, js, strict=True))
    return total


@given(small, st.integers(1, 4))
def test_serra_is_its_sum_over_all_indices(widths: list[int], d: int) -> None:
    assert bounds(widths, d).serra_2018 == serra_by_enumeration(widths, d)


@given(small, st.integers(1, 6))
def test_newer_bounds_are_never_worse(widths: list[int], d: int) -> None:
    b = bounds(widths, d)
    assert b.serra_2018 <= b.montufar_2017 <= b.product
    assert b.montufar_2017 <= b.montufar_2014
    assert b.upper == b.serra_2018
    assert b.zaslavsky <= b.product
    if b.lower is not None:
        assert b.lower <= b.upper


def test_known_values() -> None:
    assert bounds([3], 2).zaslavsky == 7  # eq. (5.15)
    assert bounds([3], 2).upper == 7
    assert bounds([6], 2).zaslavsky == 22
    assert bounds([6], 3).zaslavsky == 42
    assert bounds([4, 4], 1).upper == 25
    assert bounds([4, 4], 2).lower == 4 * 11  # floor(4 / 2)^2 (1 + 4 + 6)
    assert bounds([2], 5).upper == 4
    assert bounds([3, 1], 1).upper == 8
    assert bounds([1, 3], 1).upper == 5  # on its flat side the first unit leaves nothing to cut
    assert bounds([2, 1], 3).lower is None


def test_one_layer_is_bounded_by_its_arrangement_alone() -> None:
    for n, d in product(range(1, 7), range(1, 5)):
        b = bounds([n], d)
        assert b.zaslavsky == b.product == b.montufar_2017 == b.serra_2018 == b.lower or n < d


def test_product_needs_the_input_dimension_for_k() -> None:
    # the text asks k <= every width: k = 1 here, which one layer of five units already exceeds in three dimensions
    assert prod(1 + n for n in (5, 1)) == 12
    assert bounds([5, 1], 3).zaslavsky == 26
    assert bounds([5, 1], 3).product == 26 * 2


def test_widths_may_include_input_and_output() -> None:
    assert bounds([2, 16, 16, 1]) == bounds([16, 16], d=2)
    assert bounds([3, 2]) == bounds([], d=3)
    assert bounds([3, 2]).upper == 1


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2**31))
def test_no_network_in_the_plane_has_more_regions(widths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [2, *widths, 1]
    layers = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise(sizes)]
    assert exact_regions(layers, [(-64, 64)] * 2).count <= bounds(widths, 2).upper
    assert exact_regions(layers, [(-64, 64)] * 2, leak=0.25).count <= bounds(widths, 2).montufar_2017


def test_a_zigzag_reaches_the_lower_bound() -> None:
    # three units fold [0, 1] onto itself three times, four units of the next layer cut every fold
    fold = (np.ones((3, 1)), -np.array([0, 1, 2]) / 3)
    ramp = np.array([[3.0, -6.0, 6.0]])
    cuts = (np.ones((4, 1)) @ ramp, -np.array([1, 2, 3, 4]) / 5)
    layers = [fold, cuts, (np.ones((1, 4)), np.zeros(1))]
    ends, _ = exact_intervals(layers, np.array([-1.0]), np.array([2.0]))
    b = bounds([3, 4], 1)
    assert b.lower == 3 * 5
    assert b.lower <= len(ends) - 1 <= b.upper


def test_bad_widths_are_named() -> None:
    with pytest.raises(InputError, match="widths must be a list of positive integers"):
        bounds([3, 0], 2)
    with pytest.raises(InputError, match="widths must be a list of positive integers"):
        bounds([3, 2.5], 2)  # type: ignore[list-item]
    with pytest.raises(InputError, match="widths must be a list of positive integers"):
        bounds([3], 0)
    with pytest.raises(
        InputError, match="widths must be the input, hidden and output widths, at least two numbers, without d"
    ):
        bounds([3])


# Estimates of the number of regions, from a few small samples.


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
