"""Cuts: a half-space of inputs that a claim can be false of is enough to look at, and no more is left out."""

from __future__ import annotations

import pytest

import creases
from creases.certify.proofs import check_proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, Domain, HoldsStatement, Leaf, Multipliers, OutputRows

#: y = relu(x) - relu(x - 1): 0 to x = 0, then x, then 1 from x = 1 on.
NET = creases.read([([[1.0], [1.0]], [0.0, -1.0]), ([[1.0, -1.0]], [0.0])])

#: Where y exceeds a limit, x does: relu(x) - relu(x - 1) is at most relu(x), and that at most its chord.
CUT = Multipliers((1.0,))


def accepted(limit: float, leaf: Leaf, low: float = -1.0) -> bool:
    statement = HoldsStatement("holds", Domain(((low, 1.0),)), outputs=OutputRows(((1.0,),), (limit,)))
    return bool(check_proof(make_proof(statement, (ClaimProof(("row", 0), (leaf,)),), net=NET), NET))


def test_a_cut_proves_what_bounds_do_not() -> None:
    assert not accepted(1.0, Leaf("empty"))
    assert accepted(1.0, Leaf("bounds", cuts=(CUT,)))


@pytest.mark.parametrize("limit", [0.5, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("by", ["bounds", "multipliers", "empty"])
def test_a_false_limit_is_refused_whatever_is_cut(limit: float, by: str) -> None:
    shown = CUT if by == "multipliers" else Multipliers()
    for cut in (CUT, Multipliers((7.0,), slopes={1: 0.5}), Multipliers((1.0,), box={0: 3.0}), Multipliers()):
        for cuts in ((cut,), (CUT, cut), (cut, cut, cut)):
            assert not accepted(limit, Leaf(by, shown, cuts=cuts))  # type: ignore[arg-type]


def test_what_a_cut_leaves_empty_is_not_called_empty() -> None:
    """No input exceeds the limit; that is not to say that there are no inputs."""
    statement = HoldsStatement("holds", Domain(((-1.0, -0.5),)), outputs=OutputRows(((1.0,),), (0.25,)))
    tree = (Leaf("empty", cuts=(CUT,)),)
    proof = make_proof(statement, (ClaimProof(("row", 0), tree),), net=NET)
    result = check_proof(proof, NET)
    assert not result or not result.vacuous
