from __future__ import annotations

import pytest

import creases
from creases.errors import InputError

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
