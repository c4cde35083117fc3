"""Verification passes for partitions of the network, and for nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import creases
from creases.errors import InputError
from creases.regions.diagnostics._verification import verify_partition
from strategies import cases

KINK = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])


@settings(max_examples=60, deadline=None)
@given(cases(2, max_depth=2, max_width=5))
def test_it_holds_for_partitions_of_planes_however_degenerate(case):
    found = verify_partition(creases.plane(case.net, case.box), points=200)
    assert found.holds, (found.max_error, found.tolerance)


@settings(max_examples=60, deadline=None)
@given(cases(1, max_depth=2, max_width=5))
def test_it_holds_for_partitions_of_lines_however_degenerate(case):
    ((low, high),) = case.box
    assert verify_partition(creases.line(case.net, [low], [high]), points=200).holds


def test_a_region_with_a_pattern_that_is_not_its_own_is_found_at_its_corners():
    partition = creases.plane(KINK)
    where = partition.locate([(0.5, 0.5)])[0]
    patterns = partition.patterns.copy()
    patterns[where] ^= 1  # unit 0 taken for off where it is on
    found = verify_partition(replace(partition, patterns=patterns))
    assert not found.holds
    assert found.error_at_corners == 1.0  # relu(x0) is left out, which is 1 at the far corners
    assert found.worst_point[0] == 1.0


def test_numbers_that_are_none_do_not_pass():
    found = verify_partition(creases.plane(KINK))
    assert found.holds
    for name in ("error_at_points", "error_at_corners"):
        assert not replace(found, **{name: float("nan")}).holds


def test_a_crease_that_was_missed_is_found_by_the_points_inside():
    straight = creases.read([([[1.0, 0.0], [0.0, 1.0]], [9.0, 9.0]), ([[1.0, 1.0]], [-19.0])])
    partition = replace(creases.plane(straight), net=KINK)  # one region, where the network has four
    assert partition.count == 1
    found = verify_partition(partition)
    assert not found.holds
    assert found.error_at_points > 0.5


def test_largest_is_what_a_look_at_every_corner_finds():
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(6, 2)), rng.normal(size=6)), (rng.normal(size=(2, 6)), rng.normal(size=2))])
    partition = creases.plane(net)
    J, y = partition.pieces()
    gaps = [
        np.abs(net(corner) - J[region] @ corner - y[region]).max()
        for region in range(partition.count)
        for corner in partition.polygon(region)
    ]
    found = verify_partition(partition)
    assert found.n_corners == len(gaps)
    assert found.error_at_corners == pytest.approx(max(gaps), abs=1e-15)


def test_a_network_without_units_and_a_whole_line_have_one_too():
    flat = creases.read([([[1.0, 2.0]], [3.0])])
    assert verify_partition(creases.plane(flat)).holds
    one = creases.read([([[1.0], [-1.0]], [0.0, 2.0]), ([[1.0, 1.0]], [0.0])])
    found = verify_partition(creases.line(one, [0.0], [1.0], infinite=True))
    assert found.holds
    assert found.n_corners == 4  # two breakpoints, each the end of two regions


def test_no_points_are_refused():
    with pytest.raises(InputError, match="points must be a positive integer, got 0"):
        verify_partition(creases.plane(KINK), points=0)
