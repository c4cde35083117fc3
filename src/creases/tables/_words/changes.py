"""Changes of a row that could happen and that change its prediction: the smallest, and others that differ from it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._text import format_percent, format_value
from creases._typing import Floats
from creases._validation import check_count, check_number, check_vector
from creases.errors import InputError
from creases.tables._words.cells import cell_text, decode_row
from creases.tables._words.goals import Goal, other_classes, parse_goal
from creases.tables._words.options import CHANGE, SWITCH, column_options
from creases.tables._words.points import probability
from creases.tables._words.ranges import InputRanges, model_ranges
from creases.tables._words.search import cheapest_choice
from creases.tables._words.terms import Terms

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
class RowChanges:
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

    def lines(self) -> list[str]:
        """Return the answers as lines of text."""
        if not self.answers:
            return [f"To {self.goal}: {self.proof_state[0].lower()}{self.proof_state[1:]}"]
        lines: list[str] = []
        for answer in self.answers:
            others = [name for name in answer.fixed if name not in self.fixed]
            start = f"or, without a change of {_join(others)}: " if lines else ""
            lines.append(f"{start}{answer.prediction} if {answer} (size {format_value(answer.size, 2)}).")
        lines.insert(1, self.proof_state)
        return [*lines, SIZE]

    def __str__(self) -> str:
        return "\n".join(self.lines())

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
class Changes:
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
        return "\n\n".join(f"Row {k}: {answer}" for k, answer in enumerate(self.rows))


def _join(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def find_changes(
    model: Any,
    x: Any,
    *,
    to: str | None = None,
    fixed: Collection[str] = (),
    count: int = 1,
    budget: float = 5.0,
    X: Floats | None = None,
) -> RowChanges:
    """Return the smallest changes of an encoded row after which it is predicted otherwise, with a proof.

    The changed rows could occur: a category has one value, the parts of a date are those of one day, what is missing
    remains missing, numbers have no more decimals than in the table and are within its range.

    Parameters
    ----------
    model
        A model of a table.
    x
        (d,) encoded row.
    to
        The class to reach, or of a regression a bound such as ``">= 30"``; by default any other class.
    fixed
        Names of columns that cannot change.
    count
        Number of answers: each further one leaves out the column that the one before changed most.
    budget
        Seconds for each answer.
    X
        (n, d) encoded rows that show which values occur; by default those that the model was trained on.
    """
    terms = model.terms()
    x = check_vector(x, "x", len(terms.encoding.features))
    count, budget = check_count(count, "count"), check_number(budget, "budget", above=0)
    if to is None and terms.classes is None:
        raise InputError("to", "be given for a regression", "None", "give a bound such as '>= 30'")
    ranges = model_ranges(model, terms, X)
    goals = other_classes(terms, x) if to is None else [parse_goal(terms, to)]
    given = _check_fixed(terms, fixed)
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


def _check_fixed(terms: Terms, fixed: Collection[str]) -> tuple[str, ...]:
    """Return the names, without units, of columns that are to be fixed."""
    known = {spelling: term.name for term in terms.columns for spelling in (term.name, term.column.name)}
    names = [fixed] if isinstance(fixed, str) else list(fixed)
    for name in names:
        if name not in known:
            raise InputError("fix", f"name columns among {', '.join(term.name for term in terms.columns)}", repr(name))
    return tuple(dict.fromkeys(known[name] for name in names))


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
        if choice.x is not None and choice.cost < size and _holds(terms, goal, choice.x):
            best, size = choice.x, choice.cost
    return (None if best is None else _in_words(terms, x, best, columns, fixed)), lower


def _holds(terms: Terms, goal: Goal, x: Floats) -> bool:
    """Return whether the cells of an encoded row, encoded again, reach the goal: whether the row can occur."""
    return goal.is_reached(terms, terms.encoding.transform([decode_row(terms, x)]).X[0])


def _in_words(terms: Terms, x: Floats, point: Floats, columns: Sequence[Any], fixed: tuple[str, ...]) -> RowChange:
    changes = []
    for options in columns:
        term = options.term
        if not np.array_equal(point[term.inputs], x[term.inputs]):
            cost = options.costs[(options.values == point[term.inputs]).all(axis=1).argmax()]
            changes.append(CellChange(term.name, cell_text(terms, term, x), cell_text(terms, term, point), float(cost)))
    changes.sort(key=lambda change: -change.size)
    size = float(sum(change.size for change in changes))
    cells = decode_row(terms, point)
    return RowChange(tuple(changes), _prediction(terms, point), cells, point, size, fixed)


def _prediction(terms: Terms, x: Floats) -> str:
    """Return what an encoded row is predicted to be: ``yes 52 %``, or a value."""
    scores = terms.scores(x[None])
    if terms.classes is None:
        return f"{terms.target or 'prediction'} {format_value(float(scores[0, 0]), 4)}{terms.unit}"
    chances = probability(terms, scores)[0]
    k = int(chances[1] > terms.threshold) if terms.is_binary else int(chances.argmax())
    return f"{terms.labels[k]} {format_percent(float(chances[k]))}"
