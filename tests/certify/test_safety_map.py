"""Maps of safety against brute force over all segments, and against lines in all directions."""

import numpy as np
import pytest

import creases
from creases.certify import safety_map
from creases.errors import InputError


@pytest.fixture(scope="module")
def net():
    """Two classes of two inputs: two layers, a dead unit, a duplicate unit."""
    rng = np.random.default_rng(5)
    W0, b0 = rng.normal(size=(7, 2)), rng.normal(size=7)
    W0[5], b0[5], W0[6], b0[6] = 0.0, -1.0, W0[0], b0[0]
    layers = [(W0, b0), (rng.normal(size=(4, 7)), rng.normal(size=4)), (rng.normal(size=(2, 4)), np.zeros(2))]
    layers[2][1][:] = -creases.read(layers)([0.2, 0.1])  # a tie there
    return creases.read(layers)


def brute_force(points, segments):
    """Distances of points (n, 2) to the nearest of segments (S, 2, 2), all pairs."""
    a, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    share = np.clip(((points[:, None] - a) * along).sum(-1) / (along**2).sum(-1), 0, 1)
    return np.linalg.norm(points[:, None] - a - share[..., None] * along, axis=-1).min(axis=1)


@pytest.mark.slow
def test_distances_are_those_of_brute_force_in_a_box_much_larger_than_the_map(net):
    picture = safety_map(net, [(-1, 1.5), (-0.5, 1)], resolution=50)
    assert picture.distance.shape == (30, 50)
    wide = creases.plane(net, (-40, 40)).boundary().segments
    points = np.stack(np.meshgrid(picture.t1, picture.t2), axis=-1).reshape(-1, 2)
    assert picture.distance.ravel() == pytest.approx(brute_force(points, wide), abs=1e-9)
    between = np.random.default_rng(0).uniform(picture.box[:, 0], picture.box[:, 1], (100, 2))
    assert picture.at(between) == pytest.approx(brute_force(between, wide), abs=1e-9)


@pytest.mark.slow
def test_no_line_from_a_point_meets_another_decision_sooner(net):
    picture = safety_map(net, (-1, 1), resolution=20)
    points = np.random.default_rng(1).uniform(-1, 1, (6, 2))
    for point, distance, flip in zip(points, picture.at(points), picture.flips(points), strict=True):
        assert np.linalg.norm(flip - point) == pytest.approx(distance)
        sooner = []
        for angle in np.linspace(0, 2 * np.pi, 40, endpoint=False):
            way = point + 2 * distance * np.array([np.cos(angle), np.sin(angle)])
            sooner += (2 * distance * creases.line(net, point, way).boundary().t[:1]).tolist()
        assert min(sooner, default=distance) >= distance - 1e-9
        beyond = creases.line(net, point, point + (1 + 1e-6) * (flip - point)).boundary()
        assert len(beyond.t) == 1


def test_the_sign_is_that_of_the_decision(net):
    picture = safety_map(net, (-1, 1), resolution=25)
    points = np.stack(np.meshgrid(picture.t1, picture.t2), axis=-1).reshape(-1, 2)
    decided = net(points).argmax(axis=1)
    assert ((picture.signed.ravel() > 0) == (decided == 1)).all()


def test_units_and_a_skewed_basis_measure_in_input_space():
    net = creases.read([([[1.0, 0.0, 0.0]], [-3.0])])  # changes at x0 = 3
    basis = np.array([[2.0, 1.0], [0.0, 1.0], [0.0, 0.5]])
    picture = safety_map(net, [(0, 2), (0, 2)], origin=np.zeros(3), basis=basis, unit=[10.0, 5.0, 1.0], resolution=8)
    t = np.array([[0.3, 0.4], [1.7, 1.1]])
    plane_points = t @ basis.T / [10.0, 5.0, 1.0]
    u, v = (basis / np.array([[10.0], [5.0], [1.0]])).T
    normal = np.linalg.solve(
        np.array([[u @ u, u @ v], [u @ v, v @ v]]), np.array([0.2, 0.1])
    )  # of x0 / 10 in the plane
    length = np.linalg.norm(normal[0] * u + normal[1] * v)
    assert picture.at(t) == pytest.approx(np.abs(plane_points[:, 0] - 0.3) / length)


def test_three_classes_have_distances_but_no_sign():
    net = creases.read([([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.0])])
    picture = safety_map(net, (-1, 1), resolution=9)
    assert picture.at([[1.0, 0.0]]) == pytest.approx([np.sqrt(0.5)])
    with pytest.raises(InputError, match="two for a signed distance"):
        _ = picture.signed


def test_a_box_without_a_boundary_is_refused(net):
    with pytest.raises(InputError, match="contain a part of the decision boundary"):
        safety_map(creases.read([([[1.0, 0.0]], [-3.0])]), (-1, 1))
    with pytest.raises(InputError, match="unit must be positive"):
        safety_map(net, (-1, 1), unit=[1.0, 0.0])
    with pytest.raises(InputError, match="be in the box"):
        safety_map(net, (-1, 1), resolution=4).at([[2.0, 0.0]])


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_processes_make_the_same_map_bit_for_bit(net, n_jobs):
    options = {"box": [(-1, 1.5), (-0.5, 1)], "resolution": 200}  # several tasks, in a box that is enlarged
    alone, shared = safety_map(net, **options), safety_map(net, n_jobs=n_jobs, **options)
    assert alone.distance.tobytes() == shared.distance.tobytes()
    assert alone.classes.tobytes() == shared.classes.tobytes()
    points = np.stack(np.meshgrid(alone.t1, alone.t2), axis=-1)
    assert (alone.classes == np.asarray(net(points.reshape(-1, 2))).argmax(axis=1).reshape(alone.classes.shape)).all()
