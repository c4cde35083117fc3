from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner, Result

import creases
from creases.cli import app

RNG = np.random.default_rng(0)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, seed, units in (("old", 0, 5), ("new", 1, 7), ("third", 2, 7)):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, units), nn.ReLU(), nn.Linear(units, 2))
        creases.read(model).save(tmp_path / f"{name}.safetensors")
    X = RNG.normal(size=(60, 3))
    np.savez(tmp_path / "data.npz", X=X, y=(X[:, 0] > 0).astype(int))
    np.savez(tmp_path / "unlabelled.npz", X=X)
    return tmp_path


def test_three_networks_end_in_tables_pictures_and_one_page(folder: Path) -> None:
    nets = [folder / f"{name}.safetensors" for name in ("old", "new", "third")]
    result = run(*nets, "--data", folder / "data.npz", "--samples", 40, "--train", 20, "--out", folder / "out")
    assert result.exit_code == 0, result.output
    for said in ("3 networks at 40 rows", "from old (a) to new (b)", "accuracy after mapping", "% "):
        assert said in result.stdout
    written = sorted(path.name for path in (folder / "out").iterdir())
    pictures = ["agreement.png", "cka.png", "cross_entropy.png", "distance.png", "mapped.png"]
    assert written == sorted([*pictures, "comparison.json", "report.html"])
    page = (folder / "out" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 5
    assert "http" not in page  # opened without a network, nothing is missing


def test_json_holds_every_measure(folder: Path) -> None:
    result = run(folder / "old.safetensors", folder / "new.safetensors", "--data", folder / "unlabelled.npz", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["names"] == ["old", "new"]
    assert found["accuracy"] is found["mapped"] is None
    old, new = (creases.read(folder / f"{name}.safetensors") for name in ("old", "new"))
    X = np.load(folder / "unlabelled.npz")["X"]
    assert found["agreement"][0][1] == np.mean(old(X).argmax(1) == new(X).argmax(1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["old.safetensors"], "expected at least two networks to compare"),
        (["old.safetensors", "old.safetensors"], "a network is given twice"),
        (["old.safetensors", "none.safetensors"], "there is no file"),
        (["old.safetensors", "new.safetensors", "--normalise"], "--normalise: is for images"),
        (["old.safetensors", "new.safetensors", "--samples", "50", "--train", "20"], "has 60 rows, fewer than"),
        (["old.safetensors", "new.safetensors", "--out", "data.npz"], "is a file; give a folder"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    result = run(*words, "--data", "data.npz")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.data
@pytest.mark.skipif("CREASES_DATA" not in os.environ, reason="CREASES_DATA names no folder with the image data")
def test_images_are_made_to_fit_the_network(folder: Path) -> None:
    for name, seed in (("a", 0), ("b", 1)):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 4), nn.ReLU(), nn.Linear(4, 10))
        creases.read(model, (3, 32, 32)).save(folder / f"{name}.safetensors")
    nets = [folder / "a.safetensors", folder / "b.safetensors"]
    result = run(*nets, "--data", "mnist", "--samples", 20, "--normalise")
    assert result.exit_code == 0, result.output
    assert "20 test images of mnist, normalised pixels" in result.stdout
    wrong = run(folder / "old.safetensors", folder / "new.safetensors", "--data", "mnist")
    assert "images of mnist have 784 pixels, the network takes 3 numbers" in " ".join(wrong.stderr.split())
