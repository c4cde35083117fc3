"""The check of a proof: whether it shows what it states about a network, and states what a user asks for, or more."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._document import Document
from creases._files import read_text
from creases._text import plural
from creases._typing import Progress
from creases._versions import version
from creases.certify.proofs._checker.claims import Refusal, require
from creases.certify.proofs._checker.program import build_machine
from creases.certify.proofs._checker.runs import join_runs
from creases.certify.proofs._checker.statements import Claims, Subject, derive_claims
from creases.certify.proofs._checker.trees import check_tree
from creases.certify.proofs._checker.vacuity import find_vacuity
from creases.certify.proofs._digest import as_plain, network_digest
from creases.certify.proofs._files import parse_proof_text, proof_from_json, proof_to_json, read_statement
from creases.certify.proofs._format import (
    ClaimKey,
    DecisionsStatement,
    DifferencesStatement,
    ModelMark,
    Proof,
    Statement,
)
from creases.certify.proofs._words import describe
from creases.errors import FileError, InputError, RequestError

if TYPE_CHECKING:
    from creases.certify.proofs._checker.plain import PlainNetwork
    from creases.network import NetworkLike


@dataclass(frozen=True)
class CheckResult:
    """Whether a proof shows what it states; true in a condition if it does."""

    verified: bool
    text: str  #: the statement in words, or where and why the proof is refused
    nodes: int  #: nodes of trees that were checked
    seconds: float
    vacuous: bool = False  #: whether the statement says nothing: it claims nothing, or no input is allowed

    def __bool__(self) -> bool:
        """Return whether the proof is verified."""
        return self.verified

    def __str__(self) -> str:
        return f"{'verified' if self.verified else 'refused'}: {self.text}"

    def describe(self) -> Document:
        """Return whether the proof is verified, what it states or why it is refused, and what was checked."""
        checked = f"{plural(self.nodes, 'node')}, {self.seconds:.2f} s"
        return Document("Check of a proof", str(self), [{"title": "Checked", "text": checked}], asdict(self))


def check_proof(
    proof: Proof,
    net: NetworkLike,
    other: NetworkLike | None = None,
    *,
    statement: str | Path | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> CheckResult:
    """Check a proof about a network, in arithmetic that no rounding can break.

    The claims that must be proved follow from the statement alone. Points are checked in fractions, trees of splits in
    float64 with bounds of the rounding, and in fractions where these do not decide. Nothing of the searches that write
    proofs is used. The network means its function of real numbers, with the float64 values of its weights.

    Parameters
    ----------
    proof
        As :func:`load_proof` returns it, or a result of :mod:`creases.certify` carries it.
    net, other
        The network of the statement; the second one for differences and decisions.
    statement
        What the proof must state, or more: a JSON file with what a proof file has as its ``statement``, or its content.
        Question and domain must be the same, number by number; bounds may be tighter; the inputs that show a part may
        be others, or left out. By default whatever the proof states is checked: the text of the result names it.
    progress
        Called with the number of nodes checked.

    Examples
    --------
    >>> import creases
    >>> from dataclasses import replace
    >>> from creases import certify
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # class 1 where |x| > 1
    >>> proof = certify.holds(net, (-0.5, 0.75), never=1).proof
    >>> print(check_proof(proof, net))
    verified: no input of the box [-0.5, 0.75] is decided for class 1
    >>> wider = replace(proof.statement.domain, box=((-0.5, 1.75),))
    >>> print(check_proof(replace(proof, statement=replace(proof.statement, domain=wider)), net))
    refused: claim never, node 0: by its bounds the claim can be missed by 0.75
    """
    start = time.perf_counter()
    tiny = np.full(4, 2.0**-1060)  # which the bounds must not lose
    if not (tiny * 0.5 > 0).all() or not (tiny + tiny == 2.0**-1059).all():
        raise RequestError("tiny numbers are flushed to zero in this process, so nothing can be checked; start another")
    try:
        proof = proof_from_json(proof_to_json(proof, version("creases")))
    except (ValueError, TypeError, AttributeError) as problem:
        raise InputError("proof", "be a valid proof", str(problem)) from None
    is_pair = isinstance(proof.statement, DifferencesStatement | DecisionsStatement)
    if is_pair and other is None:
        raise InputError("other", "be given: the proof is about two networks")
    if not is_pair and other is not None:
        raise InputError("other", "be left out: the proof is about one network")
    first, second = as_plain(net), None if other is None else as_plain(other)
    asked = None if statement is None else load_statement(statement)
    different = "" if asked is None else find_difference(proof.statement, asked)
    if different:
        return CheckResult(False, f"the proof states something else: {different} differs", 0, 0.0)
    checker = _Checker(proof, progress)
    with np.errstate(all="ignore"):
        try:
            checker.run(first, second)
        except Refusal as refusal:
            return CheckResult(False, str(refusal), checker.nodes, time.perf_counter() - start)
        note, is_vacuous = find_vacuity(proof.statement, checker.claims, checker.empty)
    text = f"{note}: {describe(proof)}" if is_vacuous else "; ".join(part for part in (describe(proof), note) if part)
    links = " and ".join(sorted({net.link for net in (first, second) if net is not None and net.link}))
    text = f"of the scores before {links}: {text}" if links else text
    return CheckResult(True, text, checker.nodes, time.perf_counter() - start, is_vacuous)


class _Checker:
    def __init__(self, proof: Proof, progress: Progress | None) -> None:
        self.proof, self.nodes = proof, 0
        self.total = sum(len(each.tree) for each in proof.proofs)
        self.report = progress or (lambda what, done, total: None)
        self.claims: Claims = {}
        self.empty: dict[ClaimKey, bool] = {}  #: by claim: whether its tree shows that no input is meant

    def _count(self) -> None:
        self.nodes += 1
        self.report("checking nodes", self.nodes, self.total)

    def run(self, net: PlainNetwork, other: PlainNetwork | None) -> None:
        """Refuse the proof if anything is wrong with it."""
        _check_mark(self.proof.model, net, "the network")
        if other is not None:
            require(self.proof.other is not None, "the proof does not say which second network it is about")
            assert self.proof.other is not None
            _check_mark(self.proof.other, other, "the second network")
            require(net.n_in == other.n_in, "the networks have different numbers of inputs")
            require(net.n_out == other.n_out, "the networks have different numbers of outputs")
        else:
            require(self.proof.other is None, "the proof names a second network but states nothing about it")
        machine = join_runs(build_machine(net, other))
        claims = self.claims = derive_claims(Subject(machine, net.n_in, net.n_out), self.proof.statement)
        trees = {each.claim: each.tree for each in self.proof.proofs}
        require(len(trees) == len(self.proof.proofs), "a claim is proved twice")
        for key in claims:
            require(key in trees, f"the proof of claim {_name(key)} is missing")
        for key in trees:
            require(key in claims, f"claim {_name(key)} is not part of the statement")
        for key, claim in claims.items():
            try:
                self.empty[key] = check_tree(machine, claim, trees[key], self._count)
            except Refusal as refusal:
                raise Refusal(f"claim {_name(key)}, {refusal}") from None


def _check_mark(mark: ModelMark, net: PlainNetwork, what: str) -> None:
    sizes = (net.n_in, net.n_out)
    shown = f"{plural(mark.n_in, 'input')} and {plural(mark.n_out, 'output')}"
    require(sizes == (mark.n_in, mark.n_out), f"{what} has {sizes[0]} and {sizes[1]}, the proof is about {shown}")
    require(
        network_digest(net) == mark.digest,
        f"{what} is not the one that the proof is about: its weights differ (a copy with rounded weights is another "
        "network, as is a large one that was written with other steps: prove and check the same file)",
    )


def _name(key: tuple[str | int, ...]) -> str:
    return " ".join(str(part) for part in key)


# -- statements that a user asks for ----------------------------------------------------------------------------------


#: Inputs that show a part of a statement: any will do.
SHOWN_BY = ("point", "pair", "interior", "argmin", "argmax", "where")

#: Numbers of an answer: a proof may state a stronger one, larger (1) or smaller (-1).
HIGHER, LOWER = ("low", "maximum", "lower", "lower_bound", "distance"), ("high", "minimum", "upper")
STRONGER = dict.fromkeys(HIGHER, 1) | dict.fromkeys(LOWER, -1)


def load_statement(source: str | Path | Mapping[str, Any]) -> Statement:
    """Return a statement: a JSON file with what a proof file has as its ``statement``, or its content."""
    if isinstance(source, Mapping):
        try:
            return read_statement(dict(source))
        except ValueError as problem:
            raise InputError("statement", "be a statement as a proof file has it", str(problem)) from None
    path = Path(source)
    try:
        return read_statement(parse_proof_text(read_text(path).encode()))
    except FileNotFoundError:
        raise FileError(f"cannot read {path}: there is no such file") from None
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {path} as a statement: {problem}") from None


def find_difference(stated: Any, asked: Any, name: str = "statement") -> str:
    """Return the first part in which what is stated is not what is asked for, nor stronger; "" if there is none."""
    if type(stated) is not type(asked) and (is_dataclass(stated) or is_dataclass(asked)):
        return name
    if is_dataclass(asked):
        for part in (each.name for each in fields(asked) if each.name not in SHOWN_BY):
            a, b = getattr(stated, part), getattr(asked, part)
            is_stronger = part in STRONGER and (
                b is None or (a is not None and STRONGER[part] * (_exact(a) - _exact(b)) >= 0)
            )
            different = "" if is_stronger else find_difference(a, b, f"{name}.{part}")
            if different:
                return different
        return ""
    if isinstance(asked, tuple | list):
        if not isinstance(stated, tuple | list) or len(stated) != len(asked):
            return name
        parts = (find_difference(a, b, f"{name}[{i}]") for i, (a, b) in enumerate(zip(stated, asked, strict=True)))
        return next((part for part in parts if part), "")
    return "" if _exact(stated) == _exact(asked) else name


def _exact(value: Any) -> Any:
    is_number = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    return value if not is_number or value in (inf, -inf) else Fraction(value)
