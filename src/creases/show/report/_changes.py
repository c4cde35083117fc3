"""The smallest changes that would change the decisions that are closest to another one."""

from __future__ import annotations

import numpy as np

from creases.show.report._formatting import Section
from creases.tables import GrownModel, RowChanges, find_changes

#: Rows that are looked at, and seconds for each.
ROWS, SECONDS = 8, 0.5

#: Largest network whose rows are looked at: inputs and units.
MAX_INPUTS, MAX_UNITS = 64, 256


def change_sections(model: GrownModel) -> list[Section]:
    """Return a table of the rows with the smallest margins, and for each the smallest change of its decision."""
    data, net = model.data, model.network
    if data is None or model.classes is None or net.n_in > MAX_INPUTS or net.n_units > MAX_UNITS:
        return []
    problem = data.problem
    outputs = np.sort(model.outputs(problem.X), axis=1)
    parts = {"test": data.test, "validation": data.validation, "training": data.train}
    part = next(name for name, rows in parts.items() if len(rows))
    closest = parts[part][np.argsort((outputs[:, -1] - outputs[:, -2])[parts[part]], kind="stable")[:ROWS]]
    answers = [find_changes(model, problem.X[row], budget=SECONDS) for row in closest]
    numbers = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    predicted = model.classes_of(problem.X[closest])
    table = [
        [str(numbers[row]), model.classes[problem.y[row]], model.classes[predicted[k]], *_cells(answers[k])]
        for k, row in sorted(enumerate(closest.tolist()), key=lambda pair: _size(answers[pair[0]]))
    ]
    instance, complete = data.names["instance"], sum(answer.complete for answer in answers)
    text = (
        f"The {len(table)} {part} {instance}s closest to the decision boundary, and for each the smallest "
        "change within the range of the data that flips its prediction. The size is, for each column, 0.1 and its "
        f"change in standard deviations. For {complete} of {len(answers)} all smaller changes were searched."
    )
    heads = [instance, problem.target or "class", "predicted", "if", "becomes", "size", "smallest?"]
    return [{"title": "What would flip a prediction", "text": text, "table": {"columns": heads, "rows": table}}]


def _size(changes: RowChanges) -> float:
    """Return the size of the smallest change; infinite if none was found."""
    return changes.answers[0].size if changes.answers else float("inf")


def _cells(changes: RowChanges) -> list[str]:
    """Return the change in words, what is predicted then, its size and whether it is the smallest."""
    if not changes.answers:
        return ["no change within the range of the data flips it", "–", "–", "yes" if changes.complete else "not found"]
    answer = changes.answers[0]
    state = "yes" if changes.complete else f"size ≥ {changes.lower_bound:.3g}"
    return [str(answer), answer.prediction, f"{answer.size:.3g}", state]
