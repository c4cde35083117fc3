"""What a network does to the rows of a table: how much each column matters."""

from __future__ import annotations

from creases._typing import Floats
from creases.growth import format_number
from creases.growth.experiment import SavedRun
from creases.show.report._columns import column_importance, find_columns
from creases.show.report._formatting import pluralize
from creases.show.report._subject import Section

#: Largest number of columns listed.
COLUMNS = 15


def effect_sections(run: SavedRun, weights: Floats) -> list[Section]:
    """Return the sections about the columns, given the importance (d,) of the inputs."""
    return [_importance(run, weights)]


def _importance(run: SavedRun, weights: Floats) -> Section:
    """Return a bar for each column: the mean size of its coefficient times its standard deviation."""
    problem = run.data.problem
    columns = find_columns(problem)
    sizes = {problem.features[i]: float(weights[i]) for i in columns.numeric}
    sizes |= {column.name: column_importance(weights, column) for column in columns.categories}
    listed = sorted(sizes.items(), key=lambda item: -item[1])
    top = listed[0][1] or 1.0
    unit = f"in the units of {problem.target}" if problem.classes is None else "in log-odds"
    text = (
        f"Mean size of the coefficient over the training rows times the standard deviation of the column, {unit}: how "
        "far a typical change of the column moves the prediction. A column of categories has the sum of its categories."
    )
    if len(listed) > COLUMNS:
        text += f" The first {COLUMNS} of {pluralize(len(listed), 'column')}."
    bars = [
        {"name": name, "share": size / top, "text": format_number(size), "main": k < 2}
        for k, (name, size) in enumerate(listed[:COLUMNS])
    ]
    return {"title": "Columns that matter", "text": text, "bars": bars}
