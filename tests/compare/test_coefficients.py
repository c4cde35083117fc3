from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import creases
from agreement import seeded
from creases.compare import Coefficients, coefficients
from creases.compare._coefficients import factorise
from creases.errors import FileError, InputError


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.out = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(x + torch.relu(self.b(torch.relu(self.a(x)))))
        return out


MODELS = {
    "linear": (nn.Linear(12, 3), (12,)),
    "dense": (nn.Sequential(nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 3)), (12,)),
    "deep": (nn.Sequential(nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 9), nn.LeakyReLU(0.1), nn.Linear(9, 3)), (12,)),
    "wide": (nn.Sequential(nn.Linear(2, 20), nn.ReLU(), nn.Linear(20, 3)), (2,)),
    "flattened": (nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 2)), (3, 2, 2)),
    "convolution": (
        nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3)),
        (2, 6, 6),
    ),
    "batch norm": (
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3)).eval(),
        (1, 6, 6),
    ),
    "residual": (Residual(), (12,)),
}


def jacobians(model: nn.Module, x: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.jacrev(lambda one: model(one[None])[0]))(x).flatten(2)


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_autograds_jacobians_and_offsets(name: str) -> None:
    model, shape = MODELS[name]
    model = seeded(model.double())
    x = torch.randn(7, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    C = coefficients(creases.read(model, shape), x)
    J, out = jacobians(model, x), model(x)
    for j in range(C.n_out):
        rows = C.rows(j)
        assert (rows[:, :-1] - J[:, j]).abs().max() < 1e-10
        assert (rows[:, -1] - (out - torch.einsum("bmd,bd->bm", J, x.flatten(1)))[:, j]).abs().max() < 1e-10
    assert (C.values - out).abs().max() < 1e-10


def test_rows_behind_a_narrow_layer_are_kept_as_isometric_coordinates() -> None:
    model, shape = MODELS["dense"]
    x = torch.randn(9, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    C = coefficients(creases.read(seeded(model.double()), shape), x)
    assert C.features.shape == (3, 9, 6)  # 5 units and the offset in place of 13 columns
    for j in range(3):
        full, kept = C.rows(j), C.features[j]
        assert torch.allclose(full @ full.T, kept @ kept.T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("name", "narrow"), [("linear", True), ("deep", True), ("wide", False), ("residual", False)])
def test_only_a_narrow_first_layer_that_nothing_passes_around_is_split_off(name: str, narrow: bool) -> None:
    model, shape = MODELS[name]
    assert (factorise(creases.read(model.double(), shape)) is not None) == narrow


@pytest.mark.parametrize("name", ["linear", "dense", "convolution"])
def test_float32_agrees_with_float64_to_its_precision(name: str) -> None:
    model, shape = MODELS[name]
    net = creases.read(seeded(model.double()), shape)
    x = torch.randn(5, *shape, generator=torch.Generator().manual_seed(3))
    single, double = coefficients(net, x, dtype=torch.float32), coefficients(net, x)
    assert single.features.dtype == torch.float32
    assert (single.features - double.features).abs().max() < 1e-5


class Killed(Exception):
    pass


def kept(folder: Path, x: Tensor, stop_after: int | None = None) -> Coefficients:
    def progress(what: str, done: int, total: int | None) -> None:
        assert what == "coefficients"
        if stop_after is not None and done >= stop_after:
            raise Killed

    model, shape = MODELS["deep"]
    return coefficients(creases.read(seeded(model.double()), shape), x, out=folder, progress=progress)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("creases.compare._coefficients"), "BLOCK", 4000)  # a few samples at a time
    x = torch.randn(60, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    with pytest.raises(Killed):
        kept(tmp_path, x, stop_after=10)
    seen: list[int] = []
    model, shape = MODELS["deep"]
    net = creases.read(seeded(model.double()), shape)
    resumed = coefficients(net, x, out=tmp_path, progress=lambda what, done, total: seen.append(done))
    whole = coefficients(net, x)
    assert seen[0] > 10
    assert seen[-1] == 60
    assert torch.equal(resumed.features, whole.features)
    assert torch.equal(resumed.values, whole.values)


def test_a_folder_of_another_network_or_other_samples_is_refused(tmp_path: Path) -> None:
    x = torch.randn(6, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    kept(tmp_path, x)
    with pytest.raises(InputError, match="must hold coefficients of the same network, samples and dtype"):
        kept(tmp_path, x + 1)
    (tmp_path / "done.json").write_text("{")
    with pytest.raises(FileError, match="remove the folder to start again"):
        kept(tmp_path, x)


@pytest.mark.parametrize("name", ["features.npy", "values.npy"])
@pytest.mark.parametrize("damage", ["cut", "dtype", "shape", "gone"])
def test_a_folder_with_a_damaged_array_is_refused(name: str, damage: str, tmp_path: Path) -> None:
    net, rows = creases.read(nn.Linear(2, 3).double()), torch.ones(4, 2, dtype=torch.float64)
    coefficients(net, rows, out=tmp_path)
    array, content = np.load(tmp_path / name), (tmp_path / name).read_bytes()
    match damage:
        case "cut":  # numpy would fill it with zeros
            (tmp_path / name).write_bytes(content[:-16])
        case "dtype":
            np.save(tmp_path / name, array.astype(np.float32))
        case "shape":
            np.save(tmp_path / name, array[:1])
        case _:
            (tmp_path / name).unlink()
    with pytest.raises(FileError, match=name):
        coefficients(net, rows, out=tmp_path)


def test_no_samples_give_empty_matrices() -> None:
    C = coefficients(creases.read(seeded(MODELS["dense"][0].double())), np.zeros((0, 12)))
    assert C.features.shape == (3, 0, 6)


def test_one_sample_alone_and_other_dtypes_are_refused() -> None:
    net = creases.read(seeded(MODELS["dense"][0].double()))
    with pytest.raises(InputError, match=r"X must be a batch of samples \(p, 12\), got a single sample"):
        coefficients(net, np.zeros(12))
    with pytest.raises(InputError, match=r"dtype must be torch.float32 or torch.float64"):
        coefficients(net, np.zeros((1, 12)), dtype=torch.float16)
