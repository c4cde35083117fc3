"""The samples with the largest losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._text import format_number
from creases._typing import Floats
from creases.problems import Problem
from creases.show.report._page import Section
from creases.show.report._table_columns import find_columns
from creases.tables import TableSplit

if TYPE_CHECKING:
    from creases.network import Network


#: Number of samples of each part of the data.
ROWS = 5

#: Number of columns shown.
COLUMNS = 6


def losses(net: Network, data: TableSplit) -> Floats:
    """Return the loss (n,) of each sample: cross-entropy, or the squared error in the units of the target."""
    from scipy.special import log_softmax

    problem, f = data.problem, np.asarray(net(data.problem.X), np.float64).reshape(len(data.problem.X), -1)
    if problem.classes is None:
        return np.asarray((f[:, 0] - problem.y) ** 2)
    return np.asarray(-log_softmax(f, axis=1)[np.arange(len(f)), problem.y])


def hardest_rows(net: Network, data: TableSplit) -> dict[str, list[int]]:
    """Return the rows of X with the largest losses in each part of the data, in descending order."""
    loss = losses(net, data)
    parts = {"test": data.test, "validation": data.validation, "training": data.train}
    return {name: rows[np.argsort(-loss[rows], kind="stable")[:ROWS]].tolist() for name, rows in parts.items()}


def hardest_section(net: Network, data: TableSplit, weights: Mapping[str, float], predictions: NDArray[Any]) -> Section:
    """Return a table of the hardest samples with the values of columns, by their weights, and what is predicted."""
    problem, loss = data.problem, losses(net, data)
    f = np.asarray(net(problem.X), np.float64).reshape(len(problem.X), -1)
    numbers = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    columns = _columns(problem, weights)
    listed = columns[:COLUMNS]
    instance = data.names["instance"]
    measures = ["error"] if problem.classes is None else ["margin", "loss"]
    table = []
    for part, rows in hardest_rows(net, data).items():
        for row in rows:
            values = [value(problem.X[row]) for _, value in listed]
            table.append(
                [part, str(numbers[row]), *values, *_prediction_cells(data, f[row], row, loss[row], predictions[row])]
            )
    target = problem.target or _target_name(problem)
    heads = ["data", instance, *(name for name, _ in listed), f"true {target}", f"predicted {target}", *measures]
    text = (
        f"The {instance}s with the largest errors in each part of the data, in the units of the target."
        if problem.classes is None
        else f"The {instance}s with the largest loss in each part of the data. The margin is the score of the "
        "true class minus the highest other score."
    )
    if len(listed) < len(columns):
        text += f" Shown are the {len(listed)} most important of {len(columns)} columns."
    text += f" {instance.capitalize()}s are numbered from 0."
    return {"title": "Hardest samples", "text": text, "table": {"columns": heads, "rows": table}}


def _columns(problem: Problem, weights: Mapping[str, float]) -> list[tuple[str, Callable[[Floats], str]]]:
    """Return name and text of the columns of a table, the most important first."""
    found = find_columns(problem)
    columns: list[tuple[float, str, Callable[[Floats], str]]] = [
        (weights.get(problem.features[i], 0.0), problem.features[i], lambda x, i=i: format_number(x[i]))  # type: ignore[misc]
        for i in found.numeric
    ]
    columns += [
        (weights.get(column.name, 0.0), column.name, lambda x, column=column: column.level_of(x))  # type: ignore[misc]
        for column in found.categories
    ]
    return [(name, value) for _, name, value in sorted(columns, key=lambda column: -column[0])]


def _target_name(problem: Problem) -> str:
    return "value" if problem.classes is None else "class"


def _prediction_cells(data: TableSplit, f: Floats, row: int, loss: float, predicted: Any) -> list[str]:
    """Return true and predicted class, margin and loss of a sample; target, prediction and error for regression."""
    y, classes = data.problem.y[row], data.problem.classes
    if classes is None:
        return [format_number(y), format_number(f[0]), format_number(f[0] - y)]
    others = np.delete(f, y)
    margin = format_number(f[y] - others.max()) if len(others) else "–"
    return [classes[y], classes[int(predicted)], margin, format_number(loss)]
