"""Changes of a row that could happen and that change its prediction: the smallest, and others that differ from it."""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, isinf, log, nextafter
from typing import Any

import numpy as np

from creases._display import Described
from creases._text import format_percent, format_value
from creases._typing import Bools, Floats
from creases._validation import check_count, check_number, check_vector
from creases.errors import InputError
from creases.tables._columns.codec import CHANGE, SWITCH
from creases.tables._model.schema import RowFunction
from creases.tables._words.column_text import cell_text, column_options, decode_row
from creases.tables._words.rows import InputRanges, model_ranges
from creases.tables._words.terms import Options, Terms, probability

# What a changed row is to reach: a class, or a value at least or at most so large.


#: A score above those of all rows; minus this is below them.
NEVER = 1e300

_NUMBER = r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BOUND = re.compile(rf"\s*(>=|<=|>|<|≥|≤)\s*({_NUMBER})\s*")
_BETWEEN = re.compile(rf"\s*({_NUMBER})\s*(?:to|\.\.)\s*({_NUMBER})\s*")


@dataclass(frozen=True)
class Goal:
    """A prediction to reach."""

    text: str
    number: int = 0  #: of the class, with classes
    low: float = -inf  #: without: least value
    high: float = inf  #: and largest

    def directions(self, terms: Terms) -> tuple[Floats, Floats]:
        """Return D (k, m) and c (k,): scores s (m,), in points or the target's units, reach it where ``D s >= c``.

        For more than two classes each row is how far the class is ahead of another one.
        """
        if terms.classes is None:
            low, high = (_score(terms, self.low, 1.0), _score(terms, self.high, -1.0))
            rows = [(1.0, low), (-1.0, -high)]
            kept = [(sign, end) for sign, end in rows if np.isfinite(end)]
            return np.array([[sign] for sign, _ in kept]), np.array([end for _, end in kept])
        if terms.is_binary:
            sign = 1.0 if self.number else -1.0
            return np.array([[sign]]), np.array([sign * terms.threshold_points])
        m = len(terms.classes)
        others = np.delete(np.arange(m), self.number)
        return np.eye(m)[self.number] - np.eye(m)[others], np.zeros(m - 1)

    def margins(self, terms: Terms, scores: Floats) -> Floats:
        """Return how far scores (n, m) are beyond the goal: (n, k), all 0 or more where it is reached."""
        D, c = self.directions(terms)
        return np.asarray(scores @ D.T - c)

    def reached(self, terms: Terms, scores: Floats) -> Bools:
        """Return which scores (n, m) are predicted so; a tie with another class does not count."""
        margins = self.margins(terms, scores)
        return np.asarray((margins >= 0).all(axis=1) if terms.classes is None else (margins > 0).all(axis=1))

    def is_reached(self, terms: Terms, x: Floats) -> bool:
        """Return whether an encoded row x (d,) is predicted so."""
        return bool(self.reached(terms, terms.scores(x[None]))[0])


def parse_goal(terms: Terms, text: str) -> Goal:
    """Return the goal that a text names: a class, ``>= 30``, ``< 12.5`` or ``20 to 30``."""
    if terms.classes is not None:
        if text not in terms.classes:
            raise InputError("to", f"be one of {', '.join(terms.classes)}", repr(text))
        return Goal(f"{terms.target} = {text}" if terms.target else text, terms.classes.index(text))
    bound, between = _BOUND.fullmatch(text), _BETWEEN.fullmatch(text)
    if bound:
        value = _number(bound[2])
        low, high = (value, inf) if bound[1] in (">=", ">", "≥") else (-inf, value)
        words = "at least" if high == inf else "at most"
        return Goal(f"{terms.target} {words} {format_value(value)}{terms.target_unit}".lstrip(), 0, low, high)
    if between and _number(between[1]) < _number(between[2]):
        low, high = _number(between[1]), _number(between[2])
        return Goal(
            f"{terms.target} {format_value(low)} to {format_value(high)}{terms.target_unit}".lstrip(), 0, low, high
        )
    raise InputError("to", "be a bound such as '>= 30', '<= 12' or '20 to 30'", repr(text))


def _score(terms: Terms, value: float, sign: float) -> float:
    """Return the score from which on (``sign`` 1), or up to which (-1), predictions are at least or at most a value.

    Under a logarithmic link these are positive and at most ``largest``: beyond a value outside are all scores or none.
    """
    if not terms.is_factor or isinf(value):
        return value
    if value <= 0 or value > terms.largest:
        return NEVER if value > 0 else -NEVER
    if value == terms.largest and sign < 0:
        return NEVER
    score = log(value)
    while sign * exp(score) < sign * value:  # rounding may leave the prediction short of it
        score = nextafter(score, sign * inf)
    return score


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def class_goals(terms: Terms) -> list[Goal]:
    """Return a goal for each class; none for a regression."""
    return [Goal(name, k) for k, name in enumerate(terms.classes or ())]


# The cheapest choice of one option for each column that reaches a goal: best-first, in the order of cost.
#
# A column can add no more to the goal than a bound for each of its options: what its curves add, what planes and units
# could add at most. The sum of these bounds is exact for a model of curves only. Choices whose bounds reach the goal
# come in the order of their costs; the first that reaches it in truth is the cheapest of all. The cost that columns
# still need is bounded from below by the convex hulls of their options, as for the knapsack problem [1]_.
#
# References
# .. [1] Kellerer, Pferschy, Pisinger, "Knapsack Problems", chapter 11, Springer 2004.

#: Bounds below the goal by this share of their size may be rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search found."""

    x: Floats | None  #: (d,) the cheapest row found that reaches the goal; None if there is none
    cost: float  #: its cost; infinite without a row
    lower_bound: float  #: no row is cheaper; infinite if none reaches the goal


def cheapest_choice(
    terms: Terms, x: Floats, goal: Goal, columns: Sequence[Options], *, most: float = np.inf, until: float = np.inf
) -> Choice:
    """Return the cheapest change of an encoded row x (d,) that reaches a goal.

    Only changes that cost less than ``most`` are looked for; ``until`` is when to stop, by ``time.perf_counter``.
    """
    first = _greedy_change(terms, x, goal, columns)
    most = min(most, first.cost)
    D, c = goal.directions(terms)
    need = c - D @ terms.scores(x[None])[0]  # (k,)
    gains = [terms.gains(x, D, options, columns) for options in columns]
    slack = ROUNDING * max(float(np.abs(need).max()), *(float(np.abs(gain).max()) for gain in gains), 1.0)
    order = sorted(range(len(columns)), key=lambda i: -float(gains[i].max()))
    mixed = terms.mixed_columns()
    costs, kept = [], []
    for i in order:
        useful = np.ones(len(columns[i]), bool) if mixed[i] else _undominated(columns[i].costs, gains[i])
        costs.append(columns[i].costs[useful])
        kept.append((gains[i][useful], columns[i].values[useful], columns[i].term.inputs))
    hulls = _suffix_hulls(costs, [gain for gain, _, _ in kept])
    start = _remaining_cost(hulls[0], need[None] - slack)[0]
    heap: list[tuple[float, int, int, float, Floats, tuple[int, ...]]] = [(start, 0, 0, 0.0, need, ())]
    count = 0
    while heap:
        bound, _, i, cost, rest, chosen = heapq.heappop(heap)
        if bound >= most:
            break
        if i == len(kept):
            row = x.copy()
            for (_, values, inputs), k in zip(kept, chosen, strict=True):
                row[inputs] = values[k]
            if goal.is_reached(terms, row):
                return Choice(row, cost, cost)
            continue
        if time.perf_counter() > until:
            return Choice(first.x, first.cost, bound) if first.cost <= most else Choice(None, np.inf, bound)
        totals = cost + costs[i]
        left = rest - kept[i][0]  # (n, k)
        bounds = totals + _remaining_cost(hulls[i + 1], left - slack)
        for option in np.flatnonzero(bounds < most).tolist():
            count += 1
            heapq.heappush(
                heap, (float(bounds[option]), -count, i + 1, float(totals[option]), left[option], (*chosen, option))
            )
    return first if first.cost <= most else Choice(None, np.inf, most)


def _greedy_change(terms: Terms, x: Floats, goal: Goal, columns: Sequence[Options]) -> Choice:
    """Return the cheapest change of one column that reaches the goal.

    Where none does, columns change one after another, each as far as helps; that need not be cheap.
    """
    row, cost, left, margin = x.copy(), 0.0, list(columns), -np.inf
    while left:
        trials = []
        for i, options in enumerate(left):
            rows = np.repeat(row[None], len(options), axis=0)
            rows[:, options.term.inputs] = options.values
            scores = terms.scores(rows)
            reached, margins = goal.reached(terms, scores), goal.margins(terms, scores).min(axis=1)
            k = int(reached.argmax() if reached.any() else margins.argmax())  # costs rise
            is_far, size = not reached.any(), float(options.costs[k])
            trials.append((is_far, -float(margins[k]) if is_far else size, size, i, rows[k]))
        is_far, far, size, i, row = min(trials, key=lambda trial: trial[:2])
        cost += size
        if not is_far:
            return Choice(row, cost, cost)
        if -far <= margin:
            break
        margin = -far
        del left[i]
    return Choice(None, np.inf, np.inf)


def _undominated(costs: Floats, gains: Floats) -> Bools:
    """Return which options (n,), in the order of their costs, gain more (n, k) somewhere than all cheaper ones."""
    kept = np.zeros(len(costs), bool)
    best = np.zeros((0, gains.shape[1]))
    for k, gain in enumerate(gains):
        if not (best >= gain).all(axis=1).any():
            kept[k] = True
            best = np.concatenate([best[~(gain >= best).all(axis=1)], gain[None]])
    return kept


def _suffix_hulls(costs: Sequence[Floats], gains: Sequence[Floats]) -> list[list[tuple[Floats, Floats]]]:
    """Return for the columns from each on, and each part of the goal, the least cost of a gain: knots and costs."""
    steps: list[list[tuple[float, float]]] = [[] for _ in range(gains[0].shape[1])]
    hulls = [[(np.zeros(1), np.zeros(1)) for _ in steps]]
    for cost, gain in zip(reversed(costs), reversed(gains), strict=True):
        for part, known in enumerate(steps):
            known += _hull_steps(cost, gain[:, part])
            known.sort(key=lambda step: step[1] / step[0])
        totals = [np.cumsum([(0.0, 0.0), *known], axis=0) for known in steps]
        hulls.append([(total[:, 0], total[:, 1]) for total in totals])
    return hulls[::-1]


def _hull_steps(costs: Floats, gains: Floats) -> list[tuple[float, float]]:
    """Return the steps (gain, cost) of the upper concave hull of options, the one with the most gain a cost first."""
    hull: list[tuple[float, float]] = [(0.0, float(gains[0]))]
    best = float(gains[0])
    for cost, gain in zip(costs[1:].tolist(), gains[1:].tolist(), strict=True):
        if gain <= best:
            continue
        best = gain
        while len(hull) > 1:
            (a, ga), (b, gb) = hull[-2], hull[-1]
            if (gain - ga) * (b - a) < (gb - ga) * (cost - a):
                break
            hull.pop()
        hull.append((cost, gain))
    return [(g1 - g0, c1 - c0) for (c0, g0), (c1, g1) in pairwise(hull)]


def _remaining_cost(hulls: list[tuple[Floats, Floats]], need: Floats) -> Floats:
    """Return the least cost (n,) at which columns can gain what is needed (n, k); infinite where they cannot."""
    costs = np.zeros(len(need))
    for part, (gains, total) in enumerate(hulls):
        cost = np.interp(need[:, part], gains, total)
        costs = np.maximum(costs, np.where(need[:, part] > gains[-1], np.inf, cost))
    return costs


#: How sizes are measured, in words.
SIZE = (
    f"Size: for each column {CHANGE:g} and its change in standard deviations; for a category {SWITCH:g}. Numbers move "
    "in round steps, dates by days, all within the range of the table."
)


@dataclass(frozen=True)
class CellChange:
    """A cell that changes, as text."""

    column: str
    before: str
    after: str
    size: float  #: what the change counts

    def __str__(self) -> str:
        return f"{self.column} is {self.after} instead of {self.before}"


@dataclass(frozen=True, eq=False)
class RowChange:
    """A changed row that is predicted otherwise."""

    changes: tuple[CellChange, ...]  #: largest first
    prediction: str  #: for the changed row
    cells: dict[str, Any]  #: the whole changed row
    x: Floats  #: (d,) the same, encoded
    size: float  #: sum of the sizes of its changes
    fixed: tuple[str, ...]  #: columns that were not allowed to change

    def __str__(self) -> str:
        return _join([str(change) for change in self.changes]) or "nothing changes"


@dataclass(frozen=True, eq=False)
class RowChanges(Described):
    """What would have to change for another prediction, the smallest change first."""

    goal: str
    answers: tuple[RowChange, ...]
    lower_bound: float  #: no change of the allowed columns is smaller; infinite where none exists
    fixed: tuple[str, ...] = ()  #: columns that were not allowed to change

    @property
    def complete(self) -> bool:
        """Whether all smaller changes were searched: the first answer is the smallest, or there is none."""
        return bool(np.isinf(self.lower_bound) if not self.answers else self.lower_bound >= self.answers[0].size)

    @property
    def proof_state(self) -> str:
        """What is known about smaller changes, in words."""
        if self.answers:
            bound = format_value(self.lower_bound, 2)
            return (
                "No smaller change exists: all were searched."
                if self.complete
                else f"A smaller change, of size {bound} or more, may exist: the time limit was reached."
            )
        if self.complete:
            but = f" of columns other than {_join(self.fixed)}" if self.fixed else ""
            return f"No change{but} within the range of the table does: all were searched."
        return f"None was found within the time limit; any has size {format_value(self.lower_bound, 2)} or more."

    def lines(self, *, size_note: bool = True) -> list[str]:
        """Return the answers as lines of text, the last one on how sizes are measured unless it is left out."""
        if not self.answers:
            return [f"To {self.goal}: {self.proof_state[0].lower()}{self.proof_state[1:]}"]
        lines: list[str] = []
        for answer in self.answers:
            others = [name for name in answer.fixed if name not in self.fixed]
            start = f"or, without a change of {_join(others)}: " if lines else ""
            lines.append(f"{start}{answer.prediction} if {answer} (a change of size {format_value(answer.size, 2)}).")
        lines.insert(1, self.proof_state)
        return [*lines, SIZE] if size_note else lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        answers = [
            {
                "size": answer.size,
                "prediction": answer.prediction,
                "fixed": list(answer.fixed),
                "changes": [vars(change) for change in answer.changes],
                "row": {name: str(cell) if hasattr(cell, "isoformat") else cell for name, cell in answer.cells.items()},
            }
            for answer in self.answers
        ]
        bound = float(self.lower_bound) if np.isfinite(self.lower_bound) else None
        return {"to": self.goal, "answers": answers, "complete": self.complete, "lower_bound": bound}


@dataclass(frozen=True, eq=False)
class Changes(Described):
    """What would have to change for other predictions of rows; print it, or take the answers of one row."""

    rows: tuple[RowChanges, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, k: int) -> RowChanges:
        return self.rows[k]

    def __iter__(self) -> Iterator[RowChanges]:
        return iter(self.rows)

    def __str__(self) -> str:
        if len(self.rows) == 1:
            return str(self.rows[0])
        rows = ["\n".join(answer.lines(size_note=False)) for answer in self.rows]
        note = [SIZE] if any(answer.answers for answer in self.rows) else []
        return "\n\n".join([*(f"Row {k}: {text}" for k, text in enumerate(rows)), *note])

    __repr__ = __str__


def _join(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def find_changes(
    model: RowFunction,
    x: Any,
    *,
    to: str | None = None,
    fixed: Collection[str] = (),
    count: int = 1,
    budget: float = 5.0,
    X: Floats | None = None,
) -> RowChanges:
    """Return the smallest changes of an encoded row after which it is predicted otherwise, with a proof.

    ``to``, ``fixed``, ``count`` and ``budget`` are those of :meth:`creases.tables.TableModel.changes`. Encoded rows X
    (n, d) show which values occur; by default those that the model was trained on.
    """
    terms = model._terms()
    x = check_vector(x, "x", len(terms.encoding.features))
    count, budget = check_count(count, "count"), check_number(budget, "budget", above=0)
    if to is None and terms.classes is None:
        raise InputError("to", "be given for a regression", "None", "give a bound such as '>= 30'")
    ranges = model_ranges(model, terms, X)
    others = [goal for goal in class_goals(terms) if not goal.is_reached(terms, x)]
    goals = others if to is None else [parse_goal(terms, to)]
    known = {spelling: term.name for term in terms.columns for spelling in (term.name, term.column.name)}
    for name in (fixed := [fixed] if isinstance(fixed, str) else list(fixed)):
        if name not in known:
            raise InputError("fix", f"name columns among {', '.join(term.name for term in terms.columns)}", repr(name))
    given = tuple(dict.fromkeys(known[name] for name in fixed))
    held: tuple[str, ...] = given
    answers: list[RowChange] = []
    bound = np.inf
    for k in range(count):
        answer, lower = _smallest(terms, x, ranges, goals, held, time.perf_counter() + budget)
        bound = lower if not k else bound
        if answer is None:
            break
        answers.append(answer)
        if not answer.changes:
            break
        held = (*held, answer.changes[0].column)
    name = goals[0].text if len(goals) == 1 else "another class"
    return RowChanges(name, tuple(answers), bound, given)


def _smallest(
    terms: Terms, x: Floats, ranges: InputRanges, goals: Sequence[Goal], fixed: tuple[str, ...], until: float
) -> tuple[RowChange | None, float]:
    """Return the smallest change that reaches one of the goals, and a lower bound of its size."""
    columns = [column_options(term, x, ranges, fixed=term.name in fixed) for term in terms.columns]
    best: Floats | None = None
    size, lower = np.inf, np.inf
    for goal in goals:
        choice = cheapest_choice(terms, x, goal, columns, most=size, until=until)
        lower = min(lower, choice.lower_bound)
        if choice.x is None or choice.cost >= size:
            continue
        again = terms.encoding.transform([decode_row(terms, choice.x)]).X[0]
        if goal.is_reached(terms, again):  # the row can occur
            best, size = choice.x, choice.cost
    if best is None:
        return None, lower
    changes = []
    for options in columns:
        term = options.term
        if not np.array_equal(best[term.inputs], x[term.inputs]):
            cost = float(options.costs[(options.values == best[term.inputs]).all(axis=1).argmax()])
            changes.append(CellChange(term.name, cell_text(terms, term, x), cell_text(terms, term, best), cost))
    changes.sort(key=lambda change: -change.size)
    size = float(sum(change.size for change in changes))
    scores = terms.scores(best[None])
    if terms.classes is None:
        value = float(terms.predictions(scores)[0, 0])
        prediction = f"{terms.target or 'prediction'} {format_value(value, 4)}{terms.target_unit}"
    else:
        chances = probability(terms, scores)[0]
        k = terms.predicted_class(chances)
        prediction = f"{terms.labels[k]} {format_percent(float(chances[k]))}"
    return RowChange(tuple(changes), prediction, decode_row(terms, best), best, size, fixed), lower
