"""Proofs that are right are verified, of every kind; proofs that were tampered with are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import creases
from creases.certify.proofs import Proof, check_proof
from creases.certify.proofs._checker.claims import Refusal
from creases.certify.proofs._checker.program import build_machine
from creases.certify.proofs._checker.statements import Subject, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import (
    CaseSet,
    ClaimProof,
    DecisionsStatement,
    DifferenceEntry,
    DifferencesStatement,
    Domain,
    HoldsStatement,
    Leaf,
    Lemma,
    MonotoneStatement,
    Multipliers,
    NearestStatement,
    OutputRows,
    RangeEntry,
    RangeStatement,
    Split,
    VerifyStatement,
)
from creases.errors import InputError
from creases.network import Network
from reference_prover import prove

INF = float("inf")


def build_proof(statement: Any, net: Network, other: Network | None = None, halves: int = 0) -> Proof:
    """Return a proof by the reference prover; without trees if the points of the statement are wrong."""
    machine = build_machine(net, other)
    try:
        claims = derive_claims(Subject(machine, net.n_in, net.n_out), statement)
    except Refusal:
        claims = {}
    proofs = tuple(ClaimProof(key, prove(machine, claim, halves=halves)) for key, claim in claims.items())
    return make_proof(statement, proofs, net=net, other=other)


def verify(statement: Any, net: Network, other: Network | None = None, halves: int = 0) -> Any:
    """Return the check of a proof by the reference prover."""
    return check_proof(build_proof(statement, net, other, halves), net, other)


def random_net(seed: int, *widths: int, leak: float = 0.0) -> Network:
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in pairwise(widths)]
    return creases.read(layers, leak=leak)


SIZE = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
WIDE = ((-1.0, 2.0),)


def one(claim: tuple[Any, ...], *tree: Any) -> tuple[ClaimProof, ...]:
    return (ClaimProof(claim, tree),)


def test_a_bound_that_is_reached_is_proved_by_sides_of_units() -> None:
    """|x| <= 2 on [-1, 2], exactly: one leaf for each pair of sides."""
    statement = RangeStatement("outputs", Domain(WIDE), (RangeEntry((0,), high=2.0, maximum=2.0, argmax=(2.0,)),))
    row = Leaf("multipliers", Multipliers((1.0,)))
    mirrored = Leaf("multipliers", Multipliers((1.0,), sides={0: 1.0, 1: 1.0}))
    tree = (Split("unit", 0), Split("unit", 1), row, row, Split("unit", 1), row, mirrored)
    result = check_proof(make_proof(statement, one(("high", 0), *tree), net=SIZE), SIZE)
    assert result, result
    assert result.nodes == 7
    assert "output 0 is at most 2.0, reaches 2.0 or more" in str(result)


def test_a_bound_below_what_is_reached_is_refused() -> None:
    limit = Fraction(2) - Fraction(1, 10**30)
    statement = RangeStatement("outputs", Domain(WIDE), (RangeEntry((0,), high=limit),))
    row = Leaf("multipliers", Multipliers((1.0,)))
    tree = (Split("unit", 0), Split("unit", 1), row, row, Split("unit", 1), row, row)
    result = check_proof(make_proof(statement, one(("high", 0), *tree), net=SIZE), SIZE)
    assert not result
    assert str(result).startswith("refused: claim high 0, node ")


def test_plain_bounds_suffice_where_no_unit_changes_side() -> None:
    statement = HoldsStatement("holds", Domain(((0.5, 2.0),)), outputs=OutputRows(((1.0,), (-1.0,)), (2.0, -0.5)))
    proofs = one(("row", 0), Leaf("bounds")) + one(("row", 1), Leaf("bounds"))
    assert check_proof(make_proof(statement, proofs, net=SIZE), SIZE)


def test_halves_of_an_input_cover_it() -> None:
    statement = RangeStatement("outputs", Domain(WIDE), (RangeEntry((0,), low=0.0, high=2.0),))
    halves = (Split("input", 0, 0.0), Leaf("bounds"), Leaf("bounds"))
    assert check_proof(make_proof(statement, one(("low", 0), *halves) + one(("high", 0), *halves), net=SIZE), SIZE)


def test_a_lemma_tightens_a_bound_for_all_that_follows() -> None:
    """With x <= 1 as a row, relu(x) <= 1 on [-1, 4] needs the row to bound the unit."""
    net = creases.read([([[1.0]], [0.0]), ([[1.0]], [0.0])])
    statement = RangeStatement("outputs", Domain(((-1.0, 4.0),), ((1.0,),), (1.0,)), (RangeEntry((0,), high=1.5),))
    plain = make_proof(statement, one(("high", 0), Leaf("bounds")), net=net)
    assert "can be missed by 2.5" in str(check_proof(plain, net))
    lemma = Lemma(0, "high", Multipliers(domain={0: 1.0}))
    assert check_proof(make_proof(statement, one(("high", 0), Leaf("bounds", lemmas=(lemma,))), net=net), net)
    split = (Split("unit", 0, lemmas=(lemma,)), Leaf("bounds"), Leaf("bounds"))
    assert check_proof(make_proof(statement, one(("high", 0), *split), net=net), net)


def test_slopes_of_lines_below_units_are_free_between_the_leak_and_1() -> None:
    """-relu(x) - relu(-x) <= 0 needs no slope; x - relu(x) <= 0 needs slope 1, -relu(x) <= 0 slope 0."""
    net = creases.read([([[1.0], [1.0], [-1.0]], [0.0, 5.0, 5.0]), ([[-1.0, 0.5, -0.5]], [0.0])])  # x - relu(x)
    statement = RangeStatement("outputs", Domain(((-3.0, 1.0),)), (RangeEntry((0,), high=0.25),))
    for slope, verified in ((1.0, True), (0.0, False)):
        leaf = Leaf("multipliers", Multipliers((1.0,), slopes={0: slope}))
        assert bool(check_proof(make_proof(statement, one(("high", 0), leaf), net=net), net)) == verified
    beyond = Leaf("multipliers", Multipliers((1.0,), slopes={0: Fraction(10**20 + 1, 10**20)}))
    refused = check_proof(make_proof(statement, one(("high", 0), beyond), net=net), net)
    assert "slope of unit 0 is not between its leak and 1" in str(refused)


def test_an_unbounded_input_is_decided_in_fractions() -> None:
    """relu(x / 3) - relu(x / 3 - 1) never exceeds 1."""
    third = 1.0 / 3.0
    net = creases.read([([[third], [third]], [0.0, -1.0]), ([[1.0, -1.0]], [0.0])])
    statement = RangeStatement("outputs", Domain(((-INF, INF),)), (RangeEntry((0,), high=1.0),))
    leaf = Leaf("multipliers", Multipliers((1.0,)))
    off = Leaf("multipliers", Multipliers((1.0,), sides={1: 1.0}))
    flat = Leaf("multipliers", Multipliers((1.0,), slopes={1: 0.0}))
    tree = (Split("unit", 0), flat, Split("unit", 1), off, leaf)
    assert check_proof(make_proof(statement, one(("high", 0), *tree), net=net), net)
    lower = replace(statement, entries=(RangeEntry((0,), high=0.9999999999999999),))
    assert not check_proof(make_proof(lower, one(("high", 0), *tree), net=net), net)


def test_units_that_mirror_each_other_leave_no_region_where_both_are_off() -> None:
    """The slope of |x| is at most 1; both units on would give 0, off 0, and the true regions -1 and 1."""
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[-1.0, -2.0]], [0.0])])  # -x, then 2 x: slopes -1 and 2
    statement = RangeStatement("coefficients", Domain(WIDE), (RangeEntry((0, 0), low=-1.0, high=2.0),))
    both = Leaf("empty", Multipliers(sides={0: 1.0, 1: 1.0}))
    grad = Leaf("gradient")
    tree = (Split("unit", 0), Split("unit", 1), grad, grad, Split("unit", 1), grad, both)
    assert check_proof(make_proof(statement, one(("low", 0, 0), *tree) + one(("high", 0, 0), *tree), net=net), net)
    off = creases.read([([[1.0], [-1.0], [1.0]], [0.0, 0.0, 10.0]), ([[-1.0, 1.0, 1.0]], [0.0])])  # x -|x|: 0 or... 2
    narrow = RangeStatement("coefficients", Domain(WIDE), (RangeEntry((0, 0), high=0.0),))
    open_leaf = (Split("unit", 0), Split("unit", 1), both, grad, Split("unit", 1), grad, both)
    assert check_proof(make_proof(narrow, one(("high", 0, 0), *open_leaf), net=off), off)


def test_a_unit_that_is_zero_everywhere_is_off_and_not_nowhere() -> None:
    """Both sides of a unit without weights would be 'empty': nothing would be covered."""
    net = creases.read([([[0.0], [1.0]], [0.0, 5.0]), ([[1.0, 1.0]], [0.0])])
    statement = RangeStatement("coefficients", Domain(WIDE), (RangeEntry((0, 0), high=0.0),))  # it is 1
    empty = Leaf("empty", Multipliers(sides={0: 1.0}))
    refused = check_proof(make_proof(statement, one(("high", 0, 0), Split("unit", 0), empty, empty), net=net), net)
    assert "node 1: the multipliers give a bound of 0, which is not below 0" in str(refused)


SQUARE = ((-1.0, 1.0), (-0.5, 2.0))


def extremes(net: Network, n: int = 4000) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform([-1, -0.5], [1, 2], size=(n, 2))
    return X, np.asarray(net(X)).reshape(n, -1)


@pytest.mark.thorough
@pytest.mark.parametrize("leak", [0.0, 0.25, -1.0, 1.5])
@pytest.mark.parametrize("halves", [0, 2])
def test_ranges_are_verified_with_every_leak(leak: float, halves: int) -> None:
    net = random_net(1, 2, 3, 2, 1, leak=leak)
    X, y = extremes(net)
    best = X[int(y[:, 0].argmax())]
    high = float(y.max()) + 0.3
    entry = RangeEntry((0,), float(y.min()) - 0.3, high, None, float(y.max()) - 1e-9, None, tuple(best))
    result = verify(RangeStatement("outputs", Domain(SQUARE), (entry,)), net, halves=halves)
    assert result, result


def test_differences_of_outputs_and_rows_of_the_domain_are_verified() -> None:
    net = random_net(2, 2, 4, 3)
    X, y = extremes(net)
    inside = X @ [1.0, 1.0] <= 0.5
    high = float((y[:, 0] - y[:, 2])[inside].max()) + 0.1
    domain = Domain(SQUARE, ((1.0, 1.0),), (0.5,))
    assert verify(RangeStatement("differences", domain, (RangeEntry((0, 2), high=high),)), net)
    wider = RangeStatement("differences", Domain(SQUARE), (RangeEntry((0, 2), high=high),))
    assert not verify(wider, net)


def test_decisions_are_verified() -> None:
    net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]], [3.5, 0, 1])])
    assert verify(HoldsStatement("holds", Domain(SQUARE), never=1), net)
    assert verify(HoldsStatement("holds", Domain(SQUARE), never=2), net)
    assert verify(HoldsStatement("holds", Domain(SQUARE), always=0), net)
    assert not verify(HoldsStatement("holds", Domain(SQUARE), never=0), net)
    violated = HoldsStatement("violated", Domain(SQUARE), never=0, point=(0.0, 0.0))
    assert (
        str(verify(violated, net))
        == "verified: the input (0.0, 0.0) of the box [-1.0, 1.0] x [-0.5, 2.0] is decided for class 0"
    )
    assert "holds at the point" in str(verify(replace(violated, never=1), net))
    assert "outside of the domain" in str(verify(replace(violated, point=(0.0, 2.5)), net))


def test_ties_are_decided_for_the_first_class() -> None:
    """Outputs that are always equal: class 0 is always decided, class 1 never."""
    net = creases.read([([[1.0]], [0.0]), ([[1.0], [1.0]], [0.0, 0.0])])
    domain = Domain(WIDE)
    always = make_proof(HoldsStatement("holds", domain, always=0), one(("always", 1), Leaf("bounds")), net=net)
    assert check_proof(always, net)
    never = make_proof(HoldsStatement("holds", domain, never=1), one(("never",), Leaf("bounds")), net=net)
    assert check_proof(never, net)
    for statement, key in (
        (HoldsStatement("holds", domain, always=1), ("always", 0)),
        (HoldsStatement("holds", domain, never=0), ("never",)),
    ):
        assert not check_proof(make_proof(statement, one(key, Leaf("bounds")), net=net), net)


def test_the_sign_of_a_single_output_is_the_decision() -> None:
    net = creases.read([([[1.0]], [0.0]), ([[-1.0]], [0.0])])  # -relu(x): class 0 everywhere, also where it is 0
    proofs = one(("never",), Leaf("bounds"))
    assert check_proof(make_proof(HoldsStatement("holds", Domain(WIDE), never=1), proofs, net=net), net)
    assert not check_proof(make_proof(HoldsStatement("holds", Domain(WIDE), never=0), proofs, net=net), net)
    always = make_proof(HoldsStatement("holds", Domain(WIDE), always=0), one(("always", 1), Leaf("bounds")), net=net)
    assert check_proof(always, net)


def test_cases_of_a_property_are_verified() -> None:
    net = random_net(3, 2, 3, 2)
    _, y = extremes(net)
    zeros = ((0.0, 0.0),)
    case = CaseSet(SQUARE, (), (), ((-1.0, 0.0),), zeros, (-float(y[:, 0].max()) - 0.3,))  # y0 >= max + 0.3
    nothing = CaseSet(SQUARE, ((1.0, 0.0),), (-2.0,), (), (), ())  # x0 <= -2
    mixed = CaseSet(SQUARE, (), (), ((0.0, 0.0),), ((1.0, 0.0),), (-1.5,))  # x0 <= -1.5, as a row of outputs
    result = verify(VerifyStatement("holds", (case, nothing, mixed)), net)
    assert str(result).startswith("verified: the property holds: no input is in any of its 3 cases: inputs of the box")
    reached = replace(case, d=(-float(y[:, 0].max()) + 0.1,))
    X, _ = extremes(net)
    x = tuple(X[int(y[:, 0].argmax())])
    assert verify(VerifyStatement("violated", (nothing, reached), x), net)
    assert "in none of the cases" in str(verify(VerifyStatement("violated", (nothing, case), x), net))


def test_monotone_outputs_are_verified() -> None:
    rng = np.random.default_rng(5)
    layers = [(np.abs(rng.normal(size=(3, 2))), rng.normal(size=3)), (np.abs(rng.normal(size=(1, 3))), [0.0])]
    net = creases.read(layers)
    domain = Domain(SQUARE, ((1.0, -1.0),), (0.5,))
    statement = MonotoneStatement("holds", domain, 1, 0, "rising", interior=(-0.5, 0.5))
    assert "never falls as input 1 grows in the box [-1.0, 1.0] x [-0.5, 2.0] with x0 - x1 <= 0.5" in str(
        verify(statement, net)
    )
    assert not verify(replace(statement, direction="falling"), net)
    assert "interior point is not inside" in str(verify(replace(statement, interior=(0.5, 0.0)), net))
    pair = ((0.0, 0.5), (0.0, 1.5))
    falling = MonotoneStatement("violated", Domain(SQUARE), 1, 0, "falling", pair=pair)
    assert verify(falling, net)
    assert "must differ in column 0 alone" in str(verify(replace(falling, column=0), net))
    assert "wrong way" in str(verify(replace(falling, direction="rising"), net))


@pytest.mark.slow
def test_coefficients_are_verified_where_units_are_known() -> None:
    net = random_net(7, 2, 3, 1)
    rng = np.random.default_rng(0)
    X = rng.uniform([-1, -0.5], [1, 2], size=(3000, 2))
    J = np.array([net.piece(x).J[0, 1] for x in X])
    x = tuple(X[int(J.argmax())])
    entry = RangeEntry((0, 1), float(J.min()) - 1e-9, float(J.max()) + 1e-9, None, float(J.max()) - 1e-9, None, x)
    result = verify(RangeStatement("coefficients", Domain(SQUARE), (entry,)), net)
    assert result, result
    assert not verify(
        RangeStatement("coefficients", Domain(SQUARE), (replace(entry, high=float(J.max()) - 1e-9),)), net
    )


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_distances_to_another_decision_are_verified(norm: Any) -> None:
    """Relu(x0) + relu(x1) - 1 at (-0.5, 0.25): the nearest change is (-0.5, 1), further for linf."""
    net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    free = ((-INF, INF), (-INF, INF))
    lower = 0.6 if norm == "linf" else 0.74
    statement = NearestStatement(
        (-0.5, 0.25), 0, norm, (1.0, 1.0), free, lower, distance=0.75, point=(Fraction(-1, 2), 1.0)
    )
    leaf = (Split("unit", 0), Leaf("bounds"), Split("unit", 1), Leaf("bounds"), Leaf("bounds"))
    result = check_proof(make_proof(statement, one(("goal", 1), *leaf), net=net), net)
    assert result, result
    further = replace(statement, lower_bound=0.76)
    assert not check_proof(make_proof(further, one(("goal", 1), *leaf), net=net), net)
    near = replace(statement, distance=0.7499999999)
    assert "further away" in str(check_proof(make_proof(near, one(("goal", 1), *leaf), net=net), net))
    other = replace(statement, predicted=1)
    assert "class of the input is not 1" in str(check_proof(make_proof(other, (), net=net), net))


def test_whole_numbers_and_groups_are_part_of_the_question() -> None:
    """Class 1 where x0 > 0.5: the next whole number is 1, and with x0 + x1 = 1 that is x1 = 0."""
    net = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.5])])
    box = ((-3.0, 3.0), (-3.0, 3.0))
    statement = NearestStatement(
        (0.0, 1.0), 0, "linf", (1.0, 1.0), box, 0.9, (0, 1), ((0, 1),), None, None, 1.0, (1.0, 0.0)
    )
    proofs = one(("goal", 1), Leaf("bounds"))
    assert check_proof(make_proof(statement, proofs, net=net), net)
    for change in ({"integer": (), "one_hot": ()}, {"point": (0.5, 0.5)}, {"point": (1.0, 1.0)}):
        assert not check_proof(make_proof(replace(statement, **change), proofs, net=net), net), change
    fraction = replace(statement, one_hot=(), integer=(0,), point=(0.75, 0.0))
    assert "outside of what is allowed" in str(check_proof(make_proof(fraction, proofs, net=net), net))


def test_a_target_and_a_range_of_an_output_are_goals() -> None:
    net = random_net(11, 2, 3, 3)
    x = (0.0, 0.0)
    y = np.asarray(net(np.array(x)))
    predicted = int(y.argmax())
    other = (predicted + 1) % 3
    rest = NearestStatement(x, predicted, "l2", (1.0, 2.0), SQUARE, 1e-3)
    assert verify(rest, net)
    assert verify(replace(rest, target=other), net)
    single = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    ranged = NearestStatement(
        (0.0,), 0, "l1", (1.0,), ((-5.0, 5.0),), 1.9, target_range=(2.0, 3.0), distance=2.0, point=(2.0,)
    )
    assert verify(ranged, single)
    assert "does not reach" in str(verify(replace(ranged, point=(3.5,), distance=4.0), single))
    none = NearestStatement((0.0,), 0, "l1", (1.0,), ((-5.0, 5.0),), INF, target_range=(None, -0.5))
    assert verify(none, single)


@pytest.mark.slow
def test_two_networks_are_verified() -> None:
    a, b = random_net(20, 2, 3, 2), random_net(21, 2, 2, 2)
    X, ya = extremes(a)
    yb = np.asarray(b(X)).reshape(len(X), -1)
    gap = np.abs(ya - yb)
    entries = tuple(
        DifferenceEntry(
            i, float(gap[:, i].max()) + 0.2, float(gap[:, i].max()) - 1e-9, tuple(X[int(gap[:, i].argmax())])
        )
        for i in range(2)
    )
    result = verify(DifferencesStatement(SQUARE, entries), a, b)
    assert result, result
    assert not verify(DifferencesStatement(SQUARE, (replace(entries[0], upper=float(gap[:, 0].max()) - 0.01),)), a, b)
    assert not verify(DifferencesStatement(SQUARE, (replace(entries[0], lower=float(gap[:, 0].max()) + 0.01),)), a, b)


def test_decisions_of_two_networks_are_verified() -> None:
    first = creases.read([([[1.0, 0.0]], [2.0]), ([[1.0], [-1.0]], [0.0, 0.0])])
    second = creases.read([([[2.0, 0.0]], [3.0]), ([[1.0], [-1.0]], [0.0, 0.0])])
    assert verify(DecisionsStatement("same", SQUARE), first, second)
    third = creases.read([([[2.0, 0.0]], [0.0]), ([[1.0], [-1.0]], [-0.5, 0.5])])
    assert not verify(DecisionsStatement("same", SQUARE), first, third)
    different = DecisionsStatement("different", SQUARE, (0, 1), (0.0, 0.0))
    assert verify(different, first, third)
    assert not verify(replace(different, classes=(1, 0)), first, third)
    assert not verify(replace(different, point=(1.0, 0.0)), first, third)
    assert not verify(replace(different, point=(0.0, 3.0)), first, third)


def test_a_network_and_itself_decide_alike_even_at_ties() -> None:
    net = random_net(30, 2, 3, 2)
    zero = one(("pair", 0, 1), Leaf("multipliers", Multipliers((1.0, 1.0)))) + one(
        ("pair", 1, 0), Leaf("multipliers", Multipliers((1.0, 1.0)))
    )
    assert check_proof(make_proof(DecisionsStatement("same", SQUARE), zero, net=net, other=net), net, net)


@pytest.fixture(scope="module")
def proved() -> tuple[Network, Proof]:
    net = random_net(40, 2, 3, 1)
    _, y = extremes(net)
    entry = RangeEntry((0,), high=float(y.max()) + 1e-2)
    return net, build_proof(RangeStatement("outputs", Domain(SQUARE), (entry,)), net, halves=1)


def change_node(proof: Proof, number: int, node: Any) -> Proof:
    tree = list(proof.proofs[0].tree)
    tree[number : number + 1] = [] if node is None else [node]
    return replace(proof, proofs=(replace(proof.proofs[0], tree=tuple(tree)),))


def test_the_proof_that_is_tampered_with_is_right(proved: Any) -> None:
    net, proof = proved
    assert check_proof(proof, net)


def tampered(proof: Proof) -> dict[str, Proof]:
    statement: Any = proof.statement
    tree: Any = proof.proofs[0].tree
    entry, box = statement.entries[0], statement.domain.box
    # The leaves in which the claim is nearly reached.
    used = [i for i, node in enumerate(tree) if isinstance(node, Leaf) and node.by == "multipliers"]
    units = [i for i, node in enumerate(tree) if isinstance(node, Split) and node.kind == "unit"]
    last = used[-1]
    return {
        "limit": replace(proof, statement=replace(statement, entries=(replace(entry, high=entry.high - 0.5),))),
        "domain": replace(proof, statement=replace(statement, domain=Domain(((-3.0, 3.0), (-3.0, 4.0))))),
        "another claim": replace(proof, statement=replace(statement, entries=(RangeEntry((0,), low=entry.high),))),
        "no proof": replace(proof, proofs=()),
        "proof twice": replace(proof, proofs=proof.proofs * 2),
        "missing child": change_node(proof, last, None),
        "another node": change_node(proof, last, Split("unit", 0)),
        "split beyond the box": change_node(proof, 0, replace(tree[0], at=float(box[1][1]) + 1)),
        "split of no input": change_node(proof, 0, replace(tree[0], index=2)),
        "split of no unit": change_node(proof, units[0], Split("unit", 3)),
        "unit twice": change_node(proof, units[1], Split("unit", 0)),
        "negative multiplier": change_node(proof, last, Leaf("multipliers", Multipliers((-1.0,)))),
        "no multiplier": change_node(proof, last, Leaf("multipliers", Multipliers((0.0,)))),
        "too many multipliers": change_node(proof, last, Leaf("multipliers", Multipliers((1.0, 0.0)))),
        "multiplier of no row": change_node(proof, last, Leaf("multipliers", Multipliers((1.0,), {0: 1.0}))),
        "gradient": change_node(proof, last, Leaf("gradient")),
        "empty": change_node(proof, last, Leaf("empty")),
        "more nodes": replace(proof, proofs=(replace(proof.proofs[0], tree=(*tree, Leaf("bounds"))),)),
        "no nodes": replace(proof, proofs=(replace(proof.proofs[0], tree=()),)),
        "digest": replace(proof, model=replace(proof.model, digest="0" * 64)),
        "sizes": replace(proof, model=replace(proof.model, n_in=3)),
        "second network": replace(proof, other=proof.model),
    }


def test_every_kind_of_tampering_is_refused(proved: Any) -> None:
    net, proof = proved
    for name, each in tampered(proof).items():
        result = check_proof(each, net)
        assert not result, name
        assert result.text, name


def test_multipliers_matter(proved: Any) -> None:
    """Without their sides, or with them at 100 times their size, some leaf shows nothing."""
    net, proof = proved
    tree = proof.proofs[0].tree
    refused = {"without": 0, "larger": 0}
    for i, node in enumerate(tree):
        if isinstance(node, Leaf) and node.multipliers.sides:
            parts = node.multipliers
            sides = {u: 100 * beta for u, beta in parts.sides.items()}
            refused["without"] += not check_proof(change_node(proof, i, Leaf(node.by, replace(parts, sides={}))), net)
            refused["larger"] += not check_proof(change_node(proof, i, Leaf(node.by, replace(parts, sides=sides))), net)
    assert min(refused.values()) > 0


def test_children_in_the_other_order_are_refused() -> None:
    statement = RangeStatement("outputs", Domain(WIDE), (RangeEntry((0,), low=0.0, high=2.0),))
    row = Leaf("multipliers", Multipliers((1.0,)))
    mirrored = Leaf("multipliers", Multipliers((1.0,), sides={0: 1.0, 1: 1.0}))
    tree = (Split("unit", 0), Split("unit", 1), row, row, Split("unit", 1), mirrored, row)
    low = one(("low", 0), Split("input", 0, 0.0), Leaf("bounds"), Leaf("bounds"))
    assert not check_proof(make_proof(statement, low + one(("high", 0), *tree), net=SIZE), SIZE)


def test_another_model_is_refused(proved: Any) -> None:
    _, proof = proved
    layers = random_net(40, 2, 3, 1)
    weight = layers.steps[0].tensors["weight"].clone()
    weight[0, 0] = np.nextafter(float(weight[0, 0]), 10)
    changed = Network(
        [replace(layers.steps[0], tensors={**layers.steps[0].tensors, "weight": weight}), *layers.steps[1:]], (2,)
    )
    assert "its weights differ" in str(check_proof(proof, changed))


def test_a_side_that_is_not_fixed_is_not_used() -> None:
    statement = RangeStatement("outputs", Domain(WIDE), (RangeEntry((0,), high=-5.0),))
    leaf = Leaf("multipliers", Multipliers((1.0,), sides={0: 1e9}))
    refused = check_proof(make_proof(statement, one(("high", 0), leaf), net=SIZE), SIZE)
    assert "the side of unit 0 is used but not known" in str(refused)


def test_the_number_of_networks_must_fit(proved: Any) -> None:
    net, proof = proved
    with pytest.raises(InputError, match="other must be left out"):
        check_proof(proof, net, net)
    with pytest.raises(InputError, match="other must be given"):
        check_proof(make_proof(DecisionsStatement("same", SQUARE), net=net, other=net), net)


def test_a_proof_that_is_not_valid_is_an_input_error() -> None:
    proof: Any = make_proof(HoldsStatement("holds", Domain(((0.0, float("nan")),)), never=1), net=SIZE)
    with pytest.raises(InputError, match="proof must be a valid proof"):
        check_proof(proof, SIZE)


def test_progress_counts_nodes(proved: Any) -> None:
    net, proof = proved
    seen: list[tuple[Any, ...]] = []
    check_proof(proof, net, progress=lambda *part: seen.append(part))
    total = len(proof.proofs[0].tree)
    assert seen == [("checking nodes", i + 1, total) for i in range(total)]
