"""Proofs as files: what was proved, the tree that proves it, and its recording while a search runs.

A :class:`Proof` is a statement about a network, with the answer and the points that show it, and a tree of splits for
each claim that the answer needs. ``save_proof`` and ``load_proof`` keep it as JSON, and ``check_proof`` decides whether
it shows what it states, by code that no search uses.
"""

from creases.certify.proofs._check import CheckResult, check_proof
from creases.certify.proofs._digest import make_proof, mark_model, network_digest
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
    ModelMark,
    MonotoneStatement,
    Multipliers,
    NearestStatement,
    OutputRows,
    Proof,
    RangeEntry,
    RangeStatement,
    Split,
    VerifyStatement,
)
from creases.certify.proofs._record import TreeRecord
from creases.certify.proofs._store import load_proof, save_proof

__all__ = [
    "CaseSet",
    "CheckResult",
    "ClaimProof",
    "DecisionsStatement",
    "DifferenceEntry",
    "DifferencesStatement",
    "Domain",
    "HoldsStatement",
    "Leaf",
    "Lemma",
    "ModelMark",
    "MonotoneStatement",
    "Multipliers",
    "NearestStatement",
    "OutputRows",
    "Proof",
    "RangeEntry",
    "RangeStatement",
    "Split",
    "TreeRecord",
    "VerifyStatement",
    "check_proof",
    "load_proof",
    "make_proof",
    "mark_model",
    "network_digest",
    "save_proof",
]
