"""The Lipschitz constant of a network in a box: the largest norm of the Jacobian of any of its regions."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from creases._display import to_html
from creases._document import Document, facts
from creases._text import OneLine
from creases._typing import Floats, Progress
from creases._validation import check_choice, check_number
from creases.certify._maximize.domain import check_domain
from creases.certify._maximize.objectives import pose
from creases.certify._maximize.search import Limits, maximize_objective
from creases.certify._ranges import EXACT
from creases.certify.proofs import Proof
from creases.certify.proofs._checker.statements import Subject, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, LipschitzStatement
from creases.certify.proofs._norms import Norm
from creases.network import NetworkLike, as_network


@dataclass(frozen=True, eq=False, repr=False)
class LipschitzConstant(OneLine):
    """The largest operator norm of the Jacobian in a box, as :func:`lipschitz` returns it."""

    norm: Norm  #: of inputs and outputs
    lower: float  #: proved: the norm in the region of ``where`` is at least this
    upper: float  #: proved: no region of the box has a larger norm
    where: Floats  #: (n_in,) a point of the region where ``lower`` is reached, off all creases
    seconds: float
    proof: Proof | None = field(default=None, repr=False)  #: of both, for :func:`creases.certify.proofs.check_proof`

    @property
    def exact(self) -> bool:
        """Whether ``lower`` is ``upper``, to nine digits: the constant is known and reached, by proof."""
        return bool(self.upper - self.lower <= EXACT * self.upper)

    @property
    def proof_note(self) -> str:
        """Why there is no proof; "" if there is one."""
        return "" if self.proof is not None else "the bound is infinite: there was no time to find a finite one"

    def describe(self) -> Document:
        """Return the constant with the input where it is reached."""
        ends = f"{self.upper:.6g}, exactly" if self.exact else f"between {self.lower:.6g} and {self.upper:.6g}"
        where = ", ".join(f"{value:.6g}" for value in self.where[:8]) + (", ..." if len(self.where) > 8 else "")
        plain = {name: getattr(self, name) for name in ("norm", "lower", "upper", "exact", "seconds")}
        section = facts("Reached", [("input", f"({where})"), ("norm of the Jacobian there", f"{self.lower:.6g}")])
        return Document("Lipschitz constant", f"Lipschitz constant ({self.norm}): {ends}", [section],
                        {**plain, "where": self.where.tolist()})  # fmt: skip

    def _repr_html_(self) -> str:
        return to_html(self)

    def __str__(self) -> str:
        return self.describe().lead


def lipschitz(
    net: NetworkLike,
    box: Any,
    norm: Norm = "l2",
    *,
    budget: float = 60.0,
    tolerance: float = 5e-10,
    progress: Progress | None = None,
) -> LipschitzConstant:
    """Return the Lipschitz constant of a network in a box, with a region where it is reached.

    The smallest L with ``|f(x) - f(z)| <= L |x - z|`` for all x and z of the box, in one norm for inputs and outputs.
    As a box is convex and the network linear in each region, L is the largest operator norm ``|J v| / |v|`` of the
    Jacobians of all regions with an interior in the box: the largest sum of magnitudes in a column (``"l1"``) or a row
    (``"linf"``), or the largest singular value (``"l2"``) [1]_.

    A branch and bound over the sides of units, or over boxes for networks with choices: nodes are bounded by the norm
    of intervals that contain J [2]_. Both ends hold in real arithmetic for the float64 weights.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    norm
        ``"l1"``, ``"l2"`` or ``"linf"``.
    budget
        Seconds. When it is over, ``lower`` and ``upper`` are apart.
    tolerance
        Relative gap at which the search ends; the result is exact if it is at most 1e-9.
    progress
        Called with the number of nodes done, now and then.

    References
    ----------
    .. [1] Jordan, Dimakis, "Exactly Computing the Local Lipschitz Constant of ReLU Networks", NeurIPS 2020.
    .. [2] Bhowmick, D'Souza, Raghavan, "LipBaB: Computing Exact Lipschitz Constant of ReLU Networks", ICANN 2021.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0]), ([[3.0, 4.0]], [0.0])])
    >>> print(lipschitz(net, (-1, 1), "linf"))  # both units are on: 7 x0 - x1
    Lipschitz constant (linf): 8, exactly
    >>> constant = lipschitz(net, [(-1, 1), (0.5, 1)])
    >>> net.piece(constant.where).J.tolist(), round(constant.upper, 6)
    ([[7.0, -1.0]], 7.071068)
    """
    check_choice(norm, ["l1", "l2", "linf"], "norm")
    begin = time.monotonic()
    limits = Limits(begin + check_number(budget, "budget", above=0), check_number(tolerance, "tolerance", least=0))
    work = as_network(net).to("cpu").to(torch.float64)
    domain = check_domain(box, None, None, work.n_in)
    ends = domain.stated().box
    subject, asked = Subject(None, work.n_in, work.n_out), LipschitzStatement(norm, ends, upper=0.0)
    ((key, claim),) = derive_claims(subject, asked).items()
    extreme = maximize_objective(pose(work, claim), domain, limits, progress=progress)
    lower, proof = max(extreme.lower, 0.0), None
    if extreme.tree is not None and np.isfinite(extreme.upper):
        reached = (lower, tuple(extreme.where.tolist())) if lower > 0 else (None, None)
        statement = LipschitzStatement(norm, ends, extreme.upper, *reached)
        proof = make_proof(statement, (ClaimProof(key, extreme.tree),), net=work)
    return LipschitzConstant(norm, lower, extreme.upper, extreme.where, time.monotonic() - begin, proof)
