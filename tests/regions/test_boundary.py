from __future__ import annotations

import numpy as np
import pytest

import creases
from reference import load_case, load_counts

UNIT = [(-1, 1), (-1, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m2_16x2", "m2_32x3", "m2_64x3", "m2_128x3"])
def test_segments_and_length_equal_the_reference(name: str) -> None:
    expected = load_counts()[name]
    found = creases.plane(creases.read(load_case(name)), UNIT).boundary()
    assert len(found.edges) == expected["decision_segments"]
    assert found.length == pytest.approx(expected["decision_length"], abs=1e-12)


def classifier(outputs: int, seed: int = 0) -> creases.Network:
    rng = np.random.default_rng(seed)
    sizes = [(12, 2), (12, 12), (outputs, 12)]
    return creases.read([(rng.normal(size=size), 0.3 * rng.normal(size=size[0])) for size in sizes])


@pytest.mark.slow
@pytest.mark.parametrize("outputs", [1, 2, 3, 7])
def test_outputs_tie_on_the_boundary_and_no_third_is_larger(outputs: int) -> None:
    net = classifier(outputs)
    found = creases.plane(net, UNIT).boundary()
    assert len(found.edges) > 10
    for fraction in (0.0, 0.37, 1.0):
        a, b = found.segments[:, 0], found.segments[:, 1]
        values = net(a + fraction * (b - a))
        if outputs == 1:
            np.testing.assert_allclose(values, 0, atol=1e-12)
        else:
            rows = np.arange(len(values))
            left, right = values[rows, found.classes[:, 0]], values[rows, found.classes[:, 1]]
            np.testing.assert_allclose(left, right, atol=1e-12)
            assert (values.max(axis=1) - left < 1e-12).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_parts_tile_the_box_and_have_the_network_s_class(outputs: int) -> None:
    net = classifier(outputs, seed=1)
    partition = creases.plane(net, UNIT)
    found = partition.boundary()
    assert found.areas().sum() == pytest.approx(4, rel=1e-12)
    starts = found.part_starts
    centers = np.add.reduceat(found.vertices[found.part_corners], starts[:-1]) / np.diff(starts)[:, None]
    values = net(centers)
    np.testing.assert_array_equal(found.part_class, values[:, 0] > 0 if outputs == 1 else values.argmax(axis=1))
    np.testing.assert_array_equal(found.part_region, partition.locate(centers))


def test_a_closed_boundary_is_one_closed_polyline() -> None:
    """The octahedron of the sources: |x| + |y| = 1."""
    net = creases.read([([[1, 0], [-1, 0], [0, 1], [0, -1]], [0] * 4), ([[1, 1, 1, 1]], [-1])])
    found = creases.plane(net, [(-2, 2), (-2, 2)]).boundary()
    (line,) = found.polylines()
    np.testing.assert_array_equal(line[0], line[-1])
    assert found.length == pytest.approx(4 * np.sqrt(2))
    assert found.areas().tolist() == pytest.approx([2, 14])


def test_a_boundary_along_a_crease_is_found() -> None:
    """relu(x) is 0 up to its crease and positive beyond: the decision changes on the crease itself."""
    found = creases.plane(creases.read([([[1, 0]], [0]), ([[1]], [0])]), UNIT).boundary()
    np.testing.assert_array_equal(found.segments[:, :, 0], 0)
    assert found.length == 2
    assert set(found.regions[0]) == {0, 1}


def test_three_classes_meet_in_a_point() -> None:
    net = creases.read([([[1, 0], [-1, 1], [-1, -1]], [0, 0, 0])])
    lines = creases.plane(net, UNIT).boundary().polylines()
    assert len(lines) == 3
    assert all((np.abs(line).sum(axis=1) < 1e-15).any() for line in lines)


def test_equal_outputs_have_no_boundary() -> None:
    found = creases.plane(creases.read([([[1, 0], [1, 0]], [0, 0])]), UNIT).boundary()
    assert len(found.edges) == 0
    assert found.polylines() == []
    assert found.part_class.tolist() == [0]


def test_an_output_that_is_zero_but_for_rounding_has_no_boundary() -> None:
    """The same sum of units twice, in another order, one from the other: what is left is rounding of its terms."""
    rng = np.random.default_rng(3)
    hidden, weights, order = (rng.normal(size=(16, 2)), rng.normal(size=16)), rng.normal(size=16), rng.permutation(16)
    twice = (np.vstack([hidden[0], hidden[0][order]]), np.append(hidden[1], hidden[1][order]))
    net = creases.read([twice, (np.append(weights / 3, -weights[order] / 3)[None], [0.0])])
    assert 0 < np.abs(creases.plane(net).values).max() < 1e-14
    assert len(creases.plane(net).boundary().edges) == 0
    assert creases.space(net).boundary().count == 0


@pytest.mark.slow
def test_networks_of_many_outputs_have_their_classes_by_number() -> None:
    weights = np.array([[1, 0], [0, 1], [-1, -1]])  # three classes that decide, the last of 300 outputs
    net = creases.read([(np.vstack([np.zeros((297, 2)), weights]), np.append(np.full(297, -9.0), np.zeros(3)))])
    found = creases.plane(net).boundary()
    assert set(found.part_class.tolist()) == set(found.classes.ravel().tolist()) == {297, 298, 299}
    assert set(creases.space(net).boundary().classes.ravel().tolist()) == {297, 298, 299}


def test_a_thousand_classes_need_no_thousand_times_thousand_pairs() -> None:
    rng = np.random.default_rng(0)
    few = [(rng.normal(size=(12, 2)), rng.normal(size=12)), (rng.normal(size=(4, 12)), rng.normal(size=4))]
    many = [few[0], (np.vstack([few[1][0], np.zeros((996, 12))]), np.append(few[1][1], np.full(996, -1e3)))]
    expected, found = (creases.plane(creases.read(layers), UNIT).boundary() for layers in (few, many))
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_array_equal(found.part_class, expected.part_class)
