"""``creases lipschitz`` prints the constant and writes a proof that ``creases check`` verifies."""

from __future__ import annotations

import json

from typer.testing import CliRunner

import creases
from creases.cli import app


def run(*words: str):
    return CliRunner().invoke(app, list(words))


def test_the_constant_of_a_file_with_its_proof(tmp_path) -> None:
    path, proof = str(tmp_path / "net.onnx"), str(tmp_path / "proof.json")
    creases.read([([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0]), ([[3.0, 4.0]], [0.0])]).save(path)
    done = run("lipschitz", path, "--box", "-1,1", "--norm", "linf", "--proof", proof)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Lipschitz constant (linf): 8, exactly")
    checked = run("check", proof, path)
    assert checked.exit_code == 0
    assert "linf operator norm of the Jacobian" in checked.stdout
    answer = json.loads(run("lipschitz", path, "--box=-1,1,-1,1", "--json").stdout)
    assert answer["exact"]
    assert abs(answer["upper"] - 50**0.5) < 1e-9


def test_a_box_of_another_size_is_refused(tmp_path) -> None:
    path = str(tmp_path / "net.onnx")
    creases.read([([[1.0, 1.0]], [0.0])]).save(path)
    done = run("lipschitz", path, "--box", "-1,1,-1,1,-1,1")
    assert done.exit_code == 2
    assert run("lipschitz", path, "--norm", "l3").exit_code == 2
