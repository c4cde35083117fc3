"""Problems: inputs, targets, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._display import to_html
from creases._document import Document, facts, table
from creases._schema import instance
from creases._typing import Floats, Task
from creases._validation import check_arguments, check_count, check_finite, check_numbers
from creases.errors import InputError

#: Whole numbers that are at most so many different ones may be classes.
MOST_CLASSES = 20

#: Rows and columns of a problem that are shown.
ROWS, COLUMNS = 5, 8


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A data set: inputs ``X`` and targets ``y``.

    It unpacks as ``X, y = problem``.

    Examples
    --------
    >>> from creases.problems import Problem
    >>> Problem("two points", [[0.0], [1.0]], [0, 1], features=("x",), classes=("low", "high"))
    <Problem two points: 2 x 1, 2 classes>
    """

    name: str
    X: Floats  #: (n, d) inputs
    y: NDArray[Any]  #: (n,) class numbers, int64; for regression values, float64
    features: tuple[str, ...]  #: names of the d inputs
    classes: tuple[str, ...] | None = None  #: names of the classes; None for regression
    description: str = ""  #: what the data are
    citation: str = ""  #: where they come from
    target: str = ""  #: name of the target
    rows: NDArray[np.int64] | None = None  #: (n,) numbers of the rows in their table, from 0; None if they are all
    encoding: Any = None  #: of a table: how its columns became numbers, a ``creases.tables.TableEncoding``
    weight: Floats | None = None  #: (n,) weights of the rows; None for 1
    exposure: Floats | None = None  #: (n,) what the targets were divided by: y are rates; None for 1
    groups: NDArray[np.int64] | None = None  #: (n,) rows with the same number are tested on together; None: each alone
    is_time: bool = False  #: whether groups are in the order of time, so that the last are tested on
    wider: Problem | None = None  #: of a table: with the columns that look like IDs and were left out; a fit tries them

    def __post_init__(self) -> None:
        X = check_numbers(self.X, "X")
        y = check_numbers(self.y, "y")
        if X.ndim != 2:
            raise InputError("X", "have shape (n, d)", f"{X.shape}")
        if y.shape != X.shape[:1]:
            raise InputError("y", f"have shape ({len(X)},), a target for each sample", f"{y.shape}")
        try:
            got: object = repr(self.features) if isinstance(self.features, str) else len(self.features)
        except TypeError:  # it has no length
            got = repr(self.features)
        if got != X.shape[1]:
            raise InputError("features", f"be {X.shape[1]} names, one for each column of X", f"{got}")
        check_finite(X, "X")
        check_finite(y, "y")
        y = y if self.classes is None else y.astype(np.int64)
        if self.classes is not None and y.size and not (y.min() >= 0 and y.max() < len(self.classes)):
            raise InputError("y", f"be class numbers from 0 to {len(self.classes) - 1}", f"{y.min()} to {y.max()}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "features", tuple(self.features))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))

    @property
    def task(self) -> Task:
        """The kind of problem, ``"classification"`` or ``"regression"``."""
        return "regression" if self.classes is None else "classification"

    @property
    def row_weights(self) -> Floats | None:
        """(n,) How much each row counts in a score: its weight times its exposure; None if all count alike."""
        if self.weight is None or self.exposure is None:
            return self.exposure if self.weight is None else self.weight
        return self.weight * self.exposure

    def describe(self) -> Document:
        """Return what the problem is about, and its first rows."""
        (n, d), classes = self.X.shape, self.classes
        kind = "regression" if classes is None else f"{len(classes)} classes"
        about = {"rows": f"{n:,}", "inputs": f"{d:,}", "kind": kind}
        about |= {"target": self.target} if self.target else {}
        more = ["…"] if d > COLUMNS else []
        rows = [
            [*(f"{value:.4g}" for value in x[:COLUMNS]), *more, f"{y:.4g}" if classes is None else classes[int(y)]]
            for x, y in zip(self.X[:ROWS], self.y[:ROWS], strict=True)
        ]
        heads = [*self.features[:COLUMNS], *more, self.target or "target"]
        values = {"name": self.name, "rows": n, "inputs": d, "classes": None if classes is None else len(classes)}
        values |= {"task": self.task, "description": self.description}
        sections = [facts("Data", about.items()), table("First rows", heads, rows)]
        return Document(self.name, self.description, sections, values)

    def standardized(self) -> Problem:
        """Return the problem with every column of X scaled to mean 0 and standard deviation 1 (a constant one to 0)."""
        return replace(self, X=standardize(self.X))

    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield self.X
        yield self.y

    def __repr__(self) -> str:
        n, d = self.X.shape
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        return f"<Problem {self.name}: {n} x {d}, {kind}>"

    def _repr_html_(self) -> str:
        return to_html(self)


def standardize(X: Floats) -> Floats:
    """Scale the columns of X (n, d) to mean 0 and standard deviation 1; a constant column becomes 0."""
    centred = X - X.mean(axis=0)
    centred[:, np.ptp(X, axis=0) == 0] = 0.0  # rounding of the mean would be amplified
    spread = centred.std(axis=0)
    result: Floats = centred / np.where(spread > 0, spread, 1.0)
    return result


@check_arguments(problem=instance("Problem"))
def match_outputs(problem: Problem, outputs: int) -> Problem:
    """Renumber the classes of a problem as the outputs of a network, which may have more.

    Classes that are named 0, 1, ... are those outputs, even if the problem does not have all of them. Others (names, or
    numbers beyond the outputs) are numbered in their order, as ``tables.read_table`` does. One output separates two
    classes. Of a network with several outputs whole numbers from 0 on are classes, too; any other regression problem is
    returned unchanged.

    Examples
    --------
    >>> from creases.problems import Problem
    >>> some = Problem("some", [[0.0], [1.0]], [0, 1], features=("x",), classes=("1", "3"))
    >>> match_outputs(some, 4).y.tolist(), match_outputs(some, 4).classes
    ([1, 3], ('0', '1', '2', '3'))
    """
    names, count = problem.classes, max(2, check_count(outputs, "outputs"))
    if names is None and outputs > 1 and np.ndim(problem.y) == 1:
        numbers, places = np.unique(problem.y, return_inverse=True)
        if len(numbers) <= MOST_CLASSES and (numbers >= 0).all() and (numbers == np.round(numbers)).all():
            names = tuple(str(int(number)) for number in numbers)
            problem = replace(problem, y=places.astype(np.int64), classes=names)
    if names is None:
        return problem
    if len(names) > count:
        raise InputError("data", f"have at most {count} classes, as the network", f"{len(names)} in {problem.name}")
    if all(name.isdigit() and int(name) < count for name in names):
        number: NDArray[np.int64] = np.array([int(name) for name in names], np.int64)
        every = tuple(map(str, range(count)))
    else:
        number = np.arange(len(names))
        every = (*names, *(f"class {k}" for k in range(len(names), count)))
    return replace(problem, y=number[problem.y], classes=every)
