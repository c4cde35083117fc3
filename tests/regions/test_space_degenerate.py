"""Partitions of degenerate networks in one, two and three dimensions against exact and brute-force references."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings

from conformance import check_space
from creases.regions._space.partition import SpacePartition
from creases.regions._space.space import space
from reference import exact_intervals, exact_regions, lp_regions
from strategies import Case, cases


def patterns_by_reference(case: Case) -> set[tuple[int, ...]]:
    n = len(case.box)
    if n == 1:
        (lo, hi) = case.box[0]
        _, sides = exact_intervals(case.layers, np.array([lo]), np.array([hi]), leak=case.leak)
    elif n == 2:
        sides = exact_regions(case.layers, case.box, leak=case.leak).sides
    else:
        sides = lp_regions(case.layers, case.box, leak=case.leak)
    return {tuple(row) for row in sides.tolist()}


def corners_by_descent(part: SpacePartition) -> list[set[int]]:
    """The vertices of all faces of all dimensions, each those of its facets together; then of the regions."""
    counts, starts, lists = part.flat
    below = [{v} for v in range(int(counts[0]))]
    for f in range(len(below), len(starts) - 1):
        below.append(set().union(*(below[g] for g in lists[starts[f] : starts[f + 1]])))
    return below[-part.count :]


def check_tiling(case: Case) -> SpacePartition:
    part = space(case.net, case.box)
    check_space(part, np.random.default_rng(0), points=40)
    corners = [part.corners[a:b].tolist() for a, b in pairwise(part.starts)]
    assert [set(found) for found in corners] == corners_by_descent(part)
    assert all(len(found) == len(set(found)) for found in corners)
    assert part.locate(part.vertices).min() >= 0
    boundary = part.boundary()
    assert (boundary.classes[:, 0] != boundary.classes[:, 1]).all()
    return part


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(cases(1))
def test_intervals_are_those_of_exact_arithmetic(case):
    found = {tuple(row) for row in check_tiling(case).sides().tolist()}
    assert found == patterns_by_reference(case)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(cases(2, max_width=5))
def test_polygons_are_those_of_exact_arithmetic(case):
    found = {tuple(row) for row in check_tiling(case).sides().tolist()}
    assert found == patterns_by_reference(case)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(cases(3, max_depth=3, max_width=5))
def test_polyhedra_tile_the_box_and_pieces_are_the_network(case):
    check_tiling(case)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cases(3, max_depth=2, max_width=3))
def test_polyhedra_are_those_that_linear_programs_find(case):
    part = space(case.net, case.box)
    found = {tuple(row): v for row, v in zip(part.sides().tolist(), part.volumes(), strict=True)}
    reference = patterns_by_reference(case)
    assert reference <= set(found)
    size = prod(hi - lo for lo, hi in case.box)  # the reference leaves out regions whose inner ball is below 1e-8
    assert all(v <= 1e-7 * size for row, v in found.items() if row not in reference)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cases(4, max_depth=2, max_width=4))
def test_polytopes_in_four_dimensions_tile_the_box(case):
    check_tiling(case)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(cases(max_width=4, max_depth=2))
def test_from_facet_to_facet_the_same_regions_are_found(case):
    part = space(case.net, case.box)
    found = {row.tobytes(): v for row, v in zip(part.patterns, part.volumes(), strict=True)}
    reached = {row.tobytes() for row in space(case.net, case.box, method="lp").patterns}
    assert reached <= set(found)
    size = prod(hi - lo for lo, hi in case.box)  # regions thinner than linear programs resolve are left out
    assert all(v <= 1e-9 * size for row, v in found.items() if row not in reached)
