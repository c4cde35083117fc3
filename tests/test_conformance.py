"""The conformance suite notices what is wrong with a partition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from conformance import check_line, check_plane, check_space
from creases.network._reading.arrays import from_arrays
from creases.regions import PlanePartition, plane
from creases.regions._line.line import LinePartition, line
from creases.regions._space.partition import SpacePartition
from creases.regions._space.space import space
from reference import load_case

NET = from_arrays(load_case("m2_16x2"))


def _moved(part: PlanePartition) -> PlanePartition:
    vertices = part.vertices.copy()
    vertices[10] += 1e-6
    return replace(part, vertices=vertices)


def _swapped_patterns(part: PlanePartition) -> PlanePartition:
    return replace(part, patterns=part.patterns[::-1].copy())


def _same_pattern(part: PlanePartition) -> PlanePartition:
    patterns = part.patterns.copy()
    patterns[3] = patterns[4]
    return replace(part, patterns=patterns)


def _other_unit(part: PlanePartition) -> PlanePartition:
    units = part.edge_units.copy()
    inner = np.flatnonzero(units >= 0)
    units[inner[0]] = (units[inner[0]] + 1) % NET.n_units
    return replace(part, edge_units=units)


def _turned_edge(part: PlanePartition) -> PlanePartition:
    regions = part.edge_regions.copy()
    regions[7] = regions[7, ::-1]
    return replace(part, edge_regions=regions)


def _clockwise(part: PlanePartition) -> PlanePartition:
    corners = part.corners.copy()
    corners[: part.starts[1]] = corners[: part.starts[1]][::-1]
    return replace(part, corners=corners)


def _without_last_region(part: PlanePartition) -> PlanePartition:
    return replace(part, starts=part.starts[:-1], corners=part.corners[: part.starts[-2]], patterns=part.patterns[:-1])


def _other_values(part: PlanePartition) -> PlanePartition:
    return replace(part, values=part.values + 1e-6)


@pytest.fixture(scope="module")
def flat() -> PlanePartition:
    return plane(NET, exact=True)


@pytest.mark.parametrize(
    "spoil",
    [
        _moved,
        _swapped_patterns,
        _same_pattern,
        _other_unit,
        _turned_edge,
        _clockwise,
        _without_last_region,
        _other_values,
    ],
)
def test_a_spoiled_plane_does_not_conform(
    flat: PlanePartition, spoil: Callable[[PlanePartition], PlanePartition]
) -> None:
    check_plane(flat, np.random.default_rng(0))
    with pytest.raises(AssertionError):
        check_plane(spoil(flat), np.random.default_rng(0))


def test_a_spoiled_line_does_not_conform() -> None:
    part: LinePartition = line(NET, [-1.0, -0.5], [1.0, 0.7])
    check_line(part, np.random.default_rng(0))
    for bad in (
        replace(part, breakpoints=part.breakpoints + 1e-6),
        replace(part, patterns=part.patterns[::-1].copy()),
        replace(part, unit_ids=(part.unit_ids + 1) % NET.n_units),
    ):
        with pytest.raises(AssertionError):
            check_line(bad, np.random.default_rng(0))


def test_a_spoiled_space_does_not_conform() -> None:
    part: SpacePartition = space(NET)
    check_space(part, np.random.default_rng(0))
    vertices = part.vertices.copy()
    vertices[20] += 1e-6
    for bad in (
        replace(part, vertices=vertices),
        replace(part, patterns=part.patterns[::-1].copy()),
        replace(part, pairs=part.pairs[:-1], facet_units=part.facet_units[:-1]),
        replace(part, facet_units=(part.facet_units + 1) % NET.n_units),
        replace(part, complete=False),
    ):
        with pytest.raises(AssertionError):
            check_space(bad, np.random.default_rng(0))
