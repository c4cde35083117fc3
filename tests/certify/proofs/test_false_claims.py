"""No proof of a false claim is accepted, whatever its tree and its multipliers.

What is false is known from a point, evaluated in rational arithmetic by a function of its own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import creases
from creases.certify.proofs import check_proof
from creases.certify.proofs._checker.program import build_machine
from creases.certify.proofs._checker.statements import Subject, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import (
    ClaimProof,
    DecisionsStatement,
    DifferenceEntry,
    DifferencesStatement,
    Domain,
    HoldsStatement,
    Leaf,
    Lemma,
    Multipliers,
    NearestStatement,
    OutputRows,
    RangeEntry,
    RangeStatement,
    Split,
)
from creases.errors import InputError
from creases.network._reading.arrays import from_arrays
from reference_prover import exact_values, prove
from strategies import Case, cases

SLOW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

#: Leaves that ask the least: they are accepted wherever bounds suffice.
EAGER = (Leaf("bounds"), Leaf("multipliers", Multipliers((1.0,))), Leaf("gradient"), Leaf("empty"))

NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 5e-324, 1e-300, 1e300, 1.7e308, Fraction(1, 3), Fraction(10) ** 320]),
    st.floats(0, 1e6),
)


@st.composite
def multipliers(draw: st.DrawFn, n_units: int, n_in: int, rows: int) -> Multipliers:
    units = st.integers(0, n_units) if n_units else st.just(0)
    signed = st.one_of(NUMBERS, NUMBERS.map(lambda value: -value))
    return Multipliers(
        tuple(draw(NUMBERS) for _ in range(rows)),
        draw(st.dictionaries(st.integers(0, 1), NUMBERS, max_size=1)) if draw(st.booleans()) else {},
        draw(st.dictionaries(units, NUMBERS, max_size=3)),
        draw(st.dictionaries(units, st.one_of(st.floats(0, 1), signed), max_size=2)),
        draw(st.dictionaries(st.integers(0, n_in - 1), signed, max_size=1)),
    )


@st.composite
def trees(draw: st.DrawFn, n_units: int, box: Any, rows: int) -> tuple[Any, ...]:
    """Return a random tree in preorder, with splits in the box and leaves of every kind."""
    nodes: list[Any] = []
    missing = 1
    while missing and len(nodes) < 12:
        lemmas: tuple[Lemma, ...] = ()
        if n_units and draw(st.integers(0, 5)) == 0:
            end: Any = draw(st.sampled_from(["low", "high"]))
            lemmas = (Lemma(draw(st.integers(0, n_units - 1)), end, draw(multipliers(n_units, len(box), 0))),)
        cuts: tuple[Multipliers, ...] = ()
        if draw(st.integers(0, 3)) == 0:
            cuts = tuple(draw(multipliers(n_units, len(box), rows)) for _ in range(draw(st.integers(1, 2))))
        kind = draw(st.sampled_from(["leaf", "leaf", "unit", "input"]))
        if kind == "unit" and n_units:
            nodes.append(Split("unit", draw(st.integers(0, n_units - 1)), lemmas=lemmas, cuts=cuts))
            missing += 1
        elif kind == "input":
            j = draw(st.integers(0, len(box) - 1))
            low, high = (float(end) for end in box[j])
            at = low + (high - low) * draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
            nodes.append(Split("input", j, at, lemmas, cuts))
            missing += 1
        else:
            by: Any = draw(st.sampled_from(["bounds", "multipliers", "empty", "gradient"]))
            count = {"multipliers": rows}.get(by, 0)
            nodes.append(Leaf(by, draw(multipliers(n_units, len(box), count)), lemmas, cuts))
            missing -= 1
    return (*nodes, *[Leaf("bounds")] * missing)


@st.composite
def points(draw: st.DrawFn, box: Any) -> tuple[Any, ...]:
    """Return a point of a box: corners, the middle, or any."""
    shares = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
    ends = [(float(low), float(high)) for low, high in box]
    return tuple(min(max(low + draw(shares) * (high - low), low), high) for low, high in ends)


def below(value: Fraction, draw: Any) -> Fraction:
    """Return a limit that a value exceeds: by next to nothing, by a rounding error, or by more."""
    step: Fraction = draw(
        st.sampled_from([Fraction(1, 2**1200), abs(value) / 2**53, abs(value) / 2**50, abs(value) / 10**6])
    )
    return value - max(step, Fraction(1, 2**1200))


def refused(statement: Any, key: Any, tree: Any, net: Any, other: Any = None) -> bool:
    proof = make_proof(statement, (ClaimProof(key, tuple(tree)),), net=net, other=other)
    return not check_proof(proof, net, other)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=2, max_width=4), st.data())
def test_bounds_that_a_point_exceeds_are_refused(case: Case, data: st.DataObject) -> None:
    x = data.draw(points(case.box))
    limit = below(exact_values(case.layers, x, case.leak)[0], data.draw)
    statement = RangeStatement("outputs", Domain(case.box), (RangeEntry((0,), high=limit),))
    net = case.net
    for leaf in EAGER:
        assert refused(statement, ("high", 0), (leaf,), net)
    for _ in range(8):
        assert refused(statement, ("high", 0), data.draw(trees(net.n_units, case.box, 1)), net)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=2, max_width=3), st.data())
def test_bounds_of_a_box_that_is_a_point_or_nearly_are_refused(case: Case, data: st.DataObject) -> None:
    """Bounds are tight there: only rounding could make them too small."""
    scale = data.draw(st.sampled_from([1e-8, 1.0, 1e3, 1e8]))
    x = tuple(scale * value for value in data.draw(points(case.box)))
    width = data.draw(st.sampled_from([0.0, 1e-16, 1e-9])) * scale
    box = tuple((value - width, value + width) for value in x)
    value = exact_values(case.layers, x, case.leak)[0]
    net, limit = case.net, below(value, data.draw)
    high = RangeStatement("outputs", Domain(box), (RangeEntry((0,), high=limit),))
    low = RangeStatement("outputs", Domain(box), (RangeEntry((0,), low=2 * value - limit),))
    unit = [(Split("unit", u), Leaf("bounds"), Leaf("bounds")) for u in range(net.n_units)]
    for tree in ((Leaf("bounds"),), (Leaf("multipliers", Multipliers((0.1,))),), *unit):
        assert refused(high, ("high", 0), tree, net)
        assert refused(low, ("low", 0), tree, net)
    true = RangeStatement("outputs", Domain(tuple((v, v) for v in x)), (RangeEntry((0,), high=value),))
    assert not refused(true, ("high", 0), (Leaf("bounds"),), net)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=2, max_width=3), st.data())
def test_what_a_search_with_wrong_multipliers_would_write_is_refused(case: Case, data: st.DataObject) -> None:
    """The tree of the reference prover for a claim that a vertex of a grid exceeds."""
    net = case.net
    assume(net.n_units <= 6)
    x = data.draw(points(case.box))
    limit = below(exact_values(case.layers, x, case.leak)[0], data.draw)
    statement = RangeStatement("outputs", Domain(case.box), (RangeEntry((0,), high=limit),))
    machine = build_machine(net)
    (claim,) = derive_claims(Subject(machine, net.n_in, net.n_out), statement).values()
    assert refused(statement, ("high", 0), prove(machine, claim), net)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=2, max_width=4), st.data())
def test_coefficients_that_a_region_exceeds_are_refused(case: Case, data: st.DataObject) -> None:
    """The difference quotient of two points shows a coefficient of at least its value between them."""
    net, column = case.net, data.draw(st.integers(0, 1))
    x = data.draw(points(case.box))
    other = list(x)
    other[column] = float(data.draw(points(case.box))[column])
    assume(other[column] != x[column])
    step = Fraction(other[column]) - Fraction(x[column])
    values = [exact_values(case.layers, each, case.leak)[0] for each in (x, other)]
    limit = below((values[1] - values[0]) / step, data.draw)
    statement = RangeStatement("coefficients", Domain(case.box), (RangeEntry((0, column), high=limit),))
    kinds: Any = (("empty", "empty"), ("empty", "gradient"), ("gradient", "empty"))
    sides = [
        (Split("unit", u), Leaf(a, Multipliers(sides={u: 1.0})), Leaf(b, Multipliers(sides={u: 1.0})))
        for u in range(net.n_units)
        for a, b in kinds
    ]
    for tree in (*sides, (Leaf("gradient"),), *(data.draw(trees(net.n_units, case.box, 0)) for _ in range(6))):
        assert refused(statement, ("high", 0, column), tree, net)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=2, max_width=3), st.data())
def test_balls_in_which_another_decision_is_reached_are_refused(case: Case, data: st.DataObject) -> None:
    weight, bias = case.layers[-1]
    x, point = (data.draw(points(case.box)) for _ in range(2))
    values = [exact_values(case.layers, each, case.leak)[0] for each in (x, point)]
    middle = float((values[0] + values[1]) / 2)
    layers = [*case.layers[:-1], (weight[:1], np.asarray(bias[:1]) - middle)]  # one output, between both its sign
    net = from_arrays(layers, leak=case.leak)
    values = [exact_values(layers, each, case.leak)[0] for each in (x, point)]
    first = int(values[0] > 0)
    assume(values[1] >= 0 if first == 0 else values[1] <= 0)
    weights = tuple(data.draw(st.sampled_from([1.0, 1e-6, 0.3, 1e6])) for _ in x)
    size = [abs(Fraction(w) * (Fraction(b) - Fraction(a))) for w, a, b in zip(weights, x, point, strict=True)]
    norm: Any = data.draw(st.sampled_from(["l1", "l2", "linf"]))
    length = {"l1": sum(size), "linf": max(size), "l2": sum(size)}[norm]  # the sum is at least the Euclidean length
    assume(length > 0)
    box = tuple((float("-inf"), float("inf")) for _ in x) if data.draw(st.booleans()) else case.box
    statement = NearestStatement(x, first, norm, weights, box, length)
    for tree in ((Leaf("bounds"),), *(data.draw(trees(net.n_units, case.box, 1)) for _ in range(6))):
        assert refused(statement, ("goal", 1 - first), tree, net)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=1, max_width=3), cases(2, max_depth=1, max_width=3), st.data())
def test_differences_that_a_point_exceeds_are_refused(first: Case, second: Case, data: st.DataObject) -> None:
    a, b = first.net, second.net
    assume(a.n_out == b.n_out)
    x = data.draw(points(first.box))
    values = [exact_values(case.layers, x, case.leak) for case in (first, second)]
    gap = abs(values[0][0] - values[1][0])
    upper = below(gap, data.draw)
    assume(upper >= 0)
    statement = DifferencesStatement(first.box, (DifferenceEntry(0, upper),))
    tree = data.draw(trees(a.n_units + b.n_units, first.box, 1))
    for each in (tree, (Leaf("bounds"),)):
        proofs = (ClaimProof(("high", 0), each), ClaimProof(("low", 0), each))
        assert not check_proof(make_proof(statement, proofs, net=a, other=b), a, b)
    decisions = [int(v[0] > 0) if len(v) == 1 else max(range(len(v)), key=lambda k: (v[k], -k)) for v in values]
    if decisions[0] != decisions[1]:
        keys = [(i, j) for i in range(max(a.n_out, 2)) for j in range(max(a.n_out, 2)) if i != j]
        pairs = tuple(ClaimProof(("pair", *key), data.draw(trees(2, first.box, 2))) for key in keys)
        same = DecisionsStatement("same", first.box)
        assert not check_proof(make_proof(same, pairs, net=a, other=b), a, b)


@pytest.mark.slow
@SLOW
@given(cases(2, max_depth=2, max_width=3), st.data())
def test_decisions_that_a_point_refutes_are_refused(case: Case, data: st.DataObject) -> None:
    net = case.net
    x = data.draw(points(case.box))
    y = exact_values(case.layers, x, case.leak)
    decided = int(y[0] > 0) if len(y) == 1 else max(range(len(y)), key=lambda k: (y[k], -k))
    classes = range(max(len(y), 2))
    never = HoldsStatement("holds", Domain(case.box), never=decided)
    rows = max(len(y) - 1, 1)
    for tree in ((Leaf("bounds"),), *(data.draw(trees(net.n_units, case.box, rows)) for _ in range(4))):
        assert refused(never, ("never",), tree, net)
        for wrong in (c for c in classes if c != decided):
            always = HoldsStatement("holds", Domain(case.box), always=wrong)
            proofs = tuple(ClaimProof(("always", j), tree) for j in classes if j != wrong)
            assert not check_proof(make_proof(always, proofs, net=net), net)


def relu(weight: float = 1.0, bias: float = 0.0) -> Any:
    return creases.read([([[weight]], [bias]), ([[1.0]], [0.0])])


@pytest.mark.parametrize("weight", [1e300, -1e300, 1e-300, 5e-324, 1.7e308])
@pytest.mark.parametrize("scale", [1.0, 1e10, 1e300, 1e-300])
def test_overflow_and_underflow_prove_nothing(weight: float, scale: float) -> None:
    net = relu(weight)
    x = scale if weight > 0 else -scale
    value = exact_values([([[weight]], [0.0]), ([[1.0]], [0.0])], [x])[0]
    assert value > 0
    box = ((min(x, 0.0), max(x, 0.0)),)
    for limit in (Fraction(0), value / 2, value * (1 - Fraction(1, 2**60))):
        statement = RangeStatement("outputs", Domain(box), (RangeEntry((0,), high=limit),))
        for tree in ((Leaf("bounds"),), (Split("unit", 0), Leaf("bounds"), Leaf("bounds"))):
            assert refused(statement, ("high", 0), tree, net)
    low = RangeStatement("outputs", Domain(box), (RangeEntry((0,), low=Fraction(1, 2**1100)),))
    assert refused(low, ("low", 0), (Leaf("bounds"),), net)


def test_sums_that_overflow_on_the_way_prove_nothing() -> None:
    big = 1.5e308
    net = creases.read([([[1.0], [1.0], [1.0]], [0.0, 0.0, 0.0]), ([[-big, -big, big]], [0.0])])
    statement = RangeStatement("outputs", Domain(((1.0, 1.0),)), (RangeEntry((0,), high=-2.0 * 10.0**300, low=None),))
    exact = exact_values([([[1.0]] * 3, [0.0] * 3), ([[-big, -big, big]], [0.0])], [1.0])[0]
    assert exact == -Fraction(big)
    assert not refused(statement, ("high", 0), (Leaf("bounds"),), net)
    beyond = RangeStatement("outputs", Domain(((1.0, 1.0),)), (RangeEntry((0,), high=-1.6e308),))
    assert refused(beyond, ("high", 0), (Leaf("bounds"),), net)


def test_negative_zero_is_zero() -> None:
    net = relu()
    statement = RangeStatement("outputs", Domain(((-0.0, -0.0),)), (RangeEntry((0,), high=-5e-324),))
    assert refused(statement, ("high", 0), (Leaf("bounds"),), net)
    assert refused(statement, ("high", 0), (Split("unit", 0), Leaf("bounds"), Leaf("bounds")), net)


def test_an_integer_column_between_two_whole_numbers_is_not_cut_at_the_wrong_place() -> None:
    """From 0 the class changes at 2**60 + 1: a float would miss it."""
    big = 2**60
    net = creases.read([([[1.0]], [-float(big)]), ([[1.0]], [-0.5])])
    statement = NearestStatement((0.0,), 0, "linf", (1.0,), ((0.0, 2.0**61),), Fraction(big + 1), integer=(0,))
    assert refused(statement, ("goal", 1), (Leaf("bounds"),), net)
    nearer = NearestStatement((0.0,), 0, "linf", (1.0,), ((0.0, 2.0**61),), Fraction(2 * big + 1, 2), integer=(0,))
    assert not refused(nearer, ("goal", 1), (Leaf("bounds"),), net)


def test_rows_that_are_fractions_are_not_rounded() -> None:
    """x <= 1/3 is not x <= 0.333..., and outputs of 3 x reach 1."""
    net = relu(3.0)
    domain = Domain(((0.0, 1.0),), ((3.0,),), (1.0,))
    leaf = Leaf("multipliers", Multipliers((1.0,), {0: 1.0}))
    for limit, wrong in ((Fraction(1), False), (1 - Fraction(1, 2**80), True)):
        statement = HoldsStatement("holds", domain, outputs=OutputRows(((1.0,),), (limit,)))
        tree = (Split("unit", 0), Leaf("multipliers", Multipliers((1.0,), {0: 0.0})), leaf)
        assert refused(statement, ("row", 0), tree, net) == wrong


def test_a_flat_box_has_coefficients_too() -> None:
    """With x1 fixed on the crease of a unit the unit is neither on nor off: its region is not 'empty'."""
    net = creases.read([([[0.0, 1.0], [1.0, 0.0]], [0.0, 5.0]), ([[1.0, 1.0]], [0.0])])
    statement = RangeStatement("coefficients", Domain(((-1.0, 1.0), (0.0, 0.0))), (RangeEntry((0, 0), high=0.5),))
    leaf = Leaf("empty", Multipliers(sides={0: 1.0}))
    assert refused(statement, ("high", 0, 0), (Split("unit", 0), leaf, leaf), net)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_none_are_no_multipliers(value: float) -> None:
    statement = RangeStatement("outputs", Domain(((-1.0, 1.0),)), (RangeEntry((0,), high=-1.0),))
    for part in ({"sides": {0: value}}, {"slopes": {0: value}}, {"box": {0: value}}, {"rows": (value,)}):
        leaf = Leaf("multipliers", Multipliers(**{"rows": (1.0,), **part}))  # type: ignore[arg-type]
        tree = (Split("unit", 0), leaf, leaf)
        with pytest.raises(InputError, match="proof must be a valid proof"):
            check_proof(make_proof(statement, (ClaimProof(("high", 0), tree),), net=relu()), relu())


def test_a_box_without_numbers_is_refused() -> None:
    for box in (((2.0, 1.0),), ((float("inf"), float("inf")),), ()):
        statement = RangeStatement("outputs", Domain(box), (RangeEntry((0,), high=-1.0),))
        assert refused(statement, ("high", 0), (Leaf("bounds"),), relu())


def test_weights_of_a_claim_are_exact_for_any_magnitude_of_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        W = rng.normal(size=(4, 3)) * 10.0 ** rng.integers(-8, 9, size=(4, 1))
        v = rng.normal(size=(1, 4)) * 10.0 ** rng.integers(-8, 9, size=(1, 4))
        layers = [(W, rng.normal(size=4)), (v, [0.0])]
        x = rng.normal(size=3) * 10.0 ** rng.integers(-8, 9, size=3)
        value = exact_values(layers, x.tolist())[0]
        net, box = creases.read(layers), tuple((float(t), float(t)) for t in x)
        for limit, wrong in ((value, False), (value - abs(value) / 2**70, True)):
            statement = RangeStatement("outputs", Domain(box), (RangeEntry((0,), high=limit),))
            assert refused(statement, ("high", 0), (Leaf("bounds"),), net) == wrong
