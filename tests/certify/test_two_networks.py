"""VNN-LIB 2.0: properties of one network and of two are read as they are written, decided and proved."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import creases
from creases.certify.proofs import check_proof
from creases.certify.properties import parse_vnnlib, put_side_by_side, verify
from creases.errors import FileError, InputError

TWO = """
(vnnlib-version <2.0>)
(declare-network f (declare-input X real [2]) (declare-output Y real [1]))
(declare-network g ({relation} f) (declare-input U real [1, 2]) (declare-output V real [1]))
(assert (and (>= X[0] -1.0) (<= X[0] 1.0)))
(assert (and (>= X[1] -1.0) (<= X[1] 1.0)))
(assert (== X[1] U[0, 1]))
"""


def network(seed: int = 0, sizes: tuple[int, ...] = (2, 5, 1), sign: float = 0.0) -> creases.Network:
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in pairwise(sizes)]
    return creases.read([(np.abs(W) if sign else W, b) for W, b in layers])


def test_a_file_about_one_network_means_what_version_1_means() -> None:
    text = """(vnnlib-version <2.0>)
    (declare-network f (declare-input X real [1, 2]) (declare-output Y real [2]))
    (assert (and (>= X[0, 0] 0.0) (<= X[0, 0] 1.0))) (assert (and (>= X[0, 1] 0.0) (<= X[0, 1] 2.0)))
    (assert (<= Y[0] Y[1]))"""
    prop = parse_vnnlib(text)
    assert prop.cases[0].box.tolist() == [[0.0, 1.0], [0.0, 2.0]]
    assert prop.cases[0].C.tolist() == [[1.0, -1.0]]
    net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [1.0, -2.0])])
    assert verify(net, prop).status == "holds"


@pytest.mark.parametrize("limit", [0.02, 0.2])
def test_networks_that_differ_by_less_than_a_limit_are_told(limit: float) -> None:
    f, offset = network(), 0.1
    W = [(step.tensors["weight"].numpy(), step.tensors["offset"].numpy()) for step in f.steps if step.op == "linear"]
    g = creases.read([W[0], (W[1][0], W[1][1] + offset)])
    text = TWO.format(relation="isomorphic-to") + f"(assert (== X[0] U[0,0])) (assert (> V[0] (+ Y[0] {limit})))"
    prop = parse_vnnlib(text)
    assert prop.n_in == 2  # equal inputs are one
    verdict = verify((f, g), prop, proof=True)
    assert verdict.status == ("holds" if limit > offset else "violated")
    assert verdict.proof is not None
    assert check_proof(verdict.proof, put_side_by_side((f, g), prop)).verified
    assert prop.is_statement_of(verdict.proof)


def test_equal_networks_on_equal_inputs_are_one() -> None:
    f, equal = network(2), "(assert (== X[0] U[0,0]))"
    prop = parse_vnnlib(f"{TWO.format(relation='equal-to')}{equal}(assert (> V[0] (+ Y[0] 1e-9)))")
    assert (put_side_by_side((f, f), prop).n_units, verify((f, f), prop).status) == (f.n_units, "holds")


@pytest.mark.thorough
def test_a_network_that_rises_and_one_that_does_not() -> None:
    text = TWO.format(relation="equal-to") + "(assert (>= X[0] U[0,0])) (assert (>= U[0,0] -1.0))"
    prop = parse_vnnlib(text + "(assert (Y[0] < V[0]))")
    assert prop.n_in == 3
    assert prop.cases[0].box[2].tolist() == [-1.0, 1.0]  # its upper end follows from the first input's
    falls = creases.read([([[-1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    verdict = verify((falls, falls), prop, budget=20)
    assert verdict.status == "violated"
    x = verdict.counterexample
    assert falls(x[[0, 1]])[0] < falls(x[[2, 1]])[0]
    rises = network(sign=1.0)
    shown = verify((rises, rises), parse_vnnlib(text + "(assert (<= (+ Y[0] 0.001) V[0]))"), budget=20)
    assert shown.status == "holds"
    # Equal inputs have equal outputs, so the limit is reached; a counterexample must pass it.
    assert verify((rises, rises), prop, budget=2).status == "unknown"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(declare-network f (declare-input X real [2]))", "must have an input and an output"),
        ("(declare-network f (equal-to g) (declare-input X real [1]))", "names no network"),
        ("(declare-network f (declare-input X int [2]) (declare-output Y real [1]))", "must be real"),
        ("(declare-network f (declare-input X real [2]) (declare-output Y real [1])) (assert (<= X[2] 1))", "no entry"),
        ("(declare-network f (declare-hidden H real [2] 'a'))", "not supported"),
    ],
)
def test_what_version_2_does_not_allow_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        parse_vnnlib(text)


def test_as_many_networks_as_the_property_has_must_be_given() -> None:
    prop = parse_vnnlib(TWO.format(relation="isomorphic-to") + "(assert (== X[0] U[0,0])) (assert (> V[0] Y[0]))")
    with pytest.raises(InputError, match="tuple of 2 networks: f, g"):
        verify(network(), prop)
    with pytest.raises(InputError, match="of g"):
        verify((network(), network(sizes=(2, 3, 2))), prop)
