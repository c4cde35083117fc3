from __future__ import annotations

import numpy as np
import pytest

import creases
from creases.errors import InputError


def network(n: int) -> creases.Network:
    rng = np.random.default_rng(0)
    sizes = [(5, n), (2, 5)]
    return creases.read([(rng.normal(size=size), 0.3 * rng.normal(size=size[0])) for size in sizes])


def test_every_face_of_every_region_is_drawn_outside_its_middle() -> None:
    found = creases.space(network(3), [(-1, 1)] * 3)
    ax = found.plot(gap=0.2)
    (solids,) = ax.collections
    facets = 2 * len(found.pairs) + np.count_nonzero(found.creases < 0)
    assert len(solids.get_facecolor()) == facets
    assert ax.get_xlabel() == "$x_1$"
    assert ax.get_zlim() == (-1, 1)


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (2, "must be of three dimensions, got 2; plot planes with creases.plane"),
        (4, "must be of three dimensions, got 4; plot slices with creases.plane"),
    ],
)
def test_other_dimensions_are_refused_with_what_to_do(n: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        creases.space(network(n), [(-1, 1)] * n).plot()


def test_regions_without_vertices_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="partition must have vertices"):
        creases.space(network(3), [(-1, 1)] * 3, method="lp").plot()
