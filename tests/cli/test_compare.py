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


@pytest.mark.slow
def test_three_networks_end_in_tables_pictures_and_one_page(folder: Path) -> None:
    nets = [folder / f"{name}.safetensors" for name in ("old", "new", "third")]
    result = run(*nets, "--data", folder / "data.npz", "--samples", 40, "--train", 20, "--out", folder / "out")
    assert result.exit_code == 0, result.output
    for said in ("3 networks at 40 rows", "from old (a) to new (b)", "Accuracy after mapping", "%"):
        assert said in result.stdout
    written = sorted(path.name for path in (folder / "out").iterdir())
    pictures = ["agreement.png", "cka.png", "cross_entropy.png", "distance.png", "mapped.png"]
    assert written == sorted([*pictures, "comparison.json", "networks", "report.html", "samples.npz"])
    told = json.loads((folder / "out" / "comparison.json").read_text())
    kept = [creases.read(folder / "out" / name) for name in told["networks"]]
    x = np.load(folder / "out" / told["kept_samples"])["X"]
    assert all(np.array_equal(a(x), creases.read(b)(x)) for a, b in zip(kept, nets, strict=True))


def test_json_holds_every_measure(folder: Path) -> None:
    result = run(folder / "old.safetensors", folder / "new.safetensors", "--data", folder / "unlabelled.npz", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["names"] == ["old", "new"]
    assert found["accuracy"] is found["mapped"] is None
    old, new = (creases.read(folder / f"{name}.safetensors") for name in ("old", "new"))
    X = np.load(folder / "unlabelled.npz")["X"]
    assert found["agreement"][0][1] == np.mean(old(X).argmax(1) == new(X).argmax(1))


def test_a_table_with_named_classes_is_read_as_prune_reads_it(folder: Path) -> None:
    X = np.load(folder / "data.npz")["X"]
    kinds = np.where(X[:, 0] > 0, "rose", "daisy")  # in their order: daisy 0, rose 1
    lines = [",".join([kind, *map(repr, row.tolist())]) for kind, row in zip(kinds, X, strict=True)]
    (folder / "table.csv").write_text("\n".join(["kind,a,b,c", *lines]))
    nets = [folder / "old.safetensors", folder / "new.safetensors"]
    result = run(*nets, "--data", folder / "table.csv", "--target", "kind", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    classes = creases.read(nets[0])(X).argmax(1)
    assert found["accuracy"][0] == np.mean(classes == (X[:, 0] > 0))
    assert any("of 60 samples" in sentence for sentence in found["changes"])
    (folder / "plain.csv").write_text("\n".join(line.split(",", 1)[1] for line in lines))
    plain = run(*nets, "--data", folder / "plain.csv", "--json")
    assert json.loads(plain.stdout)["accuracy"] is None
    narrow = run(*nets, "--data", folder / "table.csv", "--target", "a")
    assert "must have 3 input columns, as the network, got 4 beside 'a'" in " ".join(narrow.stderr.split())


def test_numbers_are_the_outputs_also_where_a_table_lacks_some(folder: Path) -> None:
    (folder / "few.csv").write_text("a,b,c,y\n1,2,3,1\n2,2,3,0\n3,1,1,1\n0,1,1,0\n")
    from creases.cli._model import read_points

    points, classes = read_points(folder / "few.csv", None, 3, 2)
    assert points.shape == (4, 3)
    assert classes is not None
    assert classes.tolist() == [1, 0, 1, 0]
    (folder / "some.csv").write_text("a,b,c,y\n1,2,3,7\n2,2,3,3\n3,1,1,7\n0,1,1,3\n")
    for outputs, expected in ((10, [7, 3, 7, 3]), (2, [1, 0, 1, 0])):
        classes = read_points(folder / "some.csv", None, 3, outputs)[1]
        assert classes is not None
        assert classes.tolist() == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["old.safetensors"], "must be at least two networks, got one"),
        (["old.safetensors", "old.safetensors"], "must be different networks, got the same twice"),
        (["old.safetensors", "none.safetensors"], "cannot read none.safetensors: there is no such file"),
        (
            ["old.safetensors", "new.safetensors", "--normalise"],
            "--normalise must be left out for files; it is for images",
        ),
        (
            ["old.safetensors", "new.safetensors", "--samples", "50", "--train", "20"],
            "--train must leave 50 of the 60 rows of data.npz to compare at, got 20",
        ),
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


@pytest.mark.slow
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
    error = " ".join(wrong.stderr.split())
    assert "--data must have 3 inputs, as the network, got images of mnist with 784 pixels" in error


def test_classes_that_are_no_numbers_are_refused(folder: Path) -> None:
    np.savez(folder / "named.npz", X=np.zeros((2, 3)), y=np.array(["a", "b"]))
    result = run(folder / "old.safetensors", folder / "new.safetensors", "--data", folder / "named.npz")
    assert result.exit_code == 2
    assert "must hold integers as classes y, got 'a'" in " ".join(result.stderr.split())


@pytest.mark.slow
def test_two_networks_end_in_a_page_of_what_they_decide_differently(folder: Path) -> None:
    nets = [folder / "old.safetensors", folder / "new.safetensors"]
    result = run(*nets, "--data", folder / "data.npz", "--out", folder / "out")
    assert result.exit_code == 0, result.output
    written = sorted(path.name for path in (folder / "out").iterdir())
    assert written == ["comparison.json", "networks", "report.html", "samples.npz"]
    X = np.load(folder / "data.npz")["X"]
    a, b = (creases.read(net)(X).argmax(1) for net in nets)
    differ = np.flatnonzero(a != b)
    told = json.loads((folder / "out" / "comparison.json").read_text())
    assert told["decided_differently"] == differ.tolist()
    rows = [{"sample": int(i), "a": int(a[i]), "b": int(b[i]), "truth": int(X[i, 0] > 0)} for i in differ]
    assert len(told["listed"]) == min(20, len(differ)) > 0
    assert all(row in rows for row in told["listed"])
