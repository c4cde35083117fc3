"""The smallest change of a row that changes its decision, in the table's own units and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from creases._arguments import check_arguments
from creases._schema import instance, optional, sequence
from creases._typing import Floats
from creases._validation import check_box, check_vector
from creases.certify import Change, nearest
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.tables._explain.columns import Columns

#: What distances in a norm are called.
NORMS = {"l1": "the sum of the changes", "l2": "the Euclidean length of the change", "linf": "the largest change"}

#: Columns that a sentence names, at most.
MAX_WORDS = 6

#: Digits in which a change is written, from few to many: as few as still change the decision.
DIGITS = (3, 4, 5, 6, 8, 10, 12, 15)


class ColumnChange(NamedTuple):
    """The change of one column."""

    column: int
    name: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The smallest change of a row that changes its decision, as :func:`counterfactual` returns it; print it.

    ``point`` is rounded to as few digits as still change the decision; the unrounded one is in ``proof``.
    """

    row: Floats  #: (d,) in the table's units
    point: Floats | None  #: (d,) the changed row; None: none was found
    predicted: str  #: class of the row
    reached: str | None  #: class of the point
    changes: tuple[ColumnChange, ...]  #: the columns that change, largest change in standard deviations first
    distance: float  #: least distance, see ``norm``; infinite without a point
    lower_bound: float  #: no smaller change does it; equal to the distance where that is proved
    proved: bool
    norm: str  #: "l1", "l2" or "linf", of the change in standard deviations
    columns: Columns
    proof: Change  #: as :func:`creases.certify.nearest` returns it
    others: tuple[Counterfactual, ...] = ()  #: further answers, which change other columns

    @property
    def condition(self) -> str:
        """The change in words: ``petal length falls by 0.31 cm and petal width rises by 0.2 cm``."""
        words = _change_words(self)
        if len(words) > MAX_WORDS:
            words = [*words[: MAX_WORDS - 1], f"{len(words) - MAX_WORDS + 1} other columns change less"]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

    def __str__(self) -> str:
        if self.point is None:
            if self.proved:
                known = " within the range of the data" if self.columns.count else ""
                return f"no change{known} alters the decision {self.predicted} (proved)"
            bound = f"; any such change has a size of at least {self.lower_bound:.3g}" if self.lower_bound > 0 else ""
            return f"no change of the decision {self.predicted} was found within the time limit{bound}"
        first = f"{self.reached} if {self.condition}; {self.proof_state}"
        rest = [f"or {other.reached} if {other.condition} (size {other.distance:.3g})" for other in self.others]
        known = " in standard deviations, within the range of the data" if self.columns.count else ""
        size = f"size of the change: {self.distance:.3g}, {NORMS[self.norm]}{known}"
        return "\n".join([first, *rest, size])

    @property
    def proof_state(self) -> str:
        """Whether the change is the smallest, in words."""
        if self.proved:
            return "no smaller change does (proved)"
        return f"a smaller change, of size {self.lower_bound:.3g} or more, may exist (time limit reached)"


@check_arguments(
    columns=instance("Columns"),
    classes=optional(sequence()),
    fixed=sequence(),
    rising=sequence(),
    falling=sequence(),
    integer=optional(sequence()),
)
def counterfactual(
    net: NetworkLike,
    row: Any,
    columns: Columns,
    *,
    target: int | None = None,
    classes: Sequence[Any] | None = None,
    fixed: Iterable[str | int] = (),
    rising: Iterable[str | int] = (),
    falling: Iterable[str | int] = (),
    integer: Iterable[str | int] | None = None,
    box: Any = None,
    norm: str = "l1",
    count: int = 1,
    budget: float = 10.0,
) -> Counterfactual:
    """Return the smallest change of a row of a table that changes its decision, with a proof that none is smaller.

    Changes are measured in standard deviations of the columns. Columns of whole numbers stay whole, categories change
    as a whole (which counts 1), and values stay within the range of the data: the proof is about such rows.

    Parameters
    ----------
    net
        A network, torch module or file name, for rows in the table's own units.
    row
        (d,) in the table's units.
    columns
        What the columns are: :meth:`Columns.from_data`.
    target
        The number of the class to reach; any other by default.
    classes
        Names of the classes; numbers by default.
    fixed, rising, falling
        Names or numbers of columns that may not change, may only rise, may only fall.
    integer
        Names or numbers of columns that stay whole numbers; by default those that hold whole numbers only.
    box
        ``(lo, hi)`` for all columns or a pair for each; by default the range of the data, and of the row.
    norm
        ``"l1"``: the sum of all changes (few columns change), ``"l2"`` or ``"linf"`` (the largest change).
    count
        Number of answers: each further one keeps the columns fixed that the previous ones changed most.
    budget
        Seconds for each answer; when time runs out, the answer says what is proved so far.

    Examples
    --------
    >>> import creases, numpy as np
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[0.0, 0.0], [1.0, 1.0]], [1.0, 0.0])])
    >>> X = np.array([[0.25, 0.0], [1.75, 2.5]])
    >>> columns = Columns.from_data(X, ["length (cm)", "mass (kg)"])
    >>> answer = counterfactual(net, [0.25, 0.0], columns, classes=["small", "large"])
    >>> answer.predicted, answer.condition, answer.proved
    ('small', 'mass rises by 0.75 kg', True)
    """
    work = as_network(net).to("cpu").to(torch.float64)
    start = check_vector(row, "row", work.n_in)
    if len(columns.names) != work.n_in:
        raise InputError("columns", f"be {work.n_in}, one for each input", f"{len(columns.names)}")
    if classes is not None and len(classes) != max(work.n_out, 2):
        raise InputError("classes", f"be {max(work.n_out, 2)}, as the network's outputs decide", f"{len(classes)}")
    limits = _limits(columns, start) if box is None else check_box(box, work.n_in)
    held = set(columns.numbers(fixed, "fixed")) | set(np.flatnonzero(limits[:, 0] == limits[:, 1]).tolist())
    held |= {column for group in columns.one_hot if held & set(group) for column in group}
    whole = columns.integer if integer is None else columns.numbers(integer, "integer")
    room: Any = limits.copy()
    room[sorted(held)] += [-1.0, 1.0]  # a box has a width; these columns are fixed
    change = nearest(
        work,
        start,
        target,
        norm=norm,  # type: ignore[arg-type]
        box=None if np.isinf(room).any() else room,
        fixed=sorted(held),
        integer=[column for column in whole if column not in held],
        one_hot=[group for group in columns.one_hot if not held & set(group)],
        weights=columns.weights(norm),
        rising=columns.numbers(rising, "rising"),
        falling=columns.numbers(falling, "falling"),
        count=count,
        budget=budget,
    )
    return _in_words(work, change, columns, classes)


def _limits(columns: Columns, row: Floats) -> Floats:
    """Return the range of the data and the row: (d, 2)."""
    return np.column_stack([np.minimum(columns.box[:, 0], row), np.maximum(columns.box[:, 1], row)])


def _in_words(net: Network, change: Change, columns: Columns, classes: Sequence[Any] | None) -> Counterfactual:
    def name(number: int | None) -> str:
        label = str(number if classes is None else classes[number or 0])
        return f"class {label}" if label.lstrip("-").replace(".", "", 1).isdigit() else label

    point = None if change.point is None else _round_change(net, change)
    weights = change.question.weights
    moved = [] if point is None else np.flatnonzero(point != change.x).tolist()
    moved.sort(key=lambda j: -abs(weights[j] * (point[j] - change.x[j])))  # type: ignore[index]
    return Counterfactual(
        row=change.x,
        point=point,
        predicted=name(change.predicted),
        reached=None if point is None else name(change.reached),
        changes=tuple(ColumnChange(j, columns.names[j], float(change.x[j]), float(point[j])) for j in moved),  # type: ignore[index]
        distance=change.distance,
        lower_bound=change.lower_bound,
        proved=change.proved,
        norm=change.norm,
        columns=columns,
        proof=change,
        others=tuple(_in_words(net, other, columns, classes) for other in change.others),
    )


def _round_change(net: Network, change: Change) -> Floats:
    """Return the point with changes of as few digits as still change the decision, rounded away from the row.

    Rounding must not leave the limits; where rounding always restores the decision the point stays as it is: a tie.
    """
    question = change.question
    assert change.point is not None
    step = change.point - change.x
    step[np.abs(question.weights * step) <= 1e-9 * max(change.distance, 1e-300)] = 0.0
    for digits in DIGITS:
        rounded = np.where(question.integer, np.round(step), _round_away(step, digits))
        point = np.clip(change.x + rounded, question.low, question.high)
        if question.margin(point) > 0 and _is_whole(point[question.integer]):
            return np.asarray(point)
    return change.point


def _is_whole(values: Floats) -> bool:
    return bool((values == np.round(values)).all())


def _round_away(step: Floats, digits: int) -> Floats:
    """Round to significant digits, away from zero."""
    size = np.abs(step)
    exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    unit = 10.0 ** (digits - 1 - exponent)
    rounded = np.ceil(size * unit * (1 - 1e-12)) / unit
    return np.asarray(np.sign(step) * rounded)


def _change_words(answer: Counterfactual) -> list[str]:
    """Return each change in words: numbers that rise or fall, categories that change."""
    columns, words, told = answer.columns, [], set()
    groups = {column: group for group in columns.one_hot for column in group}
    assert answer.point is not None
    for change in answer.changes:
        group = groups.get(change.column)
        if group is None:
            verb = "rises" if change.after > change.before else "falls"
            amount = _amount(abs(change.after - change.before))
            words.append(f"{columns.plain_name(change.column)} {verb} by {amount}{columns.unit(change.column)}")
        elif group not in told:
            told.add(group)
            levels = [columns.names[group[int(values[list(group)].argmax())]] for values in (answer.row, answer.point)]
            (name, old), (_, new) = (level.split("=", 1) for level in levels)
            words.append(f"{name} is {new} instead of {old}")
    return words


def _amount(value: float) -> str:
    """Return a positive number without rounding noise, with commas between thousands."""
    text = f"{value:.12g}"
    return f"{float(text):,.12g}" if "e" in text or value < 1000 else f"{float(text):,.10f}".rstrip("0").rstrip(".")
