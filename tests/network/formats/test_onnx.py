"""Networks written as ONNX files compute the same function in ONNX's evaluator and when read back."""

import builtins

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import Lambda, seeded
from creases.errors import FileError
from one_step import NETWORKS

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
    "branches": (Branches, (4,)),
    "nothing": (nn.Identity, (3,)),
    "empty parts": (lambda: Lambda(lambda x: torch.cat([x, torch.cat([x[:, 4:], x[:, 4:]], 1)], 1)), (4,)),
    "an empty part": (lambda: Lambda(lambda x: torch.cat([x.relu(), x[:, 4:].abs()], dim=1)), (4,)),
}


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


@pytest.mark.parametrize("name", NETWORKS)
def test_every_operation_is_written_as_what_it_computes(name, tmp_path):
    net = NETWORKS[name]
    path = net.save(tmp_path / "net.onnx")
    x = np.random.default_rng(0).normal(size=(5, *net.input_shape))
    assert np.allclose(creases.read(path)(x), net(x), rtol=1e-12, atol=1e-12)
    if "conv_transpose" not in name:  # ONNX's evaluator fails on groups
        (output,) = reference.ReferenceEvaluator(str(path)).run(None, {"x": x})
        assert np.allclose(output, net(x), rtol=1e-12, atol=1e-12)
    runtime = pytest.importorskip("onnxruntime")
    path = net.to(torch.float32).save(tmp_path / "single.onnx")
    kind = np.float32 if net.to(torch.float32).dtype == torch.float32 else np.float64
    (output,) = runtime.InferenceSession(str(path)).run(None, {"x": x.astype(kind)})
    assert np.allclose(output, net(x), rtol=1e-5, atol=1e-5)


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(FileError, match=r"needs the onnx package; pip install creases\[onnx\]"):
        creases.read([([[1.0]], [0.0])]).save(tmp_path / "net.onnx")
