"""Image networks for claims: what stands in for the images, and what is measured of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from creases_reproduction.claim import Judgement
from creases_reproduction.images import STAND_IN, note_stand_in
from creases_reproduction.linearity.image_clusters import cluster_images
from creases_reproduction.linearity.image_directions import directions, far, roughness
from creases_reproduction.linearity.image_networks import network
from creases_reproduction.linearity.image_numbers import (
    Groups,
    digit_images,
    own_plans,
    similarity,
    stored_directions,
    stored_similarity,
)


def test_noise_is_rough_and_a_ramp_is_not():
    noise = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    ramp = torch.linspace(1, 2, 64)[None, None, None].expand(1, 3, 64, 64)
    assert roughness(noise) == pytest.approx(1, abs=0.05)
    assert roughness(ramp) < 1e-3
    assert np.isnan(roughness(torch.zeros(1, 1, 4, 4)))


def test_pixels_are_far_where_no_stroke_is_near():
    x = torch.zeros(1, 1, 32, 32)
    x[0, 0, 16, 16] = 1
    away = far(x)
    assert not away[0, 16 - 3 : 16 + 4, 16 - 3 : 16 + 4].any()
    assert int(away.sum()) == 32 * 32 - 49


def test_a_linear_networks_direction_is_its_own_weight():
    x = digit_images()[0][:40]
    model = network("linear", 0, x.shape[1:])
    found = directions("digits", [model, model], ["linear 1 sgd", "linear 2 sgd"], x)
    assert found.like_linear == pytest.approx([1, 1])
    assert found.eigenvalues[0][0] == 1
    assert found.eigenvalues[0][1] < 1e-12


def test_a_linear_network_keeps_its_accuracy_with_one_cluster_and_another_with_one_for_each_sample():
    x, y = digit_images()
    models = [network(kind, 0, x.shape[1:]) for kind in ("linear", "dense")]
    numbers = cluster_images("digits", models, ["linear", "dense"], x[:20], (x[:20], y[:20]), k=(1, 20), jobs=1)
    assert numbers.names == ["linear", "dense"]
    assert numbers.compression["1"][0] == numbers.accuracy[0]
    assert numbers.compression["20"] == numbers.accuracy


def test_clusters_go_on_with_the_networks_that_are_left():
    x, y = digit_images()
    models, data = [network("linear", seed, x.shape[1:]) for seed in (0, 1)], (x[:20], (x[:20], y[:20]))
    whole = cluster_images("digits", models, ["a", "b"], *data, k=(1, 2), jobs=1)
    first = cluster_images("digits", models[:1], ["a"], *data, k=(1, 2), jobs=1)
    assert first != whole
    assert cluster_images("digits", models, ["a", "b"], *data, k=(1, 2), jobs=1, before=first) == whole


def test_a_judge_says_when_other_images_stood_in():
    judge = note_stand_in(lambda numbers: Judgement("agrees", "it is so"))
    assert judge({"data": STAND_IN}).why == f"{STAND_IN}: it is so"
    assert judge({"data": "mnist"}).why == "it is so"


@pytest.mark.parametrize("data", ["mnist", "cifar10"])
def test_stored_tables_are_of_all_networks(data):
    names = [plan.name for plan in own_plans(data, "full")]
    assert stored_similarity(data).names == stored_directions(data).names == names
    groups = Groups(stored_similarity(data))
    assert groups.conv.sum() == 8
    assert groups.note == {"data": data}


def test_adamw_decays_weights_by_default_as_much_as_sgd_was_told_to():
    parameter = torch.nn.Parameter(torch.ones(1))
    (group,) = torch.optim.AdamW([parameter]).param_groups
    assert group["weight_decay"] == 0.01  # section 7.1 has 0.01 for SGD
    assert group["lr"] * group["weight_decay"] == pytest.approx(0.01 * 0.01 / 10)  # a tenth of SGD's at every step


@pytest.mark.thorough
@pytest.mark.slow
def test_networks_of_digits_are_measured_as_those_of_images():
    found = similarity("cifar10", "quick")
    groups = Groups(found)
    assert found.data == "digits"
    assert len(found.names) == 10
    assert min(found.accuracy) > 0.5
    assert np.array(found.mapped).shape == (10, 10)
    assert groups.mean(found.distance, groups.dense, groups.dense) > 0
