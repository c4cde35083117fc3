"""Proofs as files: what was proved, the tree that proves it, and its recording while a search runs.

A :class:`Proof` is a statement about a network, with the answer and the points that show it, and a tree of splits for
each claim that the answer needs. ``save_proof`` and ``load_proof`` keep it as JSON, and ``check_proof`` decides whether
it shows what it states, by code that no search uses.
"""

from creases.certify.proofs._check import CheckResult, check_proof
from creases.certify.proofs._digest import network_digest
from creases.certify.proofs._files import load_proof, save_proof
from creases.certify.proofs._format import Proof

__all__ = [
    "CheckResult",
    "Proof",
    "check_proof",
    "load_proof",
    "network_digest",
    "save_proof",
]
