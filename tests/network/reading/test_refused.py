"""Errors of reading name the place, the operation and what to do."""

from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import creases
from agreement import Lambda
from creases.errors import InputError, ReadError


class Named(nn.Module):
    """A layer deep in a model, with something after it."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4)), nn.Sequential()])
        self.blocks[1].add_module("act", layer)
        self.head = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@pytest.mark.parametrize(
    ("layer", "name", "why"),
    [
        (nn.GELU(), "GELU", "smooth.*replace it with ReLU.*train again"),
        (nn.SiLU(), "SiLU", "smooth"),
        (nn.Sigmoid(), "Sigmoid", "smooth"),
        (nn.Tanh(), "Tanh", "smooth.*Hardtanh"),
        (nn.ELU(), "ELU", "smooth"),
        (nn.SELU(), "SELU", "smooth"),
        (nn.CELU(), "CELU", "smooth"),
        (nn.Mish(), "Mish", "smooth"),
        (nn.Softplus(), "Softplus", "smooth"),
        (nn.Softsign(), "Softsign", "smooth"),
        (nn.Hardswish(), "Hardswish", "smooth"),
        (nn.Softmax(1), "Softmax", "smooth"),
        (nn.LogSoftmax(1), "LogSoftmax", "smooth"),
        (nn.LayerNorm(4), "LayerNorm", "divides by statistics.*BatchNorm"),
        (nn.GroupNorm(2, 4), "GroupNorm", "divides by statistics"),
        (nn.Hardshrink(), "Hardshrink", "not continuous"),
        (nn.Threshold(0.5, 0.0), "Threshold", "jumps from 0.0 to 0.5.*only threshold == value"),
        (
            nn.BatchNorm1d(4, track_running_stats=False),
            "BatchNorm1d",
            "statistics of the batch.*track_running_stats=True",
        ),
        (nn.Bilinear(4, 4, 4), "Bilinear", ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_the_module_and_the_remedy_are_named(layer: nn.Module, name: str, why: str) -> None:
    with pytest.raises(ReadError, match=rf"blocks\.1\.act \({name}\): .*{why}"):
        creases.read(Named(layer).eval())


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x + torch.sigmoid(x), r"sigmoid\(\): is smooth"),
        (lambda x: x * x, r"mul\(\): multiplies two network values"),
        (lambda x: x @ x.mT, r"batch axis must remain first"),
        (lambda x: x**2, r"pow\(\): powers are not piecewise linear"),
        (lambda x: 1 / x, r"divides by a network value|reciprocal"),
        (lambda x: x / x.sum(1, keepdim=True), r"divides by a network value"),
        (lambda x: torch.where(x > 0, x, x + 1), r"where\(\): selects between values that differ .* a jump"),
        (lambda x: torch.where(x > 0, x + torch.relu(x - 9), 0 * x), r"selects by the sign of a value between others"),
        (lambda x: (x > 0) * 1.0, r"mul\(\): selects between values that differ"),
        (lambda x: torch.sign(x) * 2, r"mul\(\): selects between values that differ"),
        (lambda x: torch.sign(x).bool() * x, r"bool\(\): rounds network values"),
        (lambda x: torch.logical_not(torch.sign(x)) * x, r"logical_not\(\): compares or rounds"),
        (lambda x: (x > 0).sum(1), r"sum\(\): compares or rounds"),
        (lambda x: x > 0, r"compares or rounds"),
        (lambda x: x if x.sum() > 0 else -x, r"__bool__\(\): .*control flow depends on the data"),
        (lambda x: x if (x > 0).all() else -x, r"__bool__\(\): .*control flow depends on the data"),
        (lambda x: x * float(x[0, 0]), r"__float__\(\): .*control flow depends on the data"),
        (lambda x: torch.from_numpy(x.numpy()), r"numpy\(\): turns a network value into a Python number"),
        (lambda x: x + 1 / 0, r"model \(Lambda\): fails on a batch of shape \(2, 4\): division by zero"),
        (lambda x: x * x.max(1).values.tolist()[0], r"control flow depends on the data"),
        (lambda x: x + x.norm(dim=1, keepdim=True), r"norm\(\): squares network values"),
        (lambda x: x.cumsum(0), r"cumsum\(\): acts along the batch axis"),
        (lambda x: x.sort(1).values, r"sort\(\): orders network values"),
        (lambda x: torch.relu(x.t()).cumsum(0), r"t\(\): .*batch axis"),
        (lambda x: x.round() + x, r"round\(\): compares or rounds"),
        (lambda x: x.long() + x, r"long\(\): rounds network values to integers"),
        (lambda x: x.to(torch.int64) + x, r"rounds network values to integers"),
        (lambda x: x + torch.randn_like(x), r"randn_like\(\): uses random numbers"),
        (lambda x: F.dropout(x), r"dropout\(\): drops entries at random.*training=self.training"),
        (lambda x: F.rrelu(x, training=True), r"rrelu\(\): draws its slope at random"),
        (lambda x: x - x.mean(0), r"mean\(\): acts along the batch axis"),
        (lambda x: x.sum(), r"sum\(\): reduces over all axes"),
        (lambda x: x.t(), r"t\(\): .*batch axis"),
        (lambda x: x.t().sum(1), r"sum\(\): acts along the batch axis"),
        (lambda x: torch.sigmoid(x.t()).t() + 1, r"sigmoid\(\): is smooth"),
        (lambda x: x.t().softmax(0).t(), r"softmax at the end of a model"),
        (lambda x: torch.stack([x, -x]), r"stack\(\): puts a list before the batch axis, which must remain first"),
        (lambda x: torch.stack([x > 0, x > 1]).sum(0), r"stack\(\): compares or rounds"),
        (lambda x: torch.stack([x, -x]).max(1).values, r"max\(\): acts along the batch axis"),
        (lambda x: torch.stack([x, -x]).max(0).indices * 1.0, r"max\(\): the positions of a maximum"),
        (lambda x: x.permute(1, 0), r"permute\(\): moves the batch axis"),
        (lambda x: x.flatten(), r"flatten\(\): the batch axis must remain first"),
        (lambda x: x.flip(0), r"flip\(\): entries move between the samples"),
        (lambda x: torch.cat([x, x]), r"cat\(\): acts along the batch axis"),
        (lambda x: x + torch.arange(len(x))[:, None], r"add\(\): a constant of shape .* not the same for every sample"),
        (lambda x: x + torch.ones(5, 1, 4), r"add\(\): a constant of shape \(5, 1, 4\)"),
        (lambda x: x + x[:, None], r"different numbers of axes"),
        (lambda x: x.topk(2).values + 1, r"topk\(\): orders network values"),
        (lambda x: x.max(1).indices * 1.0, r"positions of a maximum"),
        (lambda x: F.max_pool1d(x[:, None], 2, return_indices=True)[0] + 1, r"1d_with_indices\(\): .*positions"),
        (lambda x: torch.fft.fft(x), r"fft_fft\(\): is not an operation that creases reads"),
        (lambda x: torch.add(x, 1, out=torch.empty(2, 4)), r"add\(\): is called in a way"),
        (lambda x: x / 0, r"factor of this step has NaN or infinite"),
    ],
)
def test_functions_are_named(function, why: str) -> None:
    with pytest.raises(ReadError, match=why):
        creases.read(Lambda(function), (4,))


def test_writing_into_tensors_is_refused() -> None:
    def into_constant(x: Tensor) -> Tensor:
        out = torch.zeros(2, 4)
        out += x
        return out

    def into_part(x: Tensor) -> Tensor:
        y = x.clone()
        y[:, 0] = 0
        return y

    def through_a_view(x: Tensor) -> Tensor:
        y = x + 1
        y.view(-1, 2, 2).relu_()
        return y * 2

    def through_a_cast(x: Tensor) -> Tensor:
        y = x.half()
        y.relu_()
        return x * 2

    for function, why in [
        (through_a_cast, r"mul\(\): uses a tensor that was changed in place through another view"),
        (into_constant, "writes network values into a constant"),
        (into_part, r"__setitem__\(\): writes into part of a tensor"),
        (through_a_view, r"mul\(\): uses a tensor that was changed in place through another view"),
    ]:
        with pytest.raises(ReadError, match=why):
            creases.read(Lambda(function), (4,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.softmax(x, 0),  # over the samples
        lambda x: F.softmax(x, 1)[:, :1],  # one probability does not decide
        lambda x: torch.tanh(x),
        lambda x: torch.argmax(x, 1),
    ],
)
def test_what_does_not_keep_all_scores_is_refused_at_the_end_of_a_model(function) -> None:
    with pytest.raises(ReadError, match=r"at the end|is smooth|is not continuous|Have forward return its input"):
        creases.read(Lambda(function), (3,))


def test_recurrent_layers_and_attention_are_refused() -> None:
    class First(nn.Module):
        def __init__(self, layer: nn.Module, arguments: int) -> None:
            super().__init__()
            self.layer, self.arguments = layer, arguments

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(*[x] * self.arguments)[0] + 1

    with pytest.raises(ReadError, match=r"model \(LSTM\): is a recurrent layer"):
        creases.read(nn.LSTM(4, 3), (5, 4))
    with pytest.raises(ReadError, match=r"layer \(LSTM\)"):
        creases.read(First(nn.LSTM(4, 3, batch_first=True), 1), (5, 4))
    with pytest.raises(ReadError, match=r"layer \(MultiheadAttention\): multiplies network values"):
        creases.read(First(nn.MultiheadAttention(4, 1, batch_first=True), 3), (5, 4))


def test_models_that_are_not_one_function_of_one_tensor_are_refused() -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return x + y

    with pytest.raises(ReadError, match=r"several inputs \(x, y\).*wrap it"):
        creases.read(Two(), (2,))
    with pytest.raises(ReadError, match="output is a tuple, not a tensor; wrap it"):
        creases.read(Lambda(lambda x: (x, x)), (2,))
    with pytest.raises(ReadError, match="output does not depend on its input"):
        creases.read(Lambda(lambda x: torch.zeros(2, 2)), (2,))
    with pytest.raises(ReadError, match=r"add \(add\): the model computes a different function on a different batch"):
        creases.read(Lambda(lambda x: x + random.random()), (2,))
    with pytest.raises(ReadError, match=r"mul \(scale\): the model computes a different function on a different batch"):
        creases.read(Lambda(lambda x: x.relu() * len(x)), (2,))


def test_hooks_are_refused() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    handle = model[1].register_forward_hook(lambda module, args, out: out * 2)
    with pytest.raises(ReadError, match=r"1 \(ReLU\): has forward hooks.*handle\.remove\(\)"):
        creases.read(model)
    handle.remove()
    creases.read(model)


def test_bad_weights_are_named() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    model[0].bias.data[1] = float("nan")
    with pytest.raises(InputError, match=r"finite weights, got NaN or infinite entries in '0\.bias'"):
        creases.read(model)
    model[0].bias.data[1] = 0
    model[1].running_var[0] = float("inf")
    with pytest.raises(InputError, match=r"NaN or infinite entries in '1\.running_var'"):
        creases.read(model)
    with pytest.raises(InputError, match=r"got lazy '0\.weight'; run the model once"):
        creases.read(nn.Sequential(nn.LazyLinear(2)))
    with pytest.raises(InputError, match="real weights, got complex"):
        creases.read(nn.Linear(2, 2, dtype=torch.complex64))


def test_a_wrong_input_shape_is_named() -> None:
    with pytest.raises(ReadError, match=r"0 \(Linear\): .*batch of shape \(2, 5\).*Is input_shape right\?"):
        creases.read(nn.Sequential(nn.Linear(4, 2)), (5,))
    expected = r"input_shape must be a sequence of positive integers such as \(3, 32, 32\)"
    with pytest.raises(InputError, match=rf"{expected}, got \(0,\)"):
        creases.read(nn.ReLU(), (0,))
    with pytest.raises(InputError, match=f"{expected}, got 4"):
        creases.read(nn.Linear(4, 2), 4)
    with pytest.raises(InputError, match=r"input_shape must be that of the model, \(2,\), got \(3,\)"):
        creases.read([([[1.0, 1.0]], [0.0])], (3,))


def test_other_things_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match=r"model must be a torch\.nn\.Module, a file name .* got dict"):
        creases.read({"weight": 1})
    with pytest.raises(InputError, match=r"leak must be 0 unless .* arrays, got 0\.1 with a ReLU"):
        creases.read(nn.ReLU(), (2,), leak=0.1)
    with pytest.raises(creases.errors.FileError, match=r"model\.pt: \.pt files are pickles.*pass the module.*\.onnx"):
        creases.read(tmp_path / "model.pt")
    with pytest.raises(creases.errors.FileError, match=r"a network is an \.onnx, \.safetensors or \.npz file"):
        creases.read(str(tmp_path / "model.json"))
    with pytest.raises(creases.errors.FileError, match="no such file"):
        creases.read(tmp_path / "model.onnx")
