"""Proofs as files: what was proved, the tree that proves it, and its recording while a search runs.

A :class:`Proof` is a statement about a network, with the answer and the points that show it, and a tree of splits for
each claim that the answer needs. ``save_proof`` and ``load_proof`` keep it as JSON.
"""

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
    "load_proof",
    "make_proof",
    "mark_model",
    "network_digest",
    "save_proof",
]
