"""Networks written as ONNX files compute the same function in ONNX's evaluator and when read back."""

import builtins

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import seeded
from creases.errors import FileError, InputError

reference = pytest.importorskip("onnx.reference")


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 3), nn.Linear(3, 3), nn.Linear(6, 2)

    def forward(self, x):
        h = self.a(x).relu()
        h = 2.0 * h - self.b(h) + 1.0
        return self.c(torch.cat([h, (0.5 - h).abs()], dim=1))


MODELS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), (4,)),
    "leaks": (lambda: nn.Sequential(nn.Linear(4, 5), nn.LeakyReLU(0.1), nn.Linear(5, 3), nn.PReLU(3)), (4,)),
    "branches": (Branches, (4,)),
    "conv": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=2, dilation=1), nn.Flatten(),
            nn.Linear(16, 2),
        ),
        (2, 8, 8),
    ),
    "nothing": (nn.Identity, (3,)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_written_network_computes_what_it_is(name, tmp_path):
    make, shape = MODELS[name]
    net = creases.read(seeded(make()), shape)
    path = net.save(tmp_path / "net.onnx")
    x = np.random.default_rng(0).normal(size=(7, *shape))
    (output,) = reference.ReferenceEvaluator(str(path)).run(None, {"x": x})
    assert np.allclose(output, net(x), rtol=1e-12, atol=1e-12)
    again = creases.read(path)
    assert np.allclose(again(x), net(x), rtol=1e-12, atol=1e-12)
    assert again.n_units == net.n_units


def test_what_cannot_be_written_is_named(tmp_path):
    net = creases.read(nn.Sequential(nn.AvgPool1d(2), nn.Flatten()), (1, 4))
    with pytest.raises(
        InputError, match=r"to be written as ONNX, got avg_pool in step 0 \(0\); save it as \.safetensors"
    ):
        net.save(tmp_path / "net.onnx")
    assert not list(tmp_path.iterdir())


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(FileError, match=r"needs the onnx package; pip install creases\[onnx\]"):
        creases.read([([[1.0]], [0.0])]).save(tmp_path / "net.onnx")
