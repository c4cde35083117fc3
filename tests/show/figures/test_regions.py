""""""

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


DIAMOND = [([[1, 0], [-1, 0], [0, 1], [0, -1]], [0] * 4), ([[1, 1, 1, 1]], [-1])]


def test_the_region_its_units_and_what_is_nearest_are_drawn() -> None:
    region = creases.cell(creases.read(DIAMOND), [0.2, 0.5], box=[(-2, 2), (-2, 2)])
    ax = region.plot()
    (polygon,) = ax.patches
    assert polygon.get_xy().max(axis=0).tolist() == [2, 2]
    assert {text.get_text() for text in ax.texts} == {"box", "layers.0.bend[0]", "layers.0.bend[2]"}
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    assert labels == {"input", "nearest crease", "nearest boundary"}


def test_regions_of_more_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="cell must be of a network of two inputs, got 3"):
        creases.cell(creases.read([([[1, 0, 0]], [0]), ([[1]], [0])]), [1, 1, 1]).plot()
