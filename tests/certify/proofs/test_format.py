"""Proof files: what is written is read back, and whatever does not fit is refused with its place."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import creases
from creases.certify.proofs import Proof, load_proof, network_digest, save_proof
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
from creases.certify.proofs._record import TreeRecord
from creases.errors import FileError, RequestError

BOX = ((-1.0, 2.0),)
LAYERS: list[Any] = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])]
ABS = creases.read(LAYERS)

STATEMENTS: list[Any] = [
    VerifyStatement("holds", (CaseSet(BOX, (), (), ((-1.0,),), ((0.0,),), (-2.5,)),)),
    VerifyStatement("violated", (CaseSet(BOX, ((1.0,),), (1.0,), ((-1.0,),), ((0.0,),), (-0.5,)),), (Fraction(1, 3),)),
    HoldsStatement("holds", Domain(BOX), never=1),
    HoldsStatement("violated", Domain(BOX), outputs=OutputRows(((1.0,),), (1.0,)), point=(2.0,)),
    MonotoneStatement("holds", Domain(BOX, ((1.0,),), (1.0,)), 0, 0, "rising", 1e-6, interior=(0.5,)),
    MonotoneStatement("violated", Domain(BOX), 0, 0, "falling", pair=((0.0,), (1.0,))),
    RangeStatement("outputs", Domain(BOX), (RangeEntry((0,), 0.0, 2.0, 0.0, 2.0, (0.0,), (2.0,)), RangeEntry((0,)))),
    NearestStatement((0.5,), 1, "l2", (1.0,), ((float("-inf"), float("inf")),), 0.5, target_range=(None, 2.0)),
    NearestStatement((0.5,), 1, "l1", (1.0,), BOX, float("inf"), integer=(0,), one_hot=((0,),), target=0),
    DifferencesStatement(BOX, (DifferenceEntry(0, 0.5, Fraction(1, 2), (-1.0,)), DifferenceEntry(0))),
    DecisionsStatement("different", BOX, (0, 1), (0.25,)),
]

TREE = (
    Split("input", 0, Fraction(1, 3), (Lemma(1, "high", Multipliers(domain={0: 0.5})),)),
    Split("unit", 1),
    Leaf("bounds"),
    Leaf("empty", Multipliers(sides={1: Fraction(2, 7), 0: 1e-300})),
    Leaf("multipliers", Multipliers((1.0, 0.0), {1: 0.25}, {0: 1.5}, {1: 0.0}, {0: -3.0})),
)


@pytest.fixture
def proof() -> Proof:
    return make_proof(STATEMENTS[0], (ClaimProof(("case", 0), TREE),), net=ABS, other=ABS)


@pytest.mark.parametrize("name", ["proof.json", "proof.json.gz"])
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: type(each).__name__)
def test_a_proof_is_read_as_it_was_written(statement: Any, name: str, tmp_path: Any) -> None:
    proof = make_proof(statement, (ClaimProof(("pair", 0, 1), TREE),), net=ABS)
    assert load_proof(save_proof(proof, tmp_path / name)) == proof


def test_a_compressed_proof_is_smaller_and_always_the_same(proof: Proof, tmp_path: Any) -> None:
    plain, packed, again = (save_proof(proof, tmp_path / name) for name in ("a.json", "b.json.gz", "c.json.gz"))
    assert packed.stat().st_size < plain.stat().st_size
    assert packed.read_bytes() == again.read_bytes()


def test_arrays_are_stored_as_their_numbers(tmp_path: Any) -> None:
    box: Any = np.array([[-1.0, np.inf]])
    A: Any = np.eye(1)
    ones: Any = np.ones(1)
    index: Any = [np.int64(0)]
    statement = RangeStatement("outputs", Domain(box, A, ones), (RangeEntry(index, np.float64(1)),))
    tree = (Leaf("multipliers", Multipliers(0.5 * ones, sides={index[0]: np.float64(0.1)})),)
    proof = load_proof(save_proof(make_proof(statement, (ClaimProof(("low", 0), tree),), net=ABS), tmp_path / "p.json"))
    assert proof.statement == RangeStatement(
        "outputs", Domain(((-1.0, float("inf")),), ((1.0,),), (1.0,)), (RangeEntry((0,), 1.0),)
    )
    assert proof.proofs[0].tree == (Leaf("multipliers", Multipliers((0.5,), sides={0: 0.1})),)


@pytest.mark.slow
def test_a_deep_tree_is_stored(tmp_path: Any) -> None:
    record, node = TreeRecord(), 0
    for _ in range(20_000):
        node, other = record.split(node, "unit", 0)
        record.close(other, Leaf("bounds"))
    record.close(node, Leaf("bounds"))
    proof = make_proof(STATEMENTS[0], (ClaimProof(("case", 0), record.tree()),), net=ABS)
    assert load_proof(save_proof(proof, tmp_path / "deep.json")) == proof


def test_a_record_gives_nodes_in_preorder_whatever_the_order_of_the_search() -> None:
    record = TreeRecord()
    left, right = record.split(0, "input", 0, 0.5)
    record.close(right, Leaf("gradient"))
    off, on = record.split(left, "unit", 2)
    record.close(on, Leaf("empty"))
    with pytest.raises(RequestError, match=f"node {off} of the tree is open"):
        record.tree()
    record.close(off, Leaf("bounds"))
    assert record.tree() == (
        Split("input", 0, 0.5),
        Split("unit", 2),
        Leaf("bounds"),
        Leaf("empty"),
        Leaf("gradient"),
    )


def test_the_digest_changes_with_every_weight() -> None:
    digests = {network_digest(ABS)}
    for layer, part, change in [(0, 0, [[1.0], [-1.0000000000000002]]), (0, 1, [0.0, 5e-324]), (1, 0, [[1.0, 1.5]])]:
        layers = [list(pair) for pair in LAYERS]
        layers[layer][part] = change
        digests.add(network_digest(creases.read([tuple(pair) for pair in layers])))
    assert len(digests) == 4


def _change(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    at = value
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return value


BAD = [
    ((("format",), "other"), 'not a "creases proof"'),
    ((("version",), 1), "version is 1"),
    ((("more",), 2), "must have the entries"),
    ((("statement", "kind"), "sure"), "statement.kind"),
    ((("statement", "verdict"), "maybe"), "statement.verdict must be one of"),
    ((("statement", "more"), 1), "unknown entry"),
    ((("statement", "cases", 0, "d"), [True]), r"statement.cases\[0\].d\[0\] must be a number"),
    ((("statement", "cases", 0, "d"), ["1/0"]), "must not divide by 0"),
    ((("statement", "cases", 0, "d"), ["1/00"]), "must not divide by 0"),
    ((("statement", "cases", 0, "d"), ["0x1"]), "a number or a text"),
    ((("statement", "cases", 0, "d"), ["inf"]), "a number or a text"),
    ((("statement", "cases", 0, "d"), [None]), "must be a number"),
    ((("statement", "cases", 0, "box"), [[0.0]]), "must have 2 entries"),
    ((("statement", "cases", 0, "box"), [["nan", 1.0]]), "a number or a text"),
    ((("statement", "cases", 0, "box"), {}), "must be a list"),
    ((("model", "n_in"), -1), "model.n_in must be a whole number"),
    ((("model", "n_in"), 1.0), "model.n_in must be a whole number"),
    ((("model", "digest"), 3), "model.digest must be a text"),
    ((("proofs",), {}), "proofs must be a list"),
    ((("proofs", 0, "claim"), [1.5]), "words and whole numbers"),
    ((("proofs", 0, "tree", 0), []), r"proofs\[0\].tree\[0\] must be an object"),
    ((("proofs", 0, "tree", 0, "split"), ["input", 0]), "split must be"),
    ((("proofs", 0, "tree", 0, "split"), ["unit", 0, 1.0]), "split must be"),
    ((("proofs", 0, "tree", 0, "by"), "bounds"), "either a split or a leaf"),
    ((("proofs", 0, "tree", 2, "by"), "trust"), r"tree\[2\].by must be one of"),
    ((("proofs", 0, "tree", 2, "weights"), 1), "unknown entry"),
    ((("proofs", 0, "tree", 3, "sides"), [[1, 1], [0.5, 0.5]]), "names a number twice"),
    ((("proofs", 0, "tree", 3, "sides"), [[1], [0.5, 0.5]]), "has 1 numbers but 2 values"),
    ((("proofs", 0, "tree", 0, "lemmas", 0, "end"), "both"), "end must be one of"),
    ((("proofs", 0, "tree", 0, "lemmas", 0, "rows"), [1]), "must have no rows"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda part: str(part)[:40])
def test_what_does_not_fit_is_refused_with_its_place(change: Any, message: str, proof: Proof, tmp_path: Any) -> None:
    path = save_proof(proof, tmp_path / "proof.json")
    value = _change(json.loads(path.read_text()), *change)
    path.write_text(json.dumps(value))
    with pytest.raises(FileError, match=message):
        load_proof(path)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused(constant: str, proof: Proof, tmp_path: Any) -> None:
    path = save_proof(proof, tmp_path / "proof.json")
    path.write_text(path.read_text().replace("-2.5", constant))
    with pytest.raises(FileError, match=r"is not a number|must be finite"):
        load_proof(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[" * 100_000,
        b'{"format": "creases proof", "format": "creases proof"}',
        b"\xff\xfe",
        b"1" * 5000,
        gzip.compress(b"{}")[:-4],
        b"\x1f\x8b\x08",
        b"3",
    ],
    ids=range(8),
)
def test_damaged_files_are_refused_in_words(data: bytes, tmp_path: Any) -> None:
    path = tmp_path / "proof.json"
    path.write_bytes(data)
    with pytest.raises(FileError, match="cannot read"):
        load_proof(path)


def test_a_truncated_file_is_refused(proof: Proof, tmp_path: Any) -> None:
    for name in ("proof.json", "proof.json.gz"):
        path = save_proof(proof, tmp_path / name)
        whole = path.read_bytes()
        for size in range(0, len(whole), 37):
            path.write_bytes(whole[:size])
            with pytest.raises(FileError):
                load_proof(path)


def test_a_missing_file_is_named(tmp_path: Any) -> None:
    with pytest.raises(FileError, match="there is no such file"):
        load_proof(tmp_path / "none.json")


def test_a_proof_with_a_number_that_is_not_one_is_not_written(tmp_path: Any) -> None:
    proof = make_proof(HoldsStatement("holds", Domain(((float("nan"), 1.0),)), never=1), net=ABS)
    with pytest.raises(FileError, match="the proof is not valid"):
        save_proof(proof, tmp_path / "proof.json")
