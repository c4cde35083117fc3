"""Every readable operation has the values and Jacobians of torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import creases
from agreement import Lambda, assert_agrees, points, seeded

VECTOR, LINE, IMAGE = (6,), (3, 10), (3, 8, 8)


def each(*cases):
    return pytest.mark.parametrize(
        ("model", "shape"),
        [pytest.param(model, shape, id=f"{i}-{name}") for i, (name, model, shape) in enumerate(cases)],
    )


@pytest.mark.slow
@each(
    ("linear", nn.Linear(6, 4), VECTOR),
    ("no bias", nn.Linear(6, 4, bias=False), VECTOR),
    ("linear on a sequence", nn.Linear(10, 4), LINE),
    ("conv1d", nn.Conv1d(3, 4, 3, stride=2, padding=1, dilation=2), LINE),
    ("conv2d", nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)), IMAGE),
    ("groups", nn.Conv2d(3, 6, 3, groups=3, bias=False), IMAGE),
    ("same, odd kernel", nn.Conv2d(3, 4, 3, padding="same", dilation=2), IMAGE),
    ("valid", nn.Conv2d(3, 4, 3, padding="valid"), IMAGE),
    ("reflect", nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), IMAGE),
    ("circular", nn.Conv2d(3, 4, 3, padding=(1, 2), padding_mode="circular"), IMAGE),
    ("replicate", nn.Conv1d(3, 4, 3, padding=1, padding_mode="replicate"), LINE),
    ("conv3d", nn.Conv3d(1, 2, 2), (1, 3, 3, 3)),
    ("transposed", nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), IMAGE),
    ("transposed 1d", nn.ConvTranspose1d(3, 6, 3, groups=3, dilation=2), LINE),
    ("batch norm 1d", nn.BatchNorm1d(6), VECTOR),
    ("batch norm of a sequence", nn.BatchNorm1d(3, eps=1e-2), LINE),
    ("batch norm 2d", nn.BatchNorm2d(3), IMAGE),
    ("batch norm without weights", nn.BatchNorm2d(3, affine=False), IMAGE),
    ("weight norm", nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), VECTOR),
)
def test_layers_with_weights_agree(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(seeded(model), shape)


@each(
    ("average", nn.AvgPool2d(3, stride=2, padding=1), IMAGE),
    ("average without padding", nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), IMAGE),
    ("average with divisor", nn.AvgPool2d(2, divisor_override=3), IMAGE),
    ("average 1d", nn.AvgPool1d(3, 2), LINE),
    ("adaptive average", nn.AdaptiveAvgPool2d((3, None)), IMAGE),
    ("adaptive average 1d", nn.AdaptiveAvgPool1d(4), LINE),
    ("max", nn.MaxPool2d(2), IMAGE),
    ("max with padding", nn.MaxPool2d(3, stride=2, padding=1), IMAGE),
    ("dilated max", nn.MaxPool2d((2, 3), stride=1, padding=(1, 1), dilation=2), IMAGE),
    ("max, ceil", nn.MaxPool2d(3, stride=2, ceil_mode=True), IMAGE),
    ("max 1d", nn.MaxPool1d(3, 2, 1), LINE),
    ("max of one", nn.MaxPool2d(1), IMAGE),
    ("max 3d", nn.MaxPool3d(2), (1, 4, 4, 2)),
    ("adaptive max", nn.AdaptiveMaxPool2d((3, 2)), IMAGE),
    ("adaptive max 1d", nn.AdaptiveMaxPool1d(4), LINE),
)
def test_pools_agree(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(model, shape)


@each(
    ("relu", nn.ReLU(), VECTOR),
    ("in place", nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True)), VECTOR),
    ("leaky", nn.LeakyReLU(0.2), VECTOR),
    ("prelu", nn.PReLU(), IMAGE),
    ("prelu per channel", seeded(nn.PReLU(3)), IMAGE),
    ("rrelu", nn.RReLU(), VECTOR),
    ("relu6", Lambda(lambda x: F.relu6(x * 10)), VECTOR),
    ("hardtanh", nn.Hardtanh(-0.3, 0.7), VECTOR),
    ("continuous threshold", nn.Threshold(0.4, 0.4), VECTOR),
    ("softshrink", nn.Softshrink(0.3), VECTOR),
    ("clamp", Lambda(lambda x: x.clamp(-0.5, 0.25)), VECTOR),
    ("clamp below", Lambda(lambda x: torch.clamp(x, min=-0.5)), VECTOR),
    ("clamp above", Lambda(lambda x: torch.clamp_max(x, 0.5)), VECTOR),
    ("clamp by tensors", Lambda(lambda x, lo, hi: torch.clamp(x, lo, hi), lo=-torch.rand(6), hi=torch.rand(6)), VECTOR),
    ("clamp of nothing", Lambda(lambda x: torch.clamp(x, 0.5, -0.5) + x), VECTOR),
    ("infinite bound", Lambda(lambda x: torch.clamp(x, -float("inf"), 0.1)), VECTOR),
    ("abs", Lambda(torch.abs), VECTOR),
    ("builtin abs", Lambda(abs), VECTOR),
    ("maximum", Lambda(lambda x: torch.maximum(x, x.flip(1))), VECTOR),
    ("minimum", Lambda(lambda x: torch.minimum(x, 1 - x.flip(1))), VECTOR),
    ("maximum with constant", Lambda(lambda x, c: torch.maximum(c, x), c=torch.linspace(-1, 1, 6)), VECTOR),
    ("minimum with constant", Lambda(lambda x, c: torch.minimum(x, c), c=torch.linspace(-1, 1, 6)), VECTOR),
    ("max of two", Lambda(lambda x: torch.max(x, -x)), VECTOR),
    ("min of two", Lambda(lambda x: torch.min(x, other=2 * x)), VECTOR),
    ("max along an axis", Lambda(lambda x: x.max(1)[0]), IMAGE),
    ("max, keeping the axis", Lambda(lambda x: x.max(dim=-1, keepdim=True).values), IMAGE),
    ("min along an axis", Lambda(lambda x: torch.min(x, 2).values), IMAGE),
    ("amax over two axes", Lambda(lambda x: x.amax((1, 3))), IMAGE),
    ("amin", Lambda(lambda x: x.amin(2, keepdim=True)), IMAGE),
    ("maximum with a bound of one sample", Lambda(lambda x: torch.clamp(x, min=x.roll(1, 1))), VECTOR),
    ("maxout", Lambda(lambda x: x.view(x.shape[0], 3, 2).amax(2)), VECTOR),
    ("bend of a scalar", Lambda(lambda x: F.relu(x.sum(1)) - 1), VECTOR),
    ("largest of all", Lambda(lambda x: x.amax(1)), VECTOR),
)
def test_bends_agree(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(model, shape)


@each(
    ("flatten", nn.Flatten(), IMAGE),
    ("flatten part", Lambda(lambda x: x.flatten(2)), IMAGE),
    ("view by size", Lambda(lambda x: x.view(x.size(0), -1)), IMAGE),
    ("reshape by shape", Lambda(lambda x: x.reshape(x.shape[0], x.shape[1] * 2, -1)), IMAGE),
    ("view of any batch", Lambda(lambda x: x.view(-1, 192)), IMAGE),
    ("unflatten", nn.Unflatten(1, (2, 3)), VECTOR),
    ("permute", Lambda(lambda x: x.permute(0, 2, 3, 1)), IMAGE),
    ("permute by tuple", Lambda(lambda x: torch.permute(x, (0, 3, 1, 2))), IMAGE),
    ("transpose", Lambda(lambda x: x.transpose(1, -1)), IMAGE),
    ("matrix transpose", Lambda(lambda x: x.mT), IMAGE),
    ("movedim", Lambda(lambda x: x.movedim(1, -1)), IMAGE),
    ("squeeze", Lambda(lambda x: x[:, :1].squeeze(1)), IMAGE),
    ("unsqueeze", Lambda(lambda x: x.unsqueeze(1)), IMAGE),
    ("scalar output", Lambda(lambda x: x[:, :1].squeeze(-1)), VECTOR),
    ("slice", Lambda(lambda x: x[:, 1:, ::2, 3]), IMAGE),
    ("index by a list", Lambda(lambda x: x[:, [2, 0, 0]]), IMAGE),
    ("index by none", Lambda(lambda x: x[:, None]), IMAGE),
    ("index_select", Lambda(lambda x, i: x.index_select(1, i), i=torch.tensor([5, 1])), VECTOR),
    ("select", Lambda(lambda x: x.select(2, 1)), IMAGE),
    ("narrow", Lambda(lambda x: x.narrow(1, 1, 2)), IMAGE),
    ("expand", Lambda(lambda x: x[:, :, None].expand(-1, -1, 4)), VECTOR),
    ("expand to another's shape", Lambda(lambda x: x - x.amax(1, keepdim=True).expand_as(x)), IMAGE),
    ("view in another's shape", Lambda(lambda x: x.flatten(1).view_as(x) + torch.ones(8).expand_as(x)), IMAGE),
    ("triangles", Lambda(lambda x: x.tril() - 2 * torch.triu(x, diagonal=1)), IMAGE),
    ("repeat", Lambda(lambda x: x.repeat(1, 2)), VECTOR),
    ("repeat_interleave", Lambda(lambda x: x.repeat_interleave(2, dim=1)), VECTOR),
    ("flip", Lambda(lambda x: x.flip(1, 2)), IMAGE),
    ("roll", Lambda(lambda x: x.roll((1, 2), (1, 2))), IMAGE),
    ("chunk", Lambda(lambda x: x.chunk(3, dim=1)[1]), VECTOR),
    ("split", Lambda(lambda x: torch.split(x, [1, 5], dim=1)[1]), VECTOR),
    ("unbind", Lambda(lambda x: x.unbind(1)[2] + x.unbind(1)[0]), IMAGE),
    ("pixel shuffle", Lambda(lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2)), IMAGE),
    ("pixel unshuffle", nn.PixelUnshuffle(2), IMAGE),
    ("channel shuffle", nn.Sequential(nn.Conv2d(3, 4, 1), nn.ChannelShuffle(2)), IMAGE),
    ("unfold", nn.Unfold(3, padding=1, stride=2), IMAGE),
    ("unfold without padding", nn.Unfold((2, 3), dilation=2), IMAGE),
    ("unfold an axis", Lambda(lambda x: x.unfold(1, 3, 2)), VECTOR),
    ("fold", nn.Fold((4, 4), 2, stride=2), (12, 4)),
    ("clone", Lambda(lambda x: x.clone().contiguous()), VECTOR),
    ("view of a contiguous copy", Lambda(lambda x: x.permute(0, 2, 3, 1).contiguous().view(x.shape[0], -1)), IMAGE),
    ("casts", Lambda(lambda x: x.to(torch.float64).double()), VECTOR),
)
def test_movements_of_entries_agree(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(model, shape)


@each(
    ("zeros", nn.ZeroPad2d((1, 2, 0, 3)), IMAGE),
    ("constant", nn.ConstantPad1d(2, 3.5), LINE),
    ("reflect", nn.ReflectionPad2d(2), IMAGE),
    ("replicate", nn.ReplicationPad2d((1, 0, 2, 1)), IMAGE),
    ("circular", nn.CircularPad2d(1), IMAGE),
    ("negative", Lambda(lambda x: F.pad(x, (-1, 2))), VECTOR),
    ("no pad at all", Lambda(lambda x: F.pad(x, (0, 0)) + 0), VECTOR),
    ("nearest", nn.Upsample(scale_factor=2), IMAGE),
    ("nearest, uneven", Lambda(lambda x: F.interpolate(x, (5, 11))), IMAGE),
    ("bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    ("bilinear, corners", nn.Upsample(size=(5, 9), mode="bilinear", align_corners=True), IMAGE),
    ("bilinear, uneven", nn.Upsample(scale_factor=1.7, mode="bilinear"), IMAGE),
    ("bilinear, recomputed", nn.Upsample(scale_factor=1.7, mode="bilinear", recompute_scale_factor=True), IMAGE),
    ("linear", nn.Upsample(scale_factor=3, mode="linear"), LINE),
    ("bicubic", nn.Upsample(scale_factor=2, mode="bicubic"), IMAGE),
    ("antialiased", Lambda(lambda x: F.interpolate(x, (3, 3), mode="bilinear", antialias=True)), IMAGE),
    ("area", Lambda(lambda x: F.interpolate(x, 4, mode="area")), IMAGE),
)
def test_padding_and_resizing_agree(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(model, shape)


@each(
    ("numbers", Lambda(lambda x: 2 * x - 3 + x / 4 - (-x)), VECTOR),
    ("from a number", Lambda(lambda x: 1 - x), VECTOR),
    ("rsub", Lambda(lambda x: torch.rsub(x, 2, alpha=3)), VECTOR),
    ("alpha", Lambda(lambda x: torch.add(x, x.flip(1), alpha=2)), VECTOR),
    ("sub with alpha", Lambda(lambda x: torch.sub(1, x, alpha=2)), VECTOR),
    ("in place", Lambda(lambda x: x.mul(2).add_(1).relu_()), VECTOR),
    ("augmented", Lambda(lambda x: _augmented(x)), VECTOR),
    ("buffers", Lambda(lambda x, m, s: (x - m) / s, m=torch.randn(3, 1, 1), s=torch.rand(3, 1, 1) + 1), IMAGE),
    ("buffers with a batch axis", Lambda(lambda x, m: x + m, m=torch.randn(1, 6)), VECTOR),
    ("broadcast to a larger shape", Lambda(lambda x, m: x[:, :1] + m, m=torch.randn(5)), VECTOR),
    ("scaled to a larger shape", Lambda(lambda x, m: x[:, :1] * m, m=torch.randn(5)), VECTOR),
    ("zeros_like", Lambda(lambda x: x + torch.ones_like(x)), VECTOR),
    ("values broadcast", Lambda(lambda x: x + x[:, :, :1]), IMAGE),
    ("where by a mask", Lambda(lambda x, m: torch.where(m > 0, x, 2 * x + 1), m=torch.randn(6)), VECTOR),
    ("where with numbers", Lambda(lambda x, m: torch.where(m > 0, 0.3, x), m=torch.randn(3, 1, 1)), IMAGE),
    ("masked fill", Lambda(lambda x, m: x.masked_fill(m > 0, 0.7), m=torch.randn(6)), VECTOR),
    ("first power", Lambda(lambda x: x**1), VECTOR),
    ("between two", Lambda(lambda x, w: torch.lerp(x, x.flip(1), w), w=torch.rand(6)), VECTOR),
    ("addcmul", Lambda(lambda x, w: torch.addcmul(x, x.flip(1), w, value=3), w=torch.randn(6)), VECTOR),
    ("sum of absolute values", Lambda(lambda x: x.norm(p=1, dim=1, keepdim=True)), VECTOR),
    ("largest absolute value", Lambda(lambda x: torch.linalg.vector_norm(x, torch.inf, dim=1)), VECTOR),
    ("matmul", Lambda(lambda x, w: x @ w, w=torch.randn(6, 3)), VECTOR),
    ("matmul with a vector", Lambda(lambda x, w: x @ w, w=torch.randn(6)), VECTOR),
    ("matmul of matrices", Lambda(lambda x, w: x @ w, w=torch.randn(8, 3)), IMAGE),
    ("batched matmul", Lambda(lambda x, w: x @ w, w=torch.randn(3, 8, 2)), IMAGE),
    ("matmul from the left", Lambda(lambda x, w: w @ x, w=torch.randn(5, 8)), IMAGE),
    ("batched from the left", Lambda(lambda x, w: torch.matmul(w, x), w=torch.randn(3, 5, 8)), IMAGE),
    ("vector from the left", Lambda(lambda x, w: w @ x, w=torch.randn(8)), IMAGE),
    (
        "addmm",
        Lambda(lambda x, w, c: torch.addmm(c, x, w, beta=2, alpha=3), w=torch.randn(6, 3), c=torch.randn(3)),
        VECTOR,
    ),
    ("einsum", Lambda(lambda x, w: torch.einsum("bchw,chk->bkw", x, w), w=torch.randn(3, 8, 2)), IMAGE),
    ("cumsum", Lambda(lambda x: x.cumsum(1)), VECTOR),
    ("tensordot", Lambda(lambda x, w: torch.tensordot(x, w, dims=2), w=torch.randn(8, 8, 2)), IMAGE),
    ("sum", Lambda(lambda x: x.sum((1, 3))), IMAGE),
    ("mean", Lambda(lambda x: x.mean((2, 3), keepdim=True)), IMAGE),
    ("mean of the last", Lambda(lambda x: torch.mean(x, dim=-1)), IMAGE),
    ("cat", Lambda(lambda x: torch.cat([x, 2 * x, x[:, :1]], dim=1)), IMAGE),
    ("cat with a constant", Lambda(lambda x: torch.cat([x, x.new_full((len(x), 2), 3.0)], 1)), VECTOR),
    ("stack", Lambda(lambda x: torch.stack([x, -x], dim=1)), IMAGE),
    ("stack last", Lambda(lambda x: torch.stack([x, -x], -1)), VECTOR),
    ("dropout", nn.Sequential(nn.Dropout(0.5), nn.Identity(), nn.Dropout2d()), IMAGE),
    ("functional dropout", Lambda(lambda x: F.dropout(x, training=False)), VECTOR),
)
def test_arithmetic_agrees(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(seeded(model), shape)


def _recurrence(x: torch.Tensor) -> torch.Tensor:
    h = x[:, 0] * 0
    for part in x.unbind(1):
        h = torch.relu(part + 0.5 * h)
    return h


@each(
    ("where, a leaky relu", Lambda(lambda x: torch.where(x > 0, x, 0.1 * x)), VECTOR),
    ("where, turned around", Lambda(lambda x: torch.where(x <= 0.3, x * 0 + 0.3, x)), VECTOR),
    ("where, an absolute value", Lambda(lambda x: torch.where(~(x < 0), x, -x)), VECTOR),
    ("where, different on both sides", Lambda(lambda x: torch.where(2 * x - 1 > 0, 3 - 2 * x, 5 * x - 0.5)), VECTOR),
    ("after a norm", nn.Sequential(nn.BatchNorm2d(3), Lambda(lambda x: torch.where(x > 0, x, x / 4))), IMAGE),
    ("where, a maximum", Lambda(lambda x, y=None: (lambda a, b: torch.where(a > b, a, b))(x, x.flip(1))), VECTOR),
    ("where, computed twice", Lambda(lambda x: torch.where(x > 1 - 2 * x, x, 1 - 2 * x)), VECTOR),
    ("where, with more in common", Lambda(lambda x: (lambda b: torch.where(x > 0, b + 3 * x, b))(x.flip(1))), VECTOR),
    ("where, a minimum", Lambda(lambda x: (lambda a, b: torch.where(a > b, b, a))(x, x.flip(1))), VECTOR),
    ("times a mask", Lambda(lambda x: x * (x > 0)), VECTOR),
    ("times a mask of numbers", Lambda(lambda x: (x >= 0).to(x.dtype) * x), VECTOR),
    ("masked fill by sign", Lambda(lambda x: x.masked_fill((x < 0).to(torch.bool), 0)), VECTOR),  # as ONNX has it
    ("of numbers", Lambda(lambda x: (lambda z: (z > 0.5) * (z - 0.5))(x * torch.arange(6.0) + (x * 0 + 1))), VECTOR),
    ("times a mask of whole numbers", Lambda(lambda x: (x > 0).long() * x), VECTOR),
    ("times its sign", Lambda(lambda x: torch.sign(x - 1) * (x - 1)), VECTOR),
    ("a sign times it", Lambda(lambda x: (3 - x) * torch.sgn(2 * x - 6)), VECTOR),
    (
        "of a layer called twice",
        Lambda(lambda x, w: torch.where((x @ w) @ w > 0, x @ w @ w, -2 * (x @ w @ w)), w=torch.randn(6, 6)),
        VECTOR,
    ),
    ("masked fill in place", Lambda(lambda x: x.clone().masked_fill_(x <= 1, 1.0)), VECTOR),
)
def test_selections_by_sign_are_bends(model: nn.Module, shape: tuple[int, ...]) -> None:
    net = assert_agrees(seeded(model), shape)
    assert net.n_units == net.n_in


@each(
    (
        "rows of all samples",
        Lambda(lambda x, w: (x.reshape(-1, 10) @ w).relu().reshape(-1, 3, 4), w=torch.randn(10, 4)),
        LINE,
    ),
    ("view by the length", Lambda(lambda x: torch.relu(x.view(-1, 10) - 1).view(len(x), -1)), LINE),
    ("sequence first", Lambda(lambda x, w: (x.transpose(0, 1) @ w).relu().transpose(0, 1), w=torch.randn(10, 4)), LINE),
    ("the last of a sequence", Lambda(lambda x: torch.relu(x.permute(1, 0, 2) + 1)[-1]), LINE),
    ("sums of two in sequence", Lambda(lambda x: (lambda h: (h + h.abs())[0])(x.transpose(0, 1))), LINE),
    ("a constant beside a sequence", Lambda(lambda x, c: (x.transpose(0, 1) * c)[0], c=torch.randn(3, 1, 10)), LINE),
    ("unrolled recurrence", Lambda(_recurrence), LINE),
    ("largest of a list", Lambda(lambda x: torch.stack([x, 2 * x - 1, -x]).max(0).values), VECTOR),
    ("smallest of a list", Lambda(lambda x: torch.stack([x, 2 * x - 1, -x], 0).min(dim=0)[0]), IMAGE),
    ("amax of a list", Lambda(lambda x: torch.stack([x, x.relu() - 1], dim=-3).amax(0) + 1), VECTOR),
    ("amin of a list of entries", Lambda(lambda x: torch.stack([x[:, 0], x[:, 1], x[:, 5]]).amin(dim=0)), VECTOR),
    ("sum of a list", Lambda(lambda x: torch.stack(tensors=[x, x.relu(), x.flip(1)]).sum(0, keepdim=True)[0]), LINE),
    ("mean of a list", Lambda(lambda x: torch.stack([x, x.abs()]).mean((0, -1))), LINE),
    (
        "a list beside its mean",
        Lambda(lambda x: (lambda s: (s - s.mean(0)).abs().sum(0))(torch.stack([x, x.relu()]))),
        LINE,
    ),
    ("one of a list", Lambda(lambda x: torch.stack([x, x.abs(), x.relu()]).relu()[1]), VECTOR),
    (
        "a list apart again",
        Lambda(lambda x: (lambda a, b: a - 2 * b.abs())(*torch.stack([x, x.relu()]).unbind())),
        LINE,
    ),
    ("a list put behind", Lambda(lambda x: torch.stack([x, x.abs(), x.relu()]).permute(1, 2, 0).amax(1)), VECTOR),
    ("a list within samples", Lambda(lambda x: torch.stack([x, x.abs()]).max(-1)[0].max(0)[0]), LINE),
    ("a list by hand", Lambda(lambda x: torch.cat([x[None], x.abs()[None] - 1, -2 * x[None]]).amax(0)), VECTOR),
    ("largest of a sequence", Lambda(lambda x: x.transpose(0, 1).max(0).values), LINE),
    ("sums along rows of all samples", Lambda(lambda x: x.reshape(-1, 10).amax(1).view(-1, 3).relu()), LINE),
)
def test_the_batch_axis_may_move_on_the_way(model: nn.Module, shape: tuple[int, ...]) -> None:
    assert_agrees(seeded(model), shape, count=50)


def test_constants_of_any_precision_are_read() -> None:
    half, listed = torch.randn(6, dtype=torch.float16), [torch.randn(6)]

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.layer(x) * half.float() + listed[0]) @ (torch.eye(6) * self.layer.bias)

    model, x = Model(), points(VECTOR)
    torch.testing.assert_close(creases.read(model)(x), model(x.float()).double(), rtol=1e-4, atol=1e-4)


def _augmented(x):
    y = x + 0
    y += 1
    y *= 2
    y -= x
    y /= 4
    return y


def test_hardsigmoid_agrees() -> None:
    """Its values; torch's own derivative is 1/6 rounded to float32, ours is not."""
    x = points(VECTOR)
    net = creases.read(Lambda(lambda x: F.hardsigmoid(4 * x)), VECTOR)
    torch.testing.assert_close(net(x), F.hardsigmoid(4 * x), rtol=1e-12, atol=1e-12)
    assert set(net.piece(x).J.flatten().tolist()) <= {0.0, 4 / 6}


def test_nothing_is_written_for_operations_that_do_nothing() -> None:
    model = nn.Sequential(
        nn.Identity(), nn.Dropout(), Lambda(lambda x: (x + 0) * 1), nn.LeakyReLU(1.0), Lambda(lambda x: x.view(-1, 6))
    )
    assert assert_agrees(model, VECTOR).steps == ()


def test_what_does_not_reach_the_output_is_left_out() -> None:
    def forward(x):
        F.relu(x + 1)
        return x * 2

    assert [step.op for step in assert_agrees(Lambda(forward), VECTOR).steps] == ["scale"]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")  # torch's own, of the model
def test_an_even_kernel_with_same_padding_agrees() -> None:
    assert_agrees(seeded(nn.Conv2d(3, 4, (4, 3), padding="same")), IMAGE)


def test_batch_norm_is_one_step() -> None:
    assert [step.op for step in assert_agrees(seeded(nn.BatchNorm2d(3)), IMAGE).steps] == ["scale"]


@pytest.mark.parametrize("size", [1e6, 1e12])
def test_large_terms_that_cancel_are_no_reason_to_refuse(size: float) -> None:
    class Cancel(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            cut = torch.clamp(size * x, 0.3, 0.5)
            return torch.clamp(size * x, -1e-9, 1e-9) + cut - cut / 3 * 3

    x = torch.tensor([[-1.0, 0.0, 2.0]], dtype=torch.float64)
    net = creases.read(Cancel(), (3,))
    torch.testing.assert_close(net(x), Cancel()(x), rtol=0, atol=1e-15 * size)
    behind = nn.Sequential(nn.Linear(3, 4), nn.Hardtanh(-0.25, 0.5), nn.Linear(4, 2))
    behind[0].weight.data.mul_(size)
    assert creases.read(behind).n_units == 8
