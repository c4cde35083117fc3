"""Numbers of VNN-LIB files mean what is written: nothing is rounded before it is proved."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import creases
from creases.certify.proofs import check_proof
from creases.certify.properties import Property, parse_vnnlib, verify
from creases.cli import app
from creases.errors import FileError

HEAD = "(declare-const X_0 Real)(declare-const Y_0 Real)"
UNIT = "(assert (>= X_0 0))(assert (<= X_0 1))"


def identity() -> creases.Network:
    return creases.read([([[1.0]], [0.0])])


def stated(*assertions: str, box: str = UNIT) -> Property:
    return parse_vnnlib(HEAD + box + "".join(f"(assert {each})" for each in assertions))


@pytest.mark.parametrize(
    ("assertion", "status"),
    [
        ("(>= (+ Y_0 (+ 1e16 (- 1.0 1e16))) 1.25)", "violated"),  # y >= .25, though 1 - 1e16 is no float
        ("(>= (+ Y_0 (+ 1e16 (- 1.0 1e16))) 2.25)", "holds"),
        ("(>= (- (+ Y_0 10000000000000001) 10000000000000000) 2.0)", "violated"),  # y >= 1
        ("(>= (- (+ Y_0 10000000000000001) 10000000000000000) 2.5)", "holds"),
        ("(>= (* 0.1 Y_0) 0.02)", "violated"),
        ("(>= (* 0.1 Y_0) 0.11)", "holds"),
        ("(>= (* 3.0 (/ Y_0 3)) 1.0)", "violated"),  # y >= 1, at the end of the box
    ],
)
def test_constants_are_folded_exactly(assertion: str, status: str) -> None:
    prop, net = stated(assertion), identity()
    verdict = verify(net, prop, proof=True)
    assert verdict.status == status
    assert verdict.proof is not None
    assert prop.is_statement_of(verdict.proof)
    checked = check_proof(verdict.proof, net)
    assert checked, checked.text


def test_a_bound_that_is_no_float_is_not_rounded() -> None:
    third = stated("(<= (* 3.0 X_0) 1.0)", "(>= (* 3.0 Y_0) 1.0)")
    assert third.cases[0].box[0, 1] == Fraction(1, 3)
    verdict = verify(identity(), third, proof=True)
    assert verdict.status != "holds"  # x = 1/3 is in the case
    beyond = stated("(<= (* 3.0 X_0) 1.0)", "(>= (* 3.0 Y_0) 1.0000001)")
    answer = verify(identity(), beyond, proof=True)
    assert answer.status == "holds"
    assert check_proof(answer.proof, identity())


def test_an_input_fixed_to_a_decimal_has_a_counterexample_in_fractions() -> None:
    prop = stated("(>= Y_0 0.05)", box="(assert (>= X_0 0.1))(assert (<= X_0 0.1))")
    verdict = verify(identity(), prop, proof=True)
    assert (verdict.status, verdict.counterexample.tolist()) == ("violated", [0.1])
    assert verdict.proof.statement.point == (Fraction(1, 10),)
    assert check_proof(verdict.proof, identity())


def test_a_counterexample_of_a_wide_sparse_network_is_settled_in_fractions(monkeypatch: pytest.MonkeyPatch) -> None:
    def bound_backwards(*_: object) -> None:
        raise AssertionError("bounds of a wide network take minutes, which no budget counts")

    monkeypatch.setattr("creases.certify.properties._verify.linear_value_bounds", bound_backwards)
    eye = np.eye(2100)  # more entries than products that an exact evaluation may take
    net = creases.read([(eye[:, :1], eye[0]), (eye, np.zeros(2100)), (eye[:1], [0.0])])  # relu(x + 1)
    prop = stated("(>= Y_0 1.05)", box="(assert (>= X_0 0.1))(assert (<= X_0 0.1))")
    verdict = verify(net, prop)
    assert (verdict.status, verdict.counterexample.tolist()) == ("violated", [0.1])


def test_a_limit_between_two_floats_decides_which_property_a_proof_is_about() -> None:
    verdict = verify(identity(), stated("(>= Y_0 10000000000000001)"), proof=True)
    assert verdict.status == "holds"
    assert stated("(>= Y_0 10000000000000001)").is_statement_of(verdict.proof)
    assert not stated("(>= Y_0 10000000000000000)").is_statement_of(verdict.proof)


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("(<= (* 1e200 (* 1e200 Y_0)) 1.0)", "1e300 or larger"),
        ("(<= (* 1e-200 (* 1e-200 X_0)) 1.0)", "1e300 or larger"),  # x <= 1e400
        ("(<= Y_0 1e999999)", "exponent is beyond 1000"),
        ("(<= Y_0 1e99999999999)", "neither a number"),
        ("(<= Y_0 nan)", "neither a number"),
        ("(<= Y_0 1_0)", "neither a number"),
    ],
)
def test_numbers_too_large_are_refused_in_one_line(assertion: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message):
        stated(assertion)
    file, model = tmp_path / "p.vnnlib", tmp_path / "m.onnx"
    file.write_text(HEAD + UNIT + f"(assert {assertion})")
    identity().save(model)
    answer = CliRunner().invoke(app, ["verify", str(model), str(file)])
    assert answer.exit_code == 2
    assert "Traceback" not in answer.output


def test_statements_may_be_nested_to_any_depth() -> None:
    limits = "(<= X_0 " + "(+ 0 " * 2000 + "1" + ")" * 2000 + ")"
    text = "(declare-const X_0 Real) (declare-const Y_0 Real) (assert (>= X_0 0))"
    deep = "(and " * 3000 + limits + ")" * 3000
    assert parse_vnnlib(f"{text} (assert {deep}) (assert (or (or (>= Y_0 1))))").cases[0].box.tolist() == [[0.0, 1.0]]
    with pytest.raises(FileError, match="is not a statement"):
        parse_vnnlib(text + " (assert " + "(and " * 3000 + "()" + ")" * 3001)
