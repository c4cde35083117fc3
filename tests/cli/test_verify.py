"""``creases verify`` answers as the network does, with its exit codes."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.cli.console import divert_stdout

TEXT = """; |x0| + x1 on a box: at most 3
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(assert (>= X_0 -1.0))
(assert (<= X_0 2.0))
(assert (and (>= X_1 0) (<= X_1 1.0)))
(assert (>= Y_0 LIMIT))
"""


@pytest.fixture
def files(tmp_path):
    net = creases.read([([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    net.save(tmp_path / "net.onnx")

    def write(limit: str):
        (tmp_path / "property.vnnlib").write_text(TEXT.replace("LIMIT", limit))
        return [str(tmp_path / "net.onnx"), str(tmp_path / "property.vnnlib")]

    return write


def run(*words):
    return CliRunner().invoke(app, ["verify", *words])


def test_a_property_that_holds_ends_with_0(files):
    done = run(*files("3.5"))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("holds")


def test_a_violated_property_ends_with_1_and_prints_the_input(files):
    done = run(*files("2.75"), "--json")
    assert done.exit_code == 1, done.output
    answer = json.loads(done.stdout)
    assert list(answer) == ["status", "detail", "input", "outputs", "seconds", "cases"]
    x = np.array(answer["input"])
    assert abs(x[0]) + x[1] == pytest.approx(answer["outputs"][0])
    assert answer["outputs"][0] >= 2.75
    assert (x >= [-1, 0]).all()
    assert (x <= [2, 1]).all()
    words = run(*files("2.75")).stdout
    assert words.startswith("violated")
    assert "X_1 = " in words


def test_a_limit_that_is_reached_exactly_is_satisfied(files):
    assert run(*files("3.0")).exit_code == 1  # the file's set is closed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("(assert (<= X_0 2.0))\n", ""), "X_0 has no upper bound"),
        (("(declare-const X_1 Real)\n", ""), "X_1 is used before it is declared"),
        (("LIMIT))", "1.0)"), "a parenthesis is not closed"),
        (("(>= Y_0 LIMIT)", "(not (>= Y_0 1.0))"), "not is not supported in a statement"),
        (("(>= Y_0 LIMIT)", "(>= (* Y_0 Y_0) 1.0)"), "(* Y_0 Y_0) is not linear"),
        (("(declare-const X_1 Real)", "(declare-const X_1 Real) (declare-const X_2 Real)"), "X_2 has no lower bound"),
        (
            ("(declare-const Y_0 Real)", "(declare-const Y_0 Real) (declare-const Y_1 Real)"),
            "PROPERTY must have the network's 2",
        ),
    ],
)
def test_bad_files_are_refused_in_one_line(files, change, message):
    arguments = files("1.0")
    with open(arguments[1], "w") as file:
        file.write(TEXT.replace(*change).replace("LIMIT", "1.0"))
    done = run(*arguments)
    assert done.exit_code == 2
    assert not done.stdout
    assert message in done.stderr


def test_a_missing_file_and_no_time_are_refused(files, tmp_path):
    network, _ = files("1.0")
    assert "there is no such file" in run(network, str(tmp_path / "none.vnnlib")).stderr
    assert "--budget must be a positive number" in run(*files("1.0"), "--budget", "0").stderr


def test_what_a_library_prints_does_not_reach_stdout(capfd):
    with divert_stdout():
        os.write(1, b"noise")
    os.write(1, b"result")
    captured = capfd.readouterr()
    assert captured.out == "result"
    assert "noise" in captured.err


@pytest.mark.parametrize("options", [(), ("--jobs", "2")])
def test_a_proof_is_written_and_passes_the_check(files, tmp_path, options):
    for limit, code in (("3.5", 0), ("2.75", 1)):
        words = files(limit)
        assert run(*words, "--proof", str(tmp_path / "proof.json"), *options).exit_code == code
        done = CliRunner().invoke(app, ["check", str(tmp_path / "proof.json"), words[0]])
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("verified")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jobs", "0"), "--jobs must be"),
        (("--engine", "serial", "--jobs", "2"), "--jobs must be 1 for the serial engine"),
        (("--address", "auto"), "--address must be left out without a Ray cluster"),
    ],
)
def test_engines_that_cannot_be_are_refused(files, options, message):
    done = run(*files("3.5"), *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_fault_of_creases_does_not_end_with_the_code_of_an_answer(files, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OverflowError("a fault")

    monkeypatch.setattr("creases.certify.properties.verify", fail)
    answer = run(*files("4.0"))
    assert answer.exit_code == 70


def test_a_property_of_two_networks_is_decided_and_its_proof_checked(tmp_path):
    for name, offset in (("f", 0.0), ("g", 0.25)):
        creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [offset])]).save(tmp_path / f"{name}.onnx")
    pair = tmp_path / "pair.vnnlib"
    pair.write_text(
        "(declare-network f (declare-input X real [1]) (declare-output Y real [1]))"
        "(declare-network g (isomorphic-to f) (declare-input U real [1]) (declare-output V real [1]))"
        "(assert (>= X[0] -1.0)) (assert (<= X[0] 2.0)) (assert (== X[0] U[0])) (assert (> V[0] (+ Y[0] 0.5)))"
    )
    f, g, proof = (str(tmp_path / name) for name in ("f.onnx", "g.onnx", "proof.json"))
    assert run(f, str(pair), "--other", g, "--proof", proof).exit_code == 0
    assert CliRunner().invoke(app, ["check", proof, f, g, "--property", str(pair)]).exit_code == 0
    assert CliRunner().invoke(app, ["check", proof, f, f, "--property", str(pair)]).exit_code == 1
