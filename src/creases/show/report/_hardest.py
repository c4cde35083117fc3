"""The instances that a network finds hardest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.growth import format_number
from creases.growth.experiment import TableSplit
from creases.problems import Problem
from creases.show.report._subject import Section

if TYPE_CHECKING:
    from creases.network import Network


#: Instances of each part of the data.
EACH = 5

#: Columns whose values are shown.
VALUES = 6


def losses(net: Network, data: TableSplit) -> Floats:
    """The loss of every sample (n,): cross-entropy; for regression the squared error in the target's own units."""
    from scipy.special import log_softmax

    problem, f = data.problem, np.asarray(net(data.problem.X), np.float64).reshape(len(data.problem.X), -1)
    if problem.classes is None:
        return np.asarray((f[:, 0] - problem.y) ** 2)
    return np.asarray(-log_softmax(f, axis=1)[np.arange(len(f)), problem.y])


def hardest_rows(net: Network, data: TableSplit) -> dict[str, list[int]]:
    """The rows of X with the largest loss in each part of the data, the hardest first."""
    loss = losses(net, data)
    parts = {"test": data.test, "validation": data.validation, "training": data.train}
    return {name: rows[np.argsort(-loss[rows], kind="stable")[:EACH]].tolist() for name, rows in parts.items()}


def hardest_section(net: Network, data: TableSplit, columns: Sequence[int]) -> Section:
    """A table of the hardest instances with the values of some columns."""
    problem, loss = data.problem, losses(net, data)
    f = np.asarray(net(problem.X), np.float64).reshape(len(problem.X), -1)
    numbers = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    shown = sorted(columns[:VALUES])
    instance = data.names["instance"]
    told = ["error"] if problem.classes is None else ["margin", "loss"]
    found = []
    for part, rows in hardest_rows(net, data).items():
        for row in rows:
            values = [format_number(problem.X[row, column]) for column in shown]
            found.append([part, str(numbers[row]), *values, *_judged(data, f[row], row, loss[row])])
    heads = ["data", instance, *(problem.features[column] for column in shown), problem.target or _asked(problem)]
    text = (
        f"The {instance}s with the largest error in each part of the data, in the target's own units."
        if problem.classes is None
        else f"The {instance}s with the largest loss in each part of the data. The margin is the output of the right "
        "class less the largest other: below 0 the decision is wrong."
    )
    if len(shown) < len(problem.features):
        text += f" Of {len(problem.features)} columns the {len(shown)} that matter most are shown."
    text += f" {instance.capitalize()}s are numbered from 0."
    return {
        "title": "Hardest instances",
        "text": text,
        "table": {"columns": [*heads, "predicted", *told], "rows": found},
    }


def _asked(problem: Problem) -> str:
    return "value" if problem.classes is None else "class"


def _judged(data: TableSplit, f: Floats, row: int, loss: float) -> list[str]:
    """What a sample is, what it was taken for, and by how much."""
    y, classes = data.problem.y[row], data.problem.classes
    if classes is None:
        return [format_number(y), format_number(f[0]), format_number(f[0] - y)]
    others = np.delete(f, y)
    margin = format_number(f[y] - others.max()) if len(others) else "–"
    return [classes[y], classes[int(f.argmax())], margin, format_number(loss)]
