"""What is explained: a network, one input, and the names of its columns and classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.errors import InputError
from creases.tables import Columns

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables import TableSplit


@dataclass(frozen=True, eq=False)
class Subject:
    """A network at one input; of a growth run with the names and units of its table."""

    net: Network
    x: Floats  #: in the network's input shape, or flattened
    columns: Columns
    classes: tuple[str, ...] | None = None
    regression: bool = False  #: a growth run that predicts a number
    title: str = "this input"

    def class_name(self, number: int) -> str:
        """Return what a class is called."""
        return f"class {number}" if self.classes is None else self.classes[number]

    def input_name(self, number: int) -> str:
        """Return what an input is called."""
        return self.columns.names[number]

    @property
    def unit(self) -> str:
        """What distances are measured in."""
        return "standard deviations" if self.columns.count else "the units of the inputs"


def load_subject(model_: str, input_: str | None, row: int | None, input_shape: str | None) -> Subject:
    """Return what the arguments name: a growth run and a row of its table, or a network and an input."""
    if (input_ is None) == (row is None):
        raise InputError("input", "be given, or --row for a growth run, but not both")
    if Path(model_).is_dir():
        return _of_run(Path(model_), input_, row)
    if row is not None:
        raise InputError("row", "come with the folder of a growth run", f"the network {model_}", "give its numbers")
    x = arguments.read_input(input_ or "")
    net = model.load_model(model_, arguments.parse_shape(input_shape) or arguments.input_shape_of(x))
    if x.size != net.n_in:
        raise InputError("input", f"have {net.n_in} numbers, one for each input of the network", f"{x.size}")
    names = [f"x[{', '.join(map(str, index))}]" for index in np.ndindex(*net.input_shape)]
    return Subject(net, x, Columns.unknown(names))


def _of_run(folder: Path, input_: str | None, row: int | None) -> Subject:
    from creases.tables import load, load_settings

    table, data = load(folder), load_settings(folder).load_split()
    problem = data.problem
    number = None if row is None else _find_row(data, row)
    x = arguments.read_input(input_ or "") if number is None else problem.X[number]
    return Subject(
        table.schema.decision_network(table.network),
        x,
        Columns.from_data(problem.X, problem.features),
        problem.classes,
        problem.classes is None,
        "this input" if row is None else f"{data.names['instance']} {row}",
    )


def _find_row(data: TableSplit, row: int) -> int:
    """Return the sample that is a row of the table, numbered from 0 as in every report."""
    problem = data.problem
    numbers = np.arange(len(problem.X)) if problem.rows is None else problem.rows
    matches = np.flatnonzero(numbers == row)
    if not len(matches):
        raise InputError("row", f"be a row of the table, from {numbers.min()} to {numbers.max()}", f"{row}")
    return int(matches[0])
