"""Statements about thin, tiny or empty domains: what is false is refused, what says nothing is called so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import creases
from creases.certify import monotone, output_range
from creases.certify.proofs import check_proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import (
    CaseSet,
    ClaimProof,
    DifferencesStatement,
    Domain,
    HoldsStatement,
    Leaf,
    MonotoneStatement,
    Multipliers,
    NearestStatement,
    OutputRows,
    RangeEntry,
    RangeStatement,
    VerifyStatement,
)
from creases.errors import InputError

INF = float("inf")
BOUNDS, GRADIENT = (Leaf("bounds"),), (Leaf("gradient"),)


def accepted(statement: Any, net: Any, *proofs: ClaimProof) -> Any:
    return check_proof(make_proof(statement, proofs, net=net), net)


def sloped() -> creases.Network:
    """relu(x) - relu(-x), which is x."""
    return creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])])


def test_a_weight_and_a_radius_below_floats_do_not_vanish() -> None:
    """From 0 the decision changes at 5e-31, at l1 distance 5e-331 by weights of 1e-300."""
    net = creases.read([([[1.0]], [0.0]), ([[1.0]], [-5e-31])])
    for norm in ("l1", "l2", "linf"):
        for radius in (Fraction(1, 10**330), Fraction(6, 10**331)):
            far: Any = NearestStatement((0.0,), 0, norm, (1e-300,), ((-INF, INF),), radius)
            assert not accepted(far, net, ClaimProof(("goal", 1), BOUNDS))
        near: Any = NearestStatement((0.0,), 0, norm, (1e-300,), ((-INF, INF),), Fraction(4, 10**331))
        assert accepted(near, net, ClaimProof(("goal", 1), BOUNDS))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_center_below_floats_does_not_vanish(norm: Any) -> None:
    """y = relu(w x) - b for w = 1e300: x = 2e-324 is 2e-24 before the bend, the boundary 1e-24 further."""
    net = creases.read([([[1e300]], [0.0]), ([[1.0]], [-3e-24])])
    x, gap = Fraction(2, 10**324), Fraction(1, 10**324)
    far = NearestStatement((x,), 0, norm, (1.0,), ((-INF, INF),), gap * 2)
    assert not accepted(far, net, ClaimProof(("goal", 1), BOUNDS))


def test_a_coefficient_where_its_column_is_fixed_is_refused() -> None:
    entry = RangeEntry((0, 0), low=2.0, high=2.0)
    claims = (ClaimProof(("low", 0, 0), GRADIENT), ClaimProof(("high", 0, 0), GRADIENT))
    flat = RangeStatement("coefficients", Domain(((0.0, 0.0),)), (entry,))
    answer = accepted(flat, sloped(), *claims)
    assert not answer
    assert "column 0 is fixed" in answer.text


def test_a_coefficient_on_rows_without_an_interior_is_refused() -> None:
    net = creases.read([([[1.0, 1.0], [-1.0, -1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])])
    rows = ((1.0, 1.0), (-1.0, -1.0))
    domain = Domain(((-1.0, 1.0),) * 2, rows, (0.0, 0.0))
    leaf = (Leaf("gradient", Multipliers()),)
    for interior in (None, (0.0, 0.0)):
        thin = RangeStatement("coefficients", domain, (RangeEntry((0, 0), low=2.0),), interior)
        assert not accepted(thin, net, ClaimProof(("low", 0, 0), leaf))
    for ask in (
        lambda: output_range(net, (-1, 1), A=rows, b=(0.0, 0.0), quantity="coefficients"),
        lambda: monotone(net, 0, (-1, 1), A=rows, b=(0.0, 0.0)),
    ):
        with pytest.raises(InputError, match="A must leave an input strictly inside"):
            ask()


def test_a_violation_must_exceed_the_slack() -> None:
    net, domain = sloped(), Domain(((0.0, 1.0),))
    pair = ((0.25,), (0.75,))
    for slack, wrong in ((100.0, True), (1.0, True), (0.5, False), (0.0, False)):
        answer = accepted(MonotoneStatement("violated", domain, 0, 0, "falling", slack, pair=pair), net)
        assert bool(answer) != wrong
        if slack and answer:
            assert f"by more than {slack} per unit" in answer.text
    assert not accepted(MonotoneStatement("violated", domain, 0, 0, "falling", -1.0, pair=pair), net)


def test_monotone_does_not_call_violated_what_its_tolerance_allows() -> None:
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 0.25]], [0.0])])  # falls by a quarter below 0
    verdict = monotone(net, 0, (-1, 1), tolerance=0.1)
    assert verdict.status == "violated"
    assert check_proof(verdict.proof, net)
    assert monotone(net, 0, (-1, 1), tolerance=0.9).status == "holds"


def two_classes() -> creases.Network:
    return creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])


@pytest.mark.parametrize(
    "limits",
    [
        {"one_hot": ((),)},
        {"integer": (0,), "box": ((0.25, 0.75), (-INF, INF))},
        {"one_hot": ((0, 1),), "box": ((2.0, 3.0), (-INF, INF))},
        {"one_hot": ((0, 1),), "box": ((1.0, 1.0), (1.0, 1.0))},
    ],
)
def test_a_nearest_statement_that_allows_no_input_says_so(limits: Any) -> None:
    options = {"box": ((-INF, INF),) * 2, **limits}
    statement = NearestStatement((0.0, 0.0), 0, "l2", (1.0, 1.0), lower_bound=INF, **options)
    for leaf in (Leaf("bounds"), Leaf("empty"), Leaf("empty", Multipliers(domain={0: 1.0})),
                 Leaf("empty", Multipliers(domain={1: 1.0}))):  # fmt: skip
        answer = accepted(statement, two_classes(), ClaimProof(("goal", 1), (leaf,)))
        if answer:
            assert answer.vacuous
            assert "no input is allowed" in answer.text


def test_a_property_without_cases_is_called_vacuous() -> None:
    answer = accepted(VerifyStatement("holds", ()), two_classes())
    assert answer.vacuous
    assert "says nothing" in answer.text


def test_rows_that_no_input_has_are_called_vacuous() -> None:
    domain = Domain(((0.0, 1.0),) * 2, ((1.0, 1.0),), (-1.0,))
    statement = HoldsStatement("holds", domain, never=1)
    leaf = Leaf("empty", Multipliers(domain={0: 1.0}))
    answer = accepted(statement, two_classes(), ClaimProof(("never",), (leaf,)))
    assert answer
    assert answer.vacuous
    case = CaseSet(domain.box, domain.A, domain.b, ((1.0,),), ((0.0, 0.0),), (5.0,))
    answer = accepted(VerifyStatement("holds", (case,)), two_classes(), ClaimProof(("case", 0), (leaf,)))
    assert answer.vacuous


def test_limits_entries_and_outputs_that_are_none_say_nothing() -> None:
    net, box = two_classes(), ((0.0, 1.0),) * 2
    for statement in (
        HoldsStatement("holds", Domain(box), outputs=OutputRows((), ())),
        RangeStatement("outputs", Domain(box), ()),
        RangeStatement("outputs", Domain(box), (RangeEntry((0,)),)),
    ):
        answer = accepted(statement, net)
        assert answer.vacuous, answer.text
    proof = make_proof(DifferencesStatement(box, ()), (), net=net, other=net)
    assert check_proof(proof, net, net).vacuous


def test_the_text_of_a_statement_names_all_of_its_domain() -> None:
    net = two_classes()
    domain = Domain(((-1.0, 0.25), (0.1, Fraction(1, 3))), ((1.0, -2.0),), (0.5,))
    answer = accepted(HoldsStatement("holds", domain, never=1), net, ClaimProof(("never",), BOUNDS))
    assert answer
    assert not answer.vacuous
    for part in ("[-1.0, 0.25]", "[0.1, 1/3]", "x0 - 2.0 x1 <= 0.5"):
        assert part in answer.text
    point = NearestStatement((0.0, 0.0), 0, "l2", (1.0, 0.5), ((0.0, 5.0),) * 2, 0.25, (0,), ((0, 1),))
    answer = accepted(point, net, ClaimProof(("goal", 1), BOUNDS))
    for part in ("[0.0, 5.0]", "input 0 is a whole number", "one of inputs 0, 1", "weights (1.0, 0.5)"):
        assert part in answer.text
