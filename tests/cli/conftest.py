import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from creases.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command line in an empty folder: ``run("map", "net.npz")``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")

    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


@pytest.fixture
def weights():
    """f = relu(x1) + relu(x2) - 0.5: four regions, the boundary from (0.5, -1) by (0.5, 0) to (-1, 0.5)."""
    return {"W0": np.eye(2), "b0": np.zeros(2), "W1": np.ones((1, 2)), "b1": np.array([-0.5])}


@pytest.fixture
def fold(weights, tmp_path):
    np.savez(tmp_path / "fold.npz", **weights)
    return tmp_path / "fold.npz"


@pytest.fixture
def wide(tmp_path):
    """A network of five inputs and three classes."""
    rng = np.random.default_rng(0)
    shapes = [(24, 5), (3, 24)]
    arrays = {f"W{i}": rng.normal(size=shape) for i, shape in enumerate(shapes)}
    arrays |= {f"b{i}": rng.normal(size=shape[0]) for i, shape in enumerate(shapes)}
    np.savez(tmp_path / "wide.npz", **arrays)
    return tmp_path / "wide.npz"


CODE = """
import torch

def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))

ready = build()
number = 3
"""


@pytest.fixture
def code(tmp_path):
    """A Python file with a torch module and a function that makes one; and the module, in float64."""
    (tmp_path / "own_models.py").write_text(CODE)
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).double()
