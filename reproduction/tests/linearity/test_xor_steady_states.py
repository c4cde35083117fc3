"""The 36 sign regions of XOR on a line and their steady states, in exact arithmetic."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from creases_reproduction.linearity.xor.steady_states import COUNTS, DEAD, LOSSES, POINTS, REGIONS, SIDES, TARGETS


def sides(w, b):
    return tuple(w * x + b > 0 for x in POINTS)


def shapes_of(side):
    """Weights and biases of one unit with such sides."""
    return [(w, b) for w, b in product(range(-4, 5), range(-4, 5)) if sides(w, b) == side]


def heights(shape):
    return [max(0, shape[0] * x + shape[1]) for x in POINTS]


def solve(columns, values):
    """Exact numbers a with sum a_i columns_i = values, free ones 1; None if there are none."""
    rows = [[Fraction(column[k]) for column in columns] + [Fraction(values[k])] for k in range(3)]
    pivots, at = [], 0
    for column in range(len(columns)):
        pivot = next((r for r in range(at, 3) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [entry / rows[at][column] for entry in rows[at]]
        for r in range(3):
            if r != at:
                rows[r] = [e - rows[r][column] * f for e, f in zip(rows[r], rows[at], strict=True)]
        pivots.append(column)
        at += 1
    if any(row[-1] for row in rows[at:]):
        return None
    free = [c for c in range(len(columns)) if c not in pivots]
    found = dict.fromkeys(free, Fraction(1))
    for row, column in zip(rows, pivots, strict=False):
        found[column] = row[-1] - sum(row[c] for c in free)
    return [found[c] for c in range(len(columns))]


def members(region, count, seed=0):
    """Parameters (w1, b1, o1, w2, b2, o2, c) of a region with the values of its family, and o1, o2 not 0."""
    draw, found = random.Random(seed), []
    first, second = (shapes_of(side) for side in region.sides)
    for _ in range(20000):
        one, two = draw.choice(first), draw.choice(second)
        solution = solve([heights(one), heights(two), [1, 1, 1]], region.values)
        if solution is not None and solution[0] and solution[1]:
            found.append((*one, solution[0], *two, solution[1], solution[2]))
        if len(found) == count:
            break
    return found


def gradient(w1, b1, o1, w2, b2, o2, c):
    """The loss (3.25) and its seven derivatives, exactly."""
    total, slopes = Fraction(0), [Fraction(0)] * 7
    for x, y, n in zip(POINTS, TARGETS, COUNTS, strict=True):
        z1, z2 = w1 * x + b1, w2 * x + b2
        error = o1 * max(z1, 0) + o2 * max(z2, 0) + c - y
        total += n * error**2
        parts = [o1 * x * (z1 > 0), o1 * (z1 > 0), max(z1, 0), o2 * x * (z2 > 0), o2 * (z2 > 0), max(z2, 0), 1]
        slopes = [slope + 2 * n * error * part for slope, part in zip(slopes, parts, strict=True)]
    return total, slopes


def test_a_unit_has_six_combinations_of_sides():
    grid = [Fraction(k, 3) for k in range(-9, 10)]
    assert {sides(w, b) for w in grid for b in grid} == set(SIDES)
    assert len({region.sides for region in REGIONS}) == 36


def test_22_regions_have_steady_states_of_loss_0_six_of_8_thirds_four_of_4_and_four_none():
    assert Counter(region.loss for region in REGIONS) == {LOSSES[0]: 22, LOSSES[1]: 6, LOSSES[2]: 4, None: 4}


@pytest.mark.parametrize("region", [one for one in REGIONS if one.values], ids=lambda one: one.conditions)
def test_the_gradient_vanishes_exactly_on_the_family_and_the_loss_is_as_said(region):
    found = members(region, 5)
    assert len(found) == 5
    for parameters in found:
        assert (sides(*parameters[:2]), sides(*parameters[3:5])) == region.sides
        assert gradient(*parameters) == (region.loss, [0] * 7)


@pytest.mark.slow
@pytest.mark.parametrize("region", [one for one in REGIONS if one.values], ids=lambda one: one.conditions)
def test_off_the_family_the_gradient_does_not_vanish(region):
    """All parameters of the region with a zero gradient have its values: the conditions determine them."""
    draw = random.Random(1)
    first, second = (shapes_of(side) for side in region.sides)
    for _ in range(200):
        one, two = draw.choice(first), draw.choice(second)
        o1, o2, c = (Fraction(draw.choice([-3, -2, -1, 1, 2, 3]), 3) for _ in range(3))
        values = [o1 * a + o2 * b + c for a, b in zip(heights(one), heights(two), strict=True)]
        assert any(gradient(*one, o1, *two, o2, c)[1]) == (tuple(values) != region.values)


def test_beside_a_dead_unit_one_active_at_two_points_cannot_rest():
    """No errors would be left, and the unit would be 0 at an outer point where it is active."""
    none = [region for region in REGIONS if region.values is None]
    assert all(DEAD in region.sides and any(sum(side) == 2 for side in region.sides) for region in none)
    for region in none:
        (alive,) = (side for side in region.sides if side != DEAD)
        for shape in shapes_of(alive):
            assert solve([heights(shape), [1, 1, 1]], TARGETS) is None


def test_families_have_the_dimension_of_their_equations():
    assert {region.dimension for region in REGIONS if region.loss == 0} == {4}
    assert {region.dimension for region in REGIONS if region.loss == LOSSES[1]} == {5}
    assert sorted(region.dimension for region in REGIONS if region.loss == 4) == [5, 5, 5, 6]


def test_solutions_are_written_as_equations():
    assert REGIONS[0].solution == "c = 0"
    assert REGIONS[8].solution == "c + o1 (b1 - w1) = -1, c = 1, c + o2 (b2 + w2) = -1"
    assert REGIONS[3].solution == "none"


def test_the_printed_example_of_two_parameters_has_one_steady_state():
    """v = relu(a x) + b on -1 -> -1, 1 -> 1: (2, -1) has loss 0; the printed (-4, 2) is not stationary."""

    def slopes(a, b):
        total = [0, 0]
        for x, y in ((-1, -1), (1, 1)):
            error = max(a * x, 0) + b - y
            total = [total[0] + 2 * error * x * (a * x > 0), total[1] + 2 * error]
        return total

    assert slopes(2, -1) == [0, 0]
    assert slopes(0, 0) == [0, 0]
    assert slopes(-4, 2) != [0, 0]
