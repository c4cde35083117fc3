"""What the search finds is reached, inside the box, and never more than the bounds allow."""

from __future__ import annotations

import numpy as np
import pytest

import creases
from creases.certify import output_bounds
from creases.certify._output_search import search_largest_outputs, start_points
from creases.errors import InputError

BOX = np.array([[-1.0, 1.0]] * 3)


@pytest.fixture(scope="module")
def net() -> creases.Network:
    rng = np.random.default_rng(0)
    sizes = [(8, 3), (6, 8), (2, 6)]
    return creases.read([(rng.normal(size=size), rng.normal(size=size[0])) for size in sizes])


def test_the_search_reaches_what_it_reports(net: creases.Network) -> None:
    largest, where = search_largest_outputs(net, BOX, start_points(net, BOX))
    assert (BOX[:, 0] <= where).all()
    assert (where <= BOX[:, 1]).all()
    np.testing.assert_allclose(largest, np.abs(net(where)).diagonal())


def test_the_search_is_between_samples_and_exact_bounds(net: creases.Network) -> None:
    largest, _ = search_largest_outputs(net, BOX, start_points(net, BOX))
    exact = np.abs(output_bounds(net, BOX, method="exact")).max(axis=0)
    samples = np.abs(net(np.random.default_rng(1).uniform(-1, 1, size=(2000, 3)))).max(axis=0)
    assert (samples <= largest + 1e-9).all()
    assert (largest <= exact + 1e-9).all()


def test_given_points_are_moved_into_the_box(net: creases.Network) -> None:
    points = start_points(net, BOX, [[5.0, 0.0, -5.0]])
    assert points[-1].tolist() == [1.0, 0.0, -1.0]
    with pytest.raises(InputError, match="start must be finite"):
        start_points(net, BOX, [[np.nan, 0.0, 0.0]])
