"""Networks converted to torch modules."""

from pathlib import Path

import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from one_step import NETWORKS


def test_a_network_with_pooling_is_rebuilt_of_torchs_layers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.LeakyReLU(0.1), nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 3, stride=2), nn.PReLU(4), nn.AvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    ).eval()  # fmt: skip
    net = creases.read(model, (1, 8, 8))
    net.save(tmp_path / "net.safetensors")
    again = creases.read(tmp_path / "net.safetensors").module()
    assert [type(module).__name__ for module in again][:3] == ["Conv2d", "LeakyReLU", "MaxPool2d"]
    assert [place.width for place in creases.places(again, (1, 8, 8))] == [3, 4]
    x = torch.randn(5, 1, 8, 8)
    torch.testing.assert_close(again(x.double()).float(), model(x))


def test_biases_that_onnx_adds_are_those_of_the_layers(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    again = creases.read(creases.read(model).save(tmp_path / "net.onnx")).module()
    assert [type(module).__name__ for module in again] == ["Linear", "ReLU", "Linear"]
    assert [place.width for place in creases.places(again)] == [5]
    x = torch.randn(5, 3, dtype=torch.float64)
    torch.testing.assert_close(again(x), model(x))


def test_a_constant_that_no_layer_can_take_stays_where_it_is() -> None:
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 1 - torch.relu(self.layer(x + 0.5))

    model = Shifted()
    x = torch.randn(5, 2)
    torch.testing.assert_close(creases.read(model, (2,)).module()(x.double()).float(), model(x))


@pytest.mark.parametrize("name", [name for name, net in NETWORKS.items() if len(net.steps[0].inputs) == 1])
def test_every_step_of_one_value_is_rebuilt(name: str) -> None:
    net = NETWORKS[name]
    x = torch.randn(5, *net.input_shape, dtype=torch.float64)
    torch.testing.assert_close(net.module()(x), net(x))


def test_a_residual_sum_is_refused() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.relu(self.inner(x))

    with pytest.raises(InputError, match="reads an earlier value"):
        creases.read(Residual(), (2,)).module()
