"""Pruned, unpruned and independently trained networks side by side."""

from __future__ import annotations

import numpy as np
import pytest

from creases_reproduction.linearity.pruned_and_independent import (
    KINDS,
    Settings,
    _crossed,
    _paired,
    digit_images,
    train_kinds,
)


@pytest.fixture(scope="module")
def models():
    images = digit_images()
    few = images._replace(x=images.x[:200], y=images.y[:200])
    return train_kinds(few, 0, Settings(epochs=1, tuning=1))


def test_the_independent_network_has_the_widths_of_the_pruned_one(models):
    assert tuple(models) == KINDS
    widths = {kind: [models[kind][0].out_features, models[kind][2].out_features] for kind in KINDS[:3]}
    assert widths["original"] == widths["trained on"] == [64, 64]
    assert sum(widths["pruned units"]) == 32
    assert [models["small"][0].out_features, models["small"][2].out_features] == widths["pruned units"]


def test_as_many_weights_are_left_by_weights_as_by_units(models):
    left = sum(int((layer.weight != 0).sum()) for layer in models["pruned weights"] if hasattr(layer, "weight"))
    small = sum(layer.weight.numel() for layer in models["small"] if hasattr(layer, "weight"))
    assert left == pytest.approx(small, rel=0.05)


def test_pairs_of_one_seed_are_left_out_of_independent_ones():
    alike = np.array([[1.0, 0.9, 0.1, 0.2], [0.9, 1.0, 0.3, 0.4], [0.1, 0.3, 1.0, 0.8], [0.2, 0.4, 0.8, 1.0]])
    assert _crossed(alike, alike, [0, 2], [1, 3])["cka"] == pytest.approx(0.25)  # of 0.2 and 0.3
    assert _paired(alike, alike, [0, 2], [1, 3])["cka"] == pytest.approx(0.85)
