"""A summary counts every region and sample once, and its sizes add up."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

import creases
from creases.errors import InputError
from creases.regions.diagnostics._partitions import max_regions, summarize_partition, verify_partition
from strategies import cases


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cases(2, max_depth=2, max_width=5))
def test_sizes_and_what_is_decided_add_up_to_the_box(case):
    found = summarize_partition(creases.plane(case.net, case.box))
    area = float(np.prod(np.diff(case.box, axis=1)))
    assert found.sizes.sum() == pytest.approx(area, rel=1e-9)
    assert found.class_sizes.sum() == pytest.approx(area, rel=1e-9)
    assert 1 <= found.n_pieces <= found.count == len(found.sizes)
    assert found.max_regions is not None
    assert found.count <= found.max_regions
    assert (found.class_regions <= found.count).all()


@settings(max_examples=40, deadline=None)
@given(cases(1, max_depth=2, max_width=5))
def test_lengths_and_what_is_decided_add_up_to_the_segment(case):
    ((low, high),) = case.box
    found = summarize_partition(creases.line(case.net, [low], [high]))
    assert found.sizes.sum() == pytest.approx(1)
    assert found.class_sizes.sum() == pytest.approx(1)
    assert found.max_regions is not None
    assert found.count <= found.max_regions


def test_samples_are_counted_where_they_are():
    net = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.5])])  # relu(x0) - 1/2
    partition = creases.plane(net)
    t = [(0.1, 0.0), (0.9, 0.0), (0.9, 0.5), (-0.5, 0.0), (5.0, 0.0)]
    found = summarize_partition(partition, t)
    assert found.samples is not None
    assert found.samples[partition.locate([(0.5, 0.0)])[0]] == 3
    assert (found.samples.sum(), found.n_outside) == (4, 1)
    assert found.class_sizes.tolist() == [3.0, 1.0]
    assert found.class_regions.tolist() == [2, 1]
    assert found.boundary_size == pytest.approx(2.0)


def test_on_a_segment_the_boundary_is_a_number_of_points():
    bump = creases.read([([[1.0], [1.0], [1.0]], [0.0, -1.0, -2.0]), ([[1.0, -2.0, 1.0]], [-0.5])])
    found = summarize_partition(creases.line(bump, [-1.0], [3.0]), [[0.125], [0.5]])
    assert found.boundary_size == 2
    assert found.class_sizes.tolist() == pytest.approx([0.75, 0.25])
    assert found.class_regions.tolist() == [4, 2]  # the boundary runs through the two in the middle
    assert found.samples is not None
    assert found.samples.tolist() == [1, 0, 1, 0]


def test_regions_of_one_function_are_distinct_once():
    twice = creases.read([([[1.0, 0.0], [1.0, 0.0]], [0.0, -0.5]), ([[1.0, 0.0]], [0.0])])  # unit 1 is not read
    found = summarize_partition(creases.plane(twice))
    assert (found.count, found.n_pieces) == (3, 2)
    line = summarize_partition(
        creases.line(creases.read([([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 0.0]], [0.0])]), [-1.0], [1.0])
    )
    assert (line.count, line.n_pieces) == (3, 2)


def test_bounds_are_those_that_hold_for_the_network():
    plain = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    bounds = creases.regions.bounds([4, 3], 2)
    assert max_regions(creases.read(plain), 2) == bounds.upper
    leaky = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.1), nn.Linear(4, 3), nn.LeakyReLU(0.1), nn.Linear(3, 1))
    assert max_regions(creases.read(leaky), 2) == bounds.montufar_2017
    assert max_regions(creases.read(nn.Linear(2, 1)), 2) == 1
    pooled = nn.Sequential(nn.Linear(2, 4), nn.Unflatten(1, (1, 4)), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(2, 1))
    assert max_regions(creases.read(pooled), 2) is None


@pytest.mark.slow
def test_a_network_with_a_shortcut_has_the_bound_that_needs_no_chain():
    class Shortcut(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = nn.Linear(2, 1), nn.Linear(3, 2), nn.Linear(2, 1)

        def forward(self, x):
            h = torch.relu(self.first(x))
            return self.last(torch.relu(self.second(torch.cat([x, h], dim=1))))

    net = creases.read(Shortcut(), (2,))
    assert max_regions(net, 2) == 8  # 2 x 4; through one unit alone it would be 2 x 3
    assert summarize_partition(creases.plane(net)).count <= 8


# Verification passes for partitions of the network, and for nothing else.


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
