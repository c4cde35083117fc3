"""``creases check`` says what is verified or why a proof is refused, with its exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

import creases
from creases.certify.proofs import save_proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, DecisionsStatement, Domain, HoldsStatement, Leaf
from creases.cli import app


@pytest.fixture
def files(tmp_path: Any) -> Any:
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # class 1 where |x| > 1
    net.save(tmp_path / "net.onnx")
    net = creases.read(tmp_path / "net.onnx")

    def write(high: float, name: str = "proof.json") -> list[str]:
        statement = HoldsStatement("holds", Domain(((-0.5, high),)), never=1)
        proof = make_proof(statement, (ClaimProof(("never",), (Leaf("bounds"),)),), net=net)
        return [str(save_proof(proof, tmp_path / name)), str(tmp_path / "net.onnx")]

    return write


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["check", *words])


@pytest.mark.parametrize("name", ["proof.json", "proof.json.gz"])
def test_a_proof_that_is_right_ends_with_0(files: Any, name: str) -> None:
    done = run(*files(0.75, name))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("verified: no input of the box [-0.5, 0.75] is decided for class 1\n")
    assert "1 node," in done.stdout


def test_a_proof_that_is_wrong_ends_with_1_and_the_place(files: Any) -> None:
    done = run(*files(1.75), "--json")
    assert done.exit_code == 1, done.output
    answer = json.loads(done.stdout)
    assert answer["verified"] is False
    assert answer["text"] == "claim never, node 0: by its bounds the claim can be missed by 0.75"
    assert run(*files(1.75)).stdout.startswith("refused: claim never, node 0")


def test_bad_input_ends_with_2_and_one_line(files: Any, tmp_path: Any) -> None:
    proof, net = files(0.75)
    (tmp_path / "text.json").write_text("no proof")
    for words, message in [
        ((str(tmp_path / "none.json"), net), "there is no such file"),
        ((str(tmp_path / "text.json"), net), "as a proof: it is not JSON"),
        ((proof, net, net), "OTHER must be left out: the proof is about one network"),
    ]:
        done = run(*words)
        assert done.exit_code == 2, done.output
        assert not done.stdout
        assert message in " ".join(done.stderr.split())
    model = creases.read(net)
    both = make_proof(DecisionsStatement("same", ((-1.0, 1.0),)), net=model, other=model)
    done = run(str(save_proof(both, tmp_path / "both.json")), net)
    assert done.exit_code == 2
    assert "OTHER must be given: the proof is about two networks" in " ".join(done.stderr.split())


def test_an_interrupted_check_says_how_far_it_was(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import creases.certify.proofs as proofs

    def stop(*_: Any, progress: Any, **__: Any) -> None:
        progress("checking nodes", 3, 10)
        raise KeyboardInterrupt

    monkeypatch.setattr(proofs, "check_proof", stop)
    done = run(*files(0.75))
    assert done.exit_code == 130
    assert "interrupted: 3 of 10 nodes checked, none refused" in done.stderr


PROPERTY = """
(declare-const X_0 Real)
(declare-const Y_0 Real)
(assert (>= X_0 -0.5)) (assert (<= X_0 0.75))
(assert (>= Y_0 0.125))
"""


def test_a_proof_must_be_about_the_property_that_is_given(files: Any, tmp_path: Any) -> None:
    from creases.certify.properties import parse_vnnlib, verify

    other, model = files(0.75, "other.json")
    (tmp_path / "same.vnnlib").write_text(PROPERTY)
    (tmp_path / "wider.vnnlib").write_text(PROPERTY.replace("0.75", "0.875"))
    verdict = verify(model, parse_vnnlib(PROPERTY), proof=True)
    assert verdict.proof is not None
    proof = str(save_proof(verdict.proof, tmp_path / "verify.json"))
    assert run(proof, model).exit_code == 0
    assert run(proof, model, "--property", str(tmp_path / "same.vnnlib")).exit_code == 0
    for path in (proof, other):
        done = run(path, model, "--property", str(tmp_path / "wider.vnnlib"))
        assert done.exit_code == 1
        assert done.stdout.startswith("refused: the proof is not about the property of")
    assert run(proof, model, "--property", str(tmp_path / "none.vnnlib")).exit_code == 2


STRICT = """
(vnnlib-version <2.0>)
(declare-network f (declare-input X real [1]) (declare-output Y real [1]))
(assert (and (>= X[0] -0.5) (<= X[0] 2)))
(assert (> Y[0] 1.0))
"""


def test_a_strict_limit_is_another_property_than_one_that_may_be_reached(files: Any, tmp_path: Any) -> None:
    from creases.certify.proofs._format import CaseSet, VerifyStatement

    _, model = files(0.75)  # |x| - 1 is 1 at x = 2, and never more
    net = creases.read(model)
    (tmp_path / "strict.vnnlib").write_text(STRICT)

    def write(verdict: Any, strict: tuple[int, ...], trees: Any = (), point: Any = None) -> str:
        case = CaseSet(((-0.5, 2.0),), (), (), ((-1.0,),), ((0.0,),), (-1.0,), strict)
        proof = make_proof(VerifyStatement(verdict, (case,), point), trees, net=net)
        return str(save_proof(proof, tmp_path / "proof.json"))

    path = write("violated", (), point=(2.0,))
    assert run(path, model).exit_code == 0
    assert run(path, model, "--property", str(tmp_path / "strict.vnnlib")).exit_code == 1
    done = run(write("violated", (0,), point=(2.0,)), model)
    assert done.exit_code == 1
    assert "the point is in none of the cases" in done.stdout
    path = write("holds", (0,), (ClaimProof(("case", 0), (Leaf("bounds"),)),))
    assert run(path, model, "--property", str(tmp_path / "strict.vnnlib")).exit_code == 0


def test_a_model_that_ends_in_softmax_does_not_have_the_outputs_of_a_property(tmp_path: Any) -> None:
    from torch import nn

    from creases.certify.properties import parse_vnnlib, verify
    from creases.errors import LinkWarning

    layers = [nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)]
    text = PROPERTY.replace("0.125", "1000")
    proof = verify(nn.Sequential(*layers), parse_vnnlib(text), proof=True).proof
    assert proof is not None
    path = str(save_proof(proof, tmp_path / "proof.json"))
    (tmp_path / "p.vnnlib").write_text(text)
    with pytest.warns(LinkWarning):
        creases.read(nn.Sequential(*layers, nn.Sigmoid())).save(tmp_path / "net.safetensors")
    done = run(path, str(tmp_path / "net.safetensors"), "--property", str(tmp_path / "p.vnnlib"))
    assert done.exit_code == 2, done.output


def test_a_proof_must_state_what_the_statement_file_does(files: Any, tmp_path: Any) -> None:
    proof, model = files(0.75)
    record = json.loads((tmp_path / "proof.json").read_text())["statement"]
    wider, file = json.loads(json.dumps(record)), tmp_path / "statement.json"
    wider["domain"]["box"] = [[-0.5, 0.875]]
    for asked, code in ((record, 0), (wider, 1), (record | {"never": 0}, 1), ({"kind": "holds"}, 2), ([], 2)):
        file.write_text(json.dumps(asked))
        done = run(proof, model, "--statement", str(file))
        assert done.exit_code == code, done.output
        if code == 1:
            assert "refused: the proof states something else: statement." in done.stdout
    assert run(proof, model, "--statement", str(tmp_path / "none.json")).exit_code == 2


def test_a_stronger_bound_than_the_statement_file_asks_for_will_do(tmp_path: Any) -> None:
    from creases.certify import output_range
    from creases.certify.proofs import check_proof

    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    proof = output_range(net, (-0.5, 0.75)).proof
    box = {"box": [[-0.5, 0.75]]}
    for high, fits in ((0.0, True), (-0.2, True), (-0.5, False)):
        asked = {
            "kind": "output_range",
            "quantity": "outputs",
            "domain": box,
            "entries": [{"index": [0], "high": high}],
        }
        assert bool(check_proof(proof, net, statement=asked)) == fits
