"""Reading torch modules: blocks, shared layers, unusual precisions; the module itself does not change."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import creases
from agreement import Lambda, assert_agrees, points, seeded
from creases.errors import InputError, ReadError


class BasicBlock(nn.Module):
    """The block of ResNets: two convolutions, batch norms, and a shortcut that may change the shape."""

    def __init__(self, channels: int, out: int, stride: int = 1, inplace: bool = True) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace)
        change = stride != 1 or channels != out
        self.shortcut = (
            nn.Sequential(nn.Conv2d(channels, out, 1, stride), nn.BatchNorm2d(out)) if change else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


def resnet() -> nn.Module:
    return seeded(
        nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
            BasicBlock(4, 4),
            BasicBlock(4, 6, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(6, 5),
        )
    )


def mlp(*widths: int) -> nn.Sequential:
    layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]
    return seeded(nn.Sequential(*layers[:-1]))


def test_a_resnet_agrees() -> None:
    net = assert_agrees(resnet(), (3, 8, 8))
    assert [net.steps[i].path for i in net.bends] == ["2", "3", "4.relu", "4.relu_1", "5.relu", "5.relu_1"]


def test_a_dense_block_agrees() -> None:
    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv2d(2 * (i + 1), 2, 3, padding=1) for i in range(3))

        def forward(self, x: Tensor) -> Tensor:
            seen = [x]
            for layer in self.layers:
                seen.append(F.relu(layer(torch.cat(seen, 1))))
            return F.adaptive_avg_pool2d(torch.cat(seen, 1), 1).flatten(1)

    assert_agrees(seeded(Dense()), (2, 5, 5))


def test_an_encoder_and_decoder_with_skips_agrees() -> None:
    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = nn.Conv2d(1, 3, 3, padding=1), nn.ConvTranspose2d(3, 2, 2, stride=2)
            self.out, self.act = nn.Conv2d(5, 1, 1), nn.LeakyReLU(0.1)

        def forward(self, x: Tensor) -> Tensor:
            skip = self.act(self.down(x))
            low = F.max_pool2d(skip, 2)
            up = self.act(self.up(low)) + F.interpolate(low[:, :2], scale_factor=2, mode="bilinear")
            return self.out(torch.cat([skip, up], dim=1))

    assert_agrees(seeded(UNet()), (1, 6, 6))


def test_a_layer_used_twice_keeps_two_places() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.act = nn.Linear(3, 3), nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            return self.act(self.fc(self.act(self.fc(x))))

    net = assert_agrees(seeded(Twice()), (3,))
    assert [step.path for step in net.steps] == ["fc", "act", "fc_1", "act_1"]
    assert str(net.unit(4)) == "act_1[1]"


def test_control_flow_by_shape_is_followed() -> None:
    def forward(x: Tensor) -> Tensor:
        if x.dim() == 2 and x.shape[1] % 2 == 0:
            x = x.relu()
        assert x.is_floating_point()
        return x * len(x.shape)

    assert [step.op for step in assert_agrees(Lambda(forward), (4,)).steps] == ["relu", "scale"]


def test_in_place_bends_change_what_is_added_later() -> None:
    """With inplace=True the shortcut is bent too, as torch does it."""

    class PreActivation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.fc, self.act = nn.Linear(3, 3), nn.Linear(3, 3), nn.ReLU(inplace=True)

        def forward(self, x: Tensor) -> Tensor:
            x = self.first(x)
            shortcut = x
            return self.fc(self.act(x)) + shortcut

    assert_agrees(seeded(PreActivation()), (3,))


def test_parametrised_and_hooked_weights_are_read() -> None:
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))
    assert_agrees(nn.Sequential(spectral, nn.ReLU()), (4,))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_old_style_weight_norm_is_read() -> None:
    layer = nn.utils.weight_norm(nn.Linear(4, 3))
    net = creases.read(nn.Sequential(layer, nn.ReLU()), (4,))
    x = points((4,))
    torch.testing.assert_close(net(x), F.relu(layer.double()(x)).detach())


def test_an_mlp_needs_no_input_shape() -> None:
    assert creases.read(mlp(5, 4, 2)).input_shape == (5,)
    assert creases.read(nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(12, 2)).eval()).input_shape == (12,)
    assert creases.read(Lambda(lambda x, w: x.view(x.size(0), -1) @ w, w=torch.ones(3, 2))).input_shape == (3,)
    normalised = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()
    assert creases.read(normalised).input_shape == (4,)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (nn.Conv2d(3, 2, 3), r"input_shape=\(3, 32, 32\)"),
        (nn.Conv2d(4, 4, 3, groups=4), r"input_shape=\(4, 32, 32\)"),
        (nn.Conv1d(2, 2, 3), r"input_shape=\(2, 32\)"),
        (nn.Sequential(nn.ReLU(), nn.Conv2d(1, 2, 3)), r"input_shape=\(1, 32, 32\)"),
        (nn.MaxPool2d(2), "starts with max_pool2d"),
        (nn.ReLU(), "has no linear layer"),
    ],
)
def test_other_models_ask_for_the_input_shape(model: nn.Module, hint: str) -> None:
    with pytest.raises(InputError, match=f"input_shape must be given for a model that .*{hint}"):
        creases.read(model)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_of_any_precision_are_read_exactly(dtype: torch.dtype) -> None:
    model = mlp(3, 4, 2).to(dtype)
    net = creases.read(model)
    assert net.dtype == torch.float64
    for step, layer in zip(net.steps[::2], model[::2], strict=True):
        assert torch.equal(step.tensors["weight"], layer.weight.double())
        assert torch.equal(step.offset, layer.bias.double())


def test_casts_inside_a_model_are_no_part_of_the_function() -> None:
    model = Lambda(lambda x: F.relu(x.float()).half().to(torch.float32))
    x = points((3,))
    assert torch.equal(creases.read(model, (3,))(x), x.relu())


def test_reading_leaves_the_model_and_the_random_state_alone() -> None:
    model = resnet().train()
    before = copy.deepcopy(model.state_dict())
    flags = [module.training for module in model.modules()]
    pointers = [parameter.data_ptr() for parameter in model.parameters()]
    state = torch.random.get_rng_state()
    with pytest.warns(UserWarning, match=r"train mode, which changes its BatchNorm2d: .*model\.eval\(\) first"):
        creases.read(model, (3, 8, 8))
    assert torch.equal(state, torch.random.get_rng_state())
    assert flags == [module.training for module in model.modules()]
    assert pointers == [parameter.data_ptr() for parameter in model.parameters()]
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_default_device_and_precision_do_not_matter() -> None:
    model, x = resnet().eval(), points((3, 8, 8))
    expected = creases.read(model, (3, 8, 8))(x)
    try:
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float16)
        net = creases.read(model, (3, 8, 8))
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert torch.equal(net(x), expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile's own
def test_compiled_and_traced_modules() -> None:
    model = mlp(2, 3, 1)
    assert creases.read(torch.compile(model)).n_units == 3
    assert creases.read(torch.fx.symbolic_trace(model)).n_units == 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torch_script_is_refused() -> None:
    with pytest.raises(ReadError, match="cannot read TorchScript; pass the original module"):
        creases.read(torch.jit.script(mlp(2, 3, 1)), (2,))


def test_changing_the_model_later_does_not_change_the_network() -> None:
    model = mlp(2, 3, 1).double()
    net, x = creases.read(model), points((2,))
    before = net(x)
    with torch.no_grad():
        model[0].weight.zero_()
    assert torch.equal(before, net(x))


def test_zero_weights_and_no_bend_at_all_are_networks() -> None:
    zero = mlp(2, 3, 2)
    for parameter in zero.parameters():
        nn.init.zeros_(parameter)
    assert_agrees(zero, (2,))
    depth_zero = assert_agrees(seeded(nn.Linear(2, 3)), (2,))
    assert depth_zero.n_units == 0
    assert creases.read(nn.Identity(), (4,)).n_out == 4


def test_a_model_without_output_axis_gives_one() -> None:
    assert creases.read(Lambda(lambda x: x.sum(1)), (2,)).output_shape == (1,)


def test_a_network_reads_as_itself() -> None:
    net = creases.read([(np.eye(2), np.zeros(2))])
    assert creases.read(net) is net
