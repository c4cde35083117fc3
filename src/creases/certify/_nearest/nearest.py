"""The nearest input with a different decision, with a proof that nothing nearer exists."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from creases._display import to_html
from creases._document import Document, facts, table
from creases._schema import INTEGER, sequence
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_arguments, check_count, check_number
from creases.certify._few_columns import exclude_ball, has_few_columns
from creases.certify._nearest.best import Best, find_changes
from creases.certify._nearest.evidence import GoalTree
from creases.certify._nearest.exclusion import exclude_goal
from creases.certify._nearest.proof import prove_change
from creases.certify._nearest.question import Norm, Question, pose
from creases.certify._nearest.search import Search
from creases.certify.proofs import Proof
from creases.certify.proofs._checker.statements import decision
from creases.certify.proofs._format import Tree
from creases.network import NetworkLike

#: Nodes of the first search, within the ball of the best answer; smaller balls come after it.
FIRST_NODES = 60

#: Boxes of few columns are searched for at most this share of the time that is left.
BOX_TIME = 0.2

#: Sides of units in a space without limits are looked through for at most this share of the time.
EXCLUSION_TIME = 0.9

#: Share of the budget that a search has at least, however long the network took to read.
LEAST_TIME = 0.05

#: Inputs that change most, which :meth:`Change.describe` lists.
LISTED_INPUTS = 12

#: A proof is for a radius below the lower bound by this share.
PROOF_ROOM = 1e-6

#: Distances below this share of the input's own size are rounding: an input on the boundary is at distance 0.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Change:
    """The nearest input with a different decision, as :func:`nearest` returns it.

    ``lower_bound <= true distance <= distance`` always holds; ``proved`` says that both agree within the tolerance.
    """

    x: Floats  #: (n_in,) the input asked about
    point: Floats | None  #: (n_in,) the nearest input with a different decision, or tied; None: none was found
    predicted: int  #: class of x
    reached: int | None  #: class of the point that ties with or exceeds that of x; None without a point
    distance: float  #: of the point from x; infinite without a point
    lower_bound: float  #: no input with a different decision is nearer; infinite where there is none at all
    proved: bool  #: whether the bounds agree within the tolerance
    tolerance: float  #: relative to the distance
    norm: Norm
    nodes: int  #: sets of inputs that were bounded
    seconds: float
    outputs: Floats | None  #: (n_out,) of the network at the point
    others: tuple[Change, ...]  #: further answers, see ``count``
    question: Question  #: what was asked, checked and in its own units
    trees: tuple[GoalTree | Tree, ...] = ()  #: what the search recorded for each goal, which shows the lower bound

    @cached_property
    def _proof(self) -> tuple[Proof | None, str]:
        radius = self.lower_bound * (1 - PROOF_ROOM)
        proof, note = prove_change(self.question, self.point, self.distance, radius, self.trees)
        if proof is not None or not self.trees or not 0 < radius < np.inf:
            return proof, note
        # The radius shrank while the search ran, and bounds in a larger ball need not be wider: once more in this one.
        deadline = time.perf_counter() + 4 * self.seconds + 5.0
        outcome = Search(self.question, Best(self.question), deadline, close=1 + ROUNDING).run(radius)
        if outcome.lower_bound < radius:
            return proof, note
        return prove_change(self.question, self.point, self.distance, radius, outcome.trees)

    @property
    def proof(self) -> Proof | None:
        """What ``creases check`` verifies: the point, and that nothing is within 0.999999 of the lower bound.

        Checked when it is first asked for; None where units are choices, or another answer of ``proof_note``.
        """
        return self._proof[0]

    @property
    def proof_note(self) -> str:
        """Why there is no proof; "" if there is one."""
        return self._proof[1]

    @property
    def change(self) -> Floats | None:
        """The point minus x: (n_in,)."""
        return None if self.point is None else self.point - self.x

    def __repr__(self) -> str:
        if self.point is None:
            return f"Change(none within {self.lower_bound:g}, {'proved' if self.proved else 'not proved'})"
        bounds = f"{self.distance:.6g}" if self.proved else f"between {self.lower_bound:.6g} and {self.distance:.6g}"
        state = "proved" if self.proved else "not proved"
        return f"Change({self.predicted} to {self.reached}, {self.norm} distance {bounds}, {state})"

    def describe(self) -> Document:
        """Return how far the decision is from changing, what is proved, and the inputs that change most."""
        state = "proved" if self.proved else f"not proved: between {self.lower_bound:.4g} and {self.distance:.4g}"
        if self.point is None or self.change is None:
            reach = "exists" if np.isinf(self.lower_bound) else f"is within {self.lower_bound:.4g}"
            return Document("Nearest change", f"No other decision {reach} ({state}).")
        about = {"decision": f"{self.predicted} to {self.reached}"}
        about |= {f"{self.norm} distance": f"{self.distance:.4g}", "proof": state}
        moved = np.argsort(-np.abs(self.change), kind="stable")
        moved = moved[self.change[moved] != 0]
        rows = [
            [str(k), *(f"{part[k]:.4g}" for part in (self.x, self.point, self.change))]
            for k in moved[:LISTED_INPUTS].tolist()
        ]
        rest = len(moved) - len(rows)
        more = {"note": f"and {plural(rest, 'smaller change')}"} if rest else {}
        inputs = table("Inputs", ("input", "from", "to", "change"), rows, **more)
        return Document("Nearest change", "", [facts("Nearest change", about.items()), inputs], about)

    def _repr_html_(self) -> str:
        return to_html(self)


@check_arguments(
    fixed=sequence(INTEGER),
    integer=sequence(INTEGER),
    one_hot=sequence(sequence(INTEGER)),
    rising=sequence(INTEGER),
    falling=sequence(INTEGER),
)
def nearest(
    net: NetworkLike,
    x: Any,
    target: Any = None,
    *,
    norm: Norm = "l2",
    box: Any = None,
    fixed: Sequence[int] = (),
    integer: Sequence[int] = (),
    one_hot: Sequence[Sequence[int]] = (),
    weights: Any = None,
    rising: Sequence[int] = (),
    falling: Sequence[int] = (),
    count: int = 1,
    budget: float = 30.0,
    tolerance: float = 1e-6,
) -> Change:
    """Return the nearest input with a different decision, with a proven lower bound of its distance.

    The decision is the largest of several outputs, or the sign of a single one (class 1 where it is positive). Ties
    count as a different decision, so that the nearest input exists: it is on the boundary, and the point returned is a
    rounding error beyond it where that is possible.

    What is returned holds without tolerance for the network in real arithmetic, with its weights as float64 numbers:
    the decision at the point was checked beyond rounding or in fractions, and no rounding can break the lower bound.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64.
    x
        One input, in the model's input shape or flattened.
    target
        The class to reach; None for any other. For a network of one output also ``(lo, hi)``, the range that the output
        should reach; None or infinity leaves an end open.
    norm
        The distance is the norm of ``weights * (point - x)``: the sum of changes (``"l1"``: few columns change),
        Euclidean (``"l2"``), or the largest change (``"linf"``).
    box
        ``(lo, hi)`` for all columns, or a pair for each: inputs outside do not count. Unbounded by default.
    fixed, rising, falling
        Columns that may not change, may only rise, or may only fall.
    integer
        Columns that are whole numbers.
    one_hot
        Groups of columns of which exactly one is 1 and the others are 0.
    weights
        (n_in,) positive weights of the columns in the distance, for example 1 / standard deviation.
    count
        Number of answers: each further one (``others``) is the nearest that keeps the columns fixed that the
        previous answers changed most.
    budget
        Seconds for each answer; when time runs out, the bounds found so far are returned.
    tolerance
        An answer is proved when ``distance - lower_bound`` is at most this fraction of the distance, or at most 1e-12
        of the size of x.

    References
    ----------
    .. [1] Jordan, Lewis, Dimakis, "Provable Certificates for Adversarial Examples: Fitting a Ball in the Union of
       Polytopes", NeurIPS 2019.

    Examples
    --------
    >>> import creases
    >>> from creases.certify import nearest
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # relu(x0) + relu(x1) - 1
    >>> change = nearest(net, [-0.5, 0.25])  # class 0: class 1 begins at (-0.5, 1)
    >>> change
    Change(0 to 1, l2 distance 0.75, proved)
    >>> change.point.round(6).tolist()
    [-0.5, 1.0]
    >>> nearest(net, [-0.5, 0.25], norm="l1", fixed=[1]).point.round(6).tolist()
    [0.75, 0.25]
    >>> from creases.certify.proofs import check_proof
    >>> bool(check_proof(change.proof, net))  # in arithmetic that no rounding can break
    True
    """
    seconds = check_number(budget, "budget", above=0)
    share = check_number(tolerance, "tolerance", above=0)
    answers: list[Change] = []
    held = list(fixed)
    for _ in range(check_count(count, "count")):
        begin = time.perf_counter()
        question = pose(net, x, target, norm, box, held, integer, one_hot, weights, rising, falling)
        left = max(seconds - (time.perf_counter() - begin), LEAST_TIME * seconds)
        answer = _answer(question, left, share)
        answers.append(answer)
        if answer.point is None or not answer.distance:
            break
        held.append(int(np.abs(question.weights * (answer.point - answer.x)).argmax()))
    return replace(answers[0], others=tuple(a for a in answers[1:] if a.point is not None))


class _Solver:
    """Bounds of one question from below and above, which the ways bring together."""

    def __init__(self, question: Question, seconds: float, tolerance: float) -> None:
        self.question, self.tolerance = question, tolerance
        self.start = time.perf_counter()
        self.deadline = self.start + seconds
        self.best = Best(question)
        self.rounding = ROUNDING * max(1.0, float(np.abs(question.weights * question.x).max(initial=0.0)))
        self.lower = 0.0
        self.trees: tuple[GoalTree | Tree, ...] = ()  # that show it
        self.by_boxes = has_few_columns(question)  # whether boxes showed the last ball to be empty
        self.quick = True  # whether searches in larger and larger balls finished soon
        self.stuck = False  # whether a search of the whole ball finished and showed nothing new
        self.nodes = 0

    @property
    def proved(self) -> bool:
        distance = self.best.distance
        if np.isinf(distance):
            return bool(np.isinf(self.lower))
        return distance - self.lower <= max(self.tolerance * distance, self.rounding)

    @property
    def is_over(self) -> bool:
        return self.proved or self.stuck or time.perf_counter() >= self.deadline

    def solve(self) -> None:
        question = self.question
        if question.allows(question.x):  # it may be decided so already, or tie
            self.best.offer(np.zeros(question.local.n_in))
        if self.best.distance > 0:
            share = 0.25 * (self.deadline - self.start)
            find_changes(question, self.best, self.start + share)
        if np.isinf(self.best.distance) and not all(np.isfinite(end).all() for end in self.question.limits):
            self._exclude()
        if np.isinf(self.best.distance) and not self.proved:
            self._widen()
        if np.isinf(self.best.distance):
            return  # nothing at all, or within all that could be searched
        if not self.is_over:
            self._search(self.best.distance, FIRST_NODES)
        while not self.is_over:
            self._deepen()

    def _search(self, radius: float, max_nodes: float = np.inf, deadline: float = np.inf) -> bool:
        """Search within a radius; return whether that finished."""
        if self.by_boxes and self._exclude_ball(radius):
            return True
        search = Search(self.question, self.best, min(self.deadline, deadline), max_nodes, 1 - self.tolerance / 4)
        outcome = search.run(radius)
        self.nodes += outcome.nodes
        lower = min(outcome.lower_bound, self.best.distance)
        if lower > self.lower:
            self.lower, self.trees = lower, outcome.trees
        return outcome.finished

    def _exclude_ball(self, radius: float) -> bool:
        """Show by boxes that nothing is within a radius; return whether that did."""
        now, within = time.perf_counter(), radius * (1 - self.tolerance / 4)
        trees = exclude_ball(self.question, self.best, within, now + BOX_TIME * (self.deadline - now))
        if trees is not None and within > self.lower:
            self.lower, self.trees = within, trees
        self.by_boxes = trees is not None or self.best.distance < radius
        return trees is not None

    def _deepen(self) -> None:
        """Search in a ball larger than the one known to be empty: a large step if that is quick, else a small one."""
        distance, now = self.best.distance, time.perf_counter()
        step = 1.5 if self.quick else 1.15
        radius = min(distance, max(step * self.lower, distance / 64))
        patience = 0.1 if self.quick and radius < distance else 1.0
        before = self.lower
        finished = self._search(radius, deadline=now + patience * (self.deadline - now))
        self.stuck = finished and radius >= distance and self.lower <= before and self.best.distance >= distance
        self.quick = finished and self.quick

    def _exclude(self) -> None:
        """Show that no input at all reaches a goal, or find one that does."""
        now = time.perf_counter()
        deadline = now + EXCLUSION_TIME * (self.deadline - now)
        trees: list[Tree] = []
        for goal in self.question.goals:
            answer = exclude_goal(self.question, goal, deadline)
            self.nodes += answer.nodes
            trees += [] if answer.tree is None else [answer.tree]
            if answer.point is not None:
                self.best.offer(self.question.to_local(answer.point))
        if len(trees) == len(self.question.goals):
            self.lower, self.trees = np.inf, tuple(trees)

    def _widen(self) -> None:
        """Search in balls of growing radius until something is found, or the ball holds all that is allowed."""
        question = self.question
        reach = np.maximum(*(np.abs(end) for end in question.limits))
        most = 2 * question.length(reach) if np.isfinite(reach).all() else np.inf  # farther than anything allowed
        radius = max(1.0, question.length(question.weights * question.x))
        while np.isinf(self.best.distance) and time.perf_counter() < self.deadline:
            if radius >= most:
                self._search_box(float(reach.max(initial=0.0)))
                return
            if not self._search(radius) or radius > 1e9:
                return
            radius = min(most, 8 * radius)

    def _search_box(self, reach: float) -> None:
        """Search all inputs that are allowed, none of which is farther in any column, in a box around them."""
        search = Search(self.question, self.best, self.deadline, norm="linf")
        outcome = search.run(1.001 * reach + 1e-300)
        self.nodes += outcome.nodes
        if np.isinf(self.best.distance) and outcome.lower_bound > reach:  # else sets are left, or a point was found
            self.lower, self.trees = np.inf, outcome.trees


def _answer(question: Question, seconds: float, tolerance: float) -> Change:
    solver = _Solver(question, seconds, tolerance)
    solver.solve()
    point = solver.best.point
    outputs = None if point is None else question.form.values(point[None])[0][0]
    return Change(
        x=question.x,
        point=point,
        predicted=question.predicted,
        reached=None if outputs is None else _reached(question, outputs),
        distance=solver.best.distance,
        lower_bound=solver.lower,
        proved=solver.proved,
        tolerance=tolerance,
        norm=question.norm,
        nodes=solver.nodes,
        seconds=time.perf_counter() - solver.start,
        outputs=outputs,
        others=(),
        question=question,
        trees=solver.trees,
    )


def _reached(question: Question, outputs: Floats) -> int:
    """Return the class of the goal that is reached best."""
    goal = max(question.goals, key=lambda goal: goal.margins(outputs[None])[0])
    if len(outputs) == 1:
        return int(goal.G[0, 0] > 0) if len(goal.g) == 1 and not goal.g[0] else decision(outputs)
    return int(goal.G[0].argmax())
