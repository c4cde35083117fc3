"""Whether two networks decide alike everywhere in a box: a proof, or an input that they decide differently."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_box, check_number
from creases.certify._exact import exact_outputs
from creases.certify._maximize.domain import Domain
from creases.certify._maximize.objectives import pose
from creases.certify._maximize.search import Limits, maximize_objective
from creases.certify.differences._joint import NO_TREE, as_pair, join_networks
from creases.certify.proofs import Proof
from creases.certify.proofs._checker.statements import Subject, decision, derive_claims
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimKey, ClaimProof, DecisionsStatement, Leaf
from creases.certify.propagation._linear import LinearBounds
from creases.network import Network, NetworkLike

#: Random inputs at which decisions are compared, and segments between them along which a boundary is looked for.
SAMPLES, SEGMENTS = 2000, 400

#: Candidates that are checked without rounding: at a time, and in all.
CHECKS, ALL_CHECKS = 3, 24

#: Share of a budget in which an input is looked for that both decide differently.
SEARCH_TIME = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class DecisionComparison(OneLine):
    """Whether two networks decide alike everywhere in a box.

    ``"same"`` is proved, ``"different"`` has a ``witness``, ``"unknown"`` is neither.
    """

    verdict: Literal["same", "different", "unknown"]
    witness: Floats | None = None  #: (n_in,) an input that both decide differently
    classes: tuple[int, int] | None = None  #: that a and b decide for there
    proof: Proof | None = None  #: for ``creases check``; None for an unknown verdict

    @property
    def proof_note(self) -> str:
        """Why there is no proof; "" if there is one."""
        if self.proof is not None:
            return ""
        return "nothing was decided" if self.verdict == "unknown" else NO_TREE

    def __str__(self) -> str:
        if self.classes is not None:
            i, j = self.classes
            return f"The networks disagree in the box: at one input a predicts {i} and b predicts {j}."
        if self.verdict == "same":
            return "The networks agree everywhere in the box (proved)."
        return "Found no input in the box on which the networks disagree, but one may exist."


def compare_decisions(
    a: NetworkLike, b: NetworkLike, box: Any, *, start: Any = None, seed: int = 0, budget: float | None = None
) -> DecisionComparison:
    """Return an input of a box that two networks decide differently, or a proof that there is none.

    Inputs are looked for at random, and where a's decision changes between two of them: near a's boundary the other
    network decides differently if its boundary is not the same. The proof bounds, for every two classes i and j, what
    a puts i before j by and b puts j before i by: one of both is negative everywhere.

    Parameters
    ----------
    a, b
        Networks, torch modules or file names. With one output the decision is its sign, with more the largest.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    start
        PointsLike (k, n_in), further inputs to compare at; those outside the box are moved to its sides.
    seed
        Seed of the random inputs.
    budget
        Seconds for all of it, with branch and bound where the bounds of the whole box do not decide; without a budget
        there is none.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0]], [0.0])])  # class 1 where x > 0
    >>> b = creases.read([([[1.0]], [-0.5])])  # class 1 where x > 0.5
    >>> compare_decisions(a, b, (-1, 1)).classes
    (1, 0)
    >>> compare_decisions(a, b, (0.75, 1)).verdict
    'same'
    """
    begin = time.monotonic()
    seconds = np.inf if budget is None else check_number(budget, "budget", above=0)
    first, second = (net.to("cpu").to(torch.float64) for net in as_pair(a, b))
    ends = check_box(box, first.n_in)
    sides = tuple((float(low), float(high)) for low, high in ends)
    witness = _search_witness(first, second, ends, start, seed, begin + SEARCH_TIME * seconds)
    if witness is None:
        witness, trees = _prove(first, second, ends, None if budget is None else begin + seconds)
        if witness is None:
            if trees is None:
                return DecisionComparison("unknown")
            proofs = tuple(ClaimProof(pair, tree) for pair, tree in trees.items() if tree is not None)
            statement, is_whole = DecisionsStatement("same", sides), len(proofs) == len(trees)
            proof = make_proof(statement, proofs, net=first, other=second) if is_whole else None
            return DecisionComparison("same", proof=proof)
    classes = _exact_classes(first, second, witness)
    statement = DecisionsStatement("different", sides, classes, tuple(witness.tolist()))
    return DecisionComparison("different", witness, classes, make_proof(statement, net=first, other=second))


def _exact_classes(a: Network, b: Network, x: Floats) -> tuple[int, int]:
    """Return the classes that both decide for at an input (n_in,), without rounding where that is possible."""
    one, other = (decision(exact_outputs(net, x) or np.asarray(net(x)).reshape(-1).tolist()) for net in (a, b))
    return one, other


def _classes(net: Network, X: Floats) -> Ints:
    outputs = np.asarray(net(X)).reshape(len(X), -1)
    return np.asarray(outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0, np.int64)


def _search_witness(a: Network, b: Network, box: Floats, start: Any, seed: int, until: float) -> Floats | None:
    """Return an input that both decide differently, if one is found by a time of ``time.monotonic()``."""
    for k, x in enumerate(_candidates(a, b, box, start, seed, until)):
        if _differs(a, b, x):
            return x
        if k + 1 == ALL_CHECKS or time.monotonic() >= until:
            break
    return None


def _candidates(a: Network, b: Network, box: Floats, start: Any, seed: int, until: float) -> Iterator[Floats]:
    """Yield inputs that both decide differently in floats: random ones, and where a's decision changes."""
    rng, (low, high) = np.random.default_rng(seed), box.T
    X = rng.uniform(low, high, size=(SAMPLES, len(low)))
    if start is not None:
        X = np.vstack([np.clip(a.as_batch(start, "start")[0].flatten(1).numpy(), low, high), X])
    in_a = _classes(a, X)
    differ = np.flatnonzero(in_a != _classes(b, X))
    yield from X[differ[:CHECKS]]
    i, j = rng.integers(len(X), size=(2, 20 * SEGMENTS))
    pairs = np.flatnonzero(in_a[i] != in_a[j])[:SEGMENTS]
    left, right = X[i[pairs]], X[j[pairs]]
    for _ in range(60 if len(pairs) else 0):  # halve each segment, the end points stay on either side of a's boundary
        if time.monotonic() >= until:
            return
        middle = (left + right) / 2
        stays = _classes(a, middle) == _classes(a, left)
        left, right = np.where(stays[:, None], middle, left), np.where(stays[:, None], right, middle)
        for points in (left, right):
            differ = np.flatnonzero(_classes(a, points) != _classes(b, points))
            yield from points[differ[:CHECKS]]


def _differs(a: Network, b: Network, x: Floats) -> bool:
    return len({*_exact_classes(a, b, x)}) == 2


def _prove(
    a: Network, b: Network, box: Floats, deadline: float | None
) -> tuple[Floats | None, dict[ClaimKey, Any] | None]:
    """Return a witness, or trees that show for each pair of classes that there is none, or neither."""
    joint = join_networks(a, b)
    bounds = LinearBounds(joint, torch.from_numpy(box)[None], known={})
    statement = DecisionsStatement("same", tuple((low, high) for low, high in box.tolist()))
    claims = derive_claims(Subject(None, a.n_in, a.n_out, nets=2), statement)
    pairs, objectives = list(claims), {pair: pose(joint, claim) for pair, claim in claims.items()}
    with torch.no_grad():
        stacked = torch.from_numpy(np.concatenate([each.rows for each in objectives.values()]))
        upper = bounds.worst(*bounds.linear_upper(stacked))[0].numpy().reshape(len(pairs), 2)
    open_pairs = [pair for pair, ends in zip(pairs, upper, strict=True) if (ends >= 0).all()]
    trees: dict[ClaimKey, Any] = {pair: (Leaf("bounds"),) for pair in pairs if pair not in open_pairs}
    if not open_pairs or deadline is None:
        return None, None if open_pairs else trees
    domain = Domain(box, np.zeros((0, len(box))), np.zeros(0))
    proved = True
    for k, pair in enumerate(open_pairs):
        now = time.monotonic()
        until = now + max(deadline - now, 0.0) / (len(open_pairs) - k)
        extreme = maximize_objective(objectives[pair], domain, Limits(until, stop_above=0.0, stop_below=-1e-12))
        if extreme.lower > 0 and _differs(a, b, extreme.where):
            return extreme.where, None
        proved &= extreme.upper < 0
        trees[pair] = extreme.tree
    return None, trees if proved else None
