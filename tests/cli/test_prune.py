import json
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.prune._evaluation import losses_without


@pytest.fixture
def spare(tmp_path):
    """A network of two inputs with a dead unit (1) and a doubled one (3); written as .npz."""
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(5, 2)), 0.1 * rng.normal(size=5)
    b[1] = -100.0
    W[3], b[3] = 2 * W[0], 2 * b[0]
    np.savez(tmp_path / "spare.npz", W0=W, b0=b, W1=rng.normal(size=(2, 5)), b1=rng.normal(size=2))
    return tmp_path / "spare.npz"


def test_without_data_the_function_stays_and_the_reasons_are_told(run, spare, tmp_path):
    result = run("prune", spare, "--box", "-1,1", "--out", "small.safetensors")
    assert result.exit_code == 0, result.output
    assert "0: constant" in result.stdout
    assert "0: duplicate" in result.stdout
    with np.load(spare) as arrays:
        before = creases.read([(arrays["W0"], arrays["b0"]), (arrays["W1"], arrays["b1"])])
    after = creases.read(tmp_path / "small.safetensors")
    assert (before.n_units, after.n_units) == (5, 3)
    x = np.random.default_rng(1).uniform(-1, 1, (200, 2))
    np.testing.assert_allclose(after(x), before(x), atol=1e-9)


def test_the_result_is_printed_as_json(run, spare):
    result = run("prune", spare, "--box", "-1,1,-1,1", "--json")
    found = json.loads(result.stdout)
    assert found["parameters_after"] < found["parameters_before"]
    assert found["exact"]["bound"] <= 1e-6 * found["exact"]["scale"]
    assert [step["kind"] for step in found["exact"]["reductions"]] == ["constant", "duplicate"]
    assert found["files"] == []


@pytest.fixture
def moons(tmp_path):
    """A network of 16 units that knows the moons, as .safetensors."""
    from creases import problems

    problem = problems.get("moons", n=200)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2)).double()
    steps = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.from_numpy(problem.X), torch.from_numpy(problem.y)
    for _ in range(200):
        steps.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        steps.step()
    creases.read(model).save(tmp_path / "moons.safetensors")
    np.savetxt(
        tmp_path / "moons.csv", np.column_stack([problem.X, problem.y]), delimiter=",", header="a,b,c", comments=""
    )
    return tmp_path / "moons.safetensors"


@pytest.mark.parametrize("method", ["channels", "magnitude"])
def test_with_data_the_accuracy_is_kept(run, moons, tmp_path, method):
    words = ["--method", method, "--per-step", 4, "--epochs", 3, "--lr", 0.01, "--out", "small.onnx"]
    result = run("prune", moons, "--data", "moons.csv", *words, "--record", "steps.json")
    assert result.exit_code == 0, result.output
    for word in ("accuracy", "similarity", "steps", "parameters"):
        assert word in result.stdout
    found = json.loads((tmp_path / "steps.json").read_text())
    by_data = found["by_data"]
    kept = by_data["steps"][by_data["kept"] - 1] if by_data["kept"] else by_data["first"]
    assert kept["accuracy"] >= 0.99 * by_data["first"]["accuracy"]
    assert found["parameters_after"] <= found["parameters_before"]
    assert 0 <= found["similarity"] <= 1
    assert creases.read(tmp_path / "small.onnx").n_out == 2


def test_a_network_is_pruned_to_a_fraction_of_its_parameters(run, moons, tmp_path):
    words = ["--parameters", 0.5, "--epochs", 0, "--out", "small.safetensors", "--json"]
    result = run("prune", moons, "--data", "moons.csv", *words)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["parameters_after"] <= found["parameters_before"] / 2
    assert found["by_data"]["ended"] == "size"
    assert found["by_data"]["fixed"][0]["reason"] == "its units are the model's output"


def test_a_network_is_pruned_to_a_fraction_of_its_multiply_adds(run, moons, tmp_path):
    words = ["--multiply-adds", 0.5, "--epochs", 0, "--out", "small.safetensors", "--json"]
    result = run("prune", moons, "--data", "moons.csv", *words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["by_data"]["ended"] == "size"
    assert 0 < creases.read(tmp_path / "small.safetensors").n_units <= 8  # of 16; each has four multiply-adds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--multiply-adds", "0.5"], "left out without --data"),
        (["--multiply-adds", "inf", "--data", "moons.csv"], "a fraction above 0 and up to 1, or a positive integer"),
        (["--multiply-adds", "0.5", "--parameters", "0.5", "--data", "moons.csv"], "left out with --parameters"),
        (["--parameters", "1.5", "--data", "moons.csv"], "a fraction above 0 and up to 1, or a positive integer"),
        (["--parameters", "0.5"], "left out without --data"),
        (["--parameters", "0.5", "--data", "moons.csv", "--method", "magnitude"], "left out with --method magnitude"),
    ],
)
def test_a_size_that_makes_no_sense_is_refused(run, moons, words, message):
    result = run("prune", moons, *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_ctrl_c_writes_the_smallest_network_so_far(run, moons, tmp_path, monkeypatch):
    room, calls = import_module("creases.prune._by_data"), []

    def stopping(model, groups, X, y):
        calls.append(model[0].out_features)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return losses_without(model, groups, X, y)

    monkeypatch.setattr(room, "losses_without", stopping)
    result = run("prune", moons, "--data", "moons.csv", "--keep-accuracy", 0.5, "--out", "small.safetensors")
    assert result.exit_code == 130
    assert "Interrupted. This is the smallest network so far" in " ".join(result.stderr.split())
    assert creases.read(tmp_path / "small.safetensors").n_units == calls[0] - 2


def test_torch_modules_in_code_are_pruned(run, code):
    result = run("prune", "own_models.py:build", "--box", "-1,1", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["parameters_before"] == 13


def test_an_onnx_file_is_pruned_into_another(run, moons, tmp_path):
    creases.read(moons).save(tmp_path / "net.onnx")
    result = run("prune", "net.onnx", "--data", "moons", "--per-step", "12", "--out", "small.onnx")
    assert result.exit_code == 0, result.output
    small = creases.read(tmp_path / "small.onnx")
    assert small.n_units <= 4 or "0 of 1 kept" in result.stdout
    x = torch.randn(20, 2, dtype=torch.float64)
    torch.testing.assert_close(small.module()(x), small(x))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "moons", "--lr", "-1"], "--lr must be a finite number at least 0, got -1"),
        (["--keep-accuracy", "99"], "--keep-accuracy must be a fraction above 0"),
        (["--out", "small.pt"], "--out must be a file name ending in .safetensors"),
        (["--box", "1,2,3"], "--box must be pairs lo,hi, one for each input, got 3 numbers"),
        (["--data", "moons", "--box", "0,1"], "--box must be left out with data, whose range is the box"),
        (["--data", "iris"], "--data must have 2 inputs, as the network, got 4 in iris"),
        (
            ["--data", "diabetes"],
            "--data must have classes, to measure an accuracy, got numbers to predict in diabetes",
        ),
        (["--data", "nothing"], "--data must be a file or a built-in problem: sine"),
    ],
)
def test_wrong_options_are_refused_in_one_line(run, spare, words, message):
    result = run("prune", spare, *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_file_that_cannot_be_rebuilt_says_what_to_do(run, tmp_path):
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return x + torch.relu(self.inner(x))

    creases.read(Residual(), (2,)).save(tmp_path / "net.safetensors")
    result = run("prune", "net.safetensors")
    assert result.exit_code == 2
    assert "give the torch module itself: path.py:name" in " ".join(result.stderr.split())
