"""The smallest changes that would change the decisions that are closest to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from creases.show.report._formatting import Section
from creases.tables import Columns, Counterfactual, TableSplit, counterfactual

if TYPE_CHECKING:
    from creases.network import Network

#: Rows that are looked at, and seconds for each.
ROWS, SECONDS = 8, 0.5

#: Largest network whose rows are looked at: inputs and units.
MAX_INPUTS, MAX_UNITS = 64, 256


def change_sections(net: Network, data: TableSplit) -> list[Section]:
    """Return a table of the rows with the smallest margins, and for each the smallest change of its decision."""
    problem = data.problem
    if problem.classes is None or net.n_in > MAX_INPUTS or net.n_units > MAX_UNITS:
        return []
    outputs = np.sort(np.asarray(net(problem.X), np.float64), axis=1)
    parts = {"test": data.test, "validation": data.validation, "training": data.train}
    part = next(name for name, rows in parts.items() if len(rows))
    closest = parts[part][np.argsort((outputs[:, -1] - outputs[:, -2])[parts[part]], kind="stable")[:ROWS]]
    columns = Columns.from_data(problem.X, problem.features)
    answers = [counterfactual(net, problem.X[row], columns, classes=problem.classes, budget=SECONDS) for row in closest]
    numbers = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    table = [
        [str(numbers[row]), problem.classes[problem.y[row]], answer.predicted, *_cells(answer)]
        for row, answer in sorted(zip(closest.tolist(), answers, strict=True), key=lambda pair: pair[1].distance)
    ]
    instance, proved = data.names["instance"], sum(answer.proved for answer in answers)
    text = (
        f"The {len(table)} {part} {instance}s closest to the decision boundary, and for each the smallest "
        "change within the range of the data that flips its prediction. The size is the sum of the changes in "
        f"standard deviations. For {proved} of {len(answers)} the change is proved to be the smallest."
    )
    heads = [instance, problem.target or "class", "predicted", "becomes", "if", "size", "smallest?"]
    return [{"title": "What would flip a prediction", "text": text, "table": {"columns": heads, "rows": table}}]


def _cells(answer: Counterfactual) -> list[str]:
    """Return the class that is reached, the change in words, its size and whether it is the smallest."""
    if answer.point is None:
        return ["–", "no change within the range of the data flips it", "–", "proved" if answer.proved else "not found"]
    state = "proved" if answer.proved else f"size ≥ {answer.lower_bound:.3g}"
    return [str(answer.reached), answer.condition, f"{answer.distance:.3g}", state]
