"""The data of a growth run: read, divided into rows to train on, to stop by and to test with, and scaled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases import problems
from creases._typing import Ints
from creases.errors import FileError, InputError
from creases.growth import Scaling
from creases.growth.experiment._settings import Settings
from creases.problems import Problem

if TYPE_CHECKING:
    from torch import Tensor

    from creases.growth._samples import InMemorySamples


#: How far pictures go beyond the data, as a share of their range.
MARGIN = 0.05

#: Rows below which nothing can be held out.
MIN_ROWS = 10


@dataclass(frozen=True, eq=False)
class TableSplit:
    """A problem with its rows in three parts (rising numbers into its X), and the scaling that the first part gives."""

    problem: Problem
    train: Ints
    validation: Ints
    test: Ints
    scaling: Scaling

    @property
    def outputs(self) -> int:
        """How many the network has: one for each class."""
        return 1 if self.problem.classes is None else len(self.problem.classes)

    @property
    def names(self) -> dict[str, Any]:
        """What explanations call things."""
        problem = self.problem
        return {
            "classes": problem.classes,
            "features": problem.features,
            "scaling": self.scaling,
            "instance": "row" if problem.target or problem.X.shape[1] > 2 else "point",
        }

    def scaled(self, rows: Ints, device: str) -> InMemorySamples:
        """Some rows as the network is trained on them; each knows its number in the table."""
        import torch

        from creases.growth._samples import InMemorySamples

        X, y = self.problem.X[rows], self.problem.y[rows]
        numbers = rows if self.problem.rows is None else self.problem.rows[rows]
        inputs = torch.from_numpy(self.scaling.inputs(X)).float()
        targets: Tensor = torch.from_numpy(y)
        if self.problem.classes is None:
            targets = torch.from_numpy(self.scaling.targets(y)).float()
        return InMemorySamples(inputs.to(device), targets.to(device), None, torch.from_numpy(numbers))


def load_split(settings: Settings) -> TableSplit:
    """Read the data that the settings name, and divide them."""
    return split_problem(read_problem(settings), settings)


def split_problem(problem: Problem, settings: Settings) -> TableSplit:
    """A problem divided: at random by the seed, each class in its share where there are enough of it."""
    n = len(problem.X)
    if n < MIN_ROWS:
        raise InputError(f"data: {n} rows are too few to hold some out; at least {MIN_ROWS} are needed")
    rest, test = _two(np.arange(n), settings.test, problem, settings.seed)
    train, validation = _two(rest, settings.validation / (1 - settings.test), problem, settings.seed + 1)
    targets = problem.y[train] if problem.classes is None else None
    return TableSplit(problem, train, validation, test, Scaling.from_data(problem.X[train], targets))


def _two(rows: Ints, share: float, problem: Problem, seed: int) -> tuple[Ints, Ints]:
    from sklearn.model_selection import train_test_split

    second = min(max(2, round(share * len(rows))), len(rows) - 2)
    classes = None if problem.classes is None else problem.y[rows]
    if classes is not None:
        counts = np.unique(classes, return_counts=True)[1]
        if counts.min() < 2 or len(counts) > min(second, len(rows) - second):
            classes = None  # too few of a class for both parts
    parts = train_test_split(rows, test_size=second, random_state=seed, stratify=classes)
    return np.sort(parts[0]), np.sort(parts[1])


def read_problem(settings: Settings) -> Problem:
    """The problem that the settings name."""
    if not settings.is_file:
        if settings.target is not None or settings.task is not None:
            raise InputError(f"--target, --task: are for tables; {settings.data!r} is a built-in problem")
        return problems.get(settings.data)
    options: dict[str, Any] = {"task": settings.task, "missing": settings.missing, "header": settings.header}
    try:
        return problems.read_table(settings.data, settings.target, **options)
    except InputError as problem:
        raise InputError(as_options(str(problem))) from None


def resolve_data(given: str) -> str:
    """What DATA means: the whole path of a file that is there, or the name of a built-in problem."""
    path = Path(given).expanduser()
    if path.is_file():
        return str(path.resolve())
    if path.suffix or "/" in given:
        raise FileError(f"data: there is no file {given}")
    name = given.replace("-", "_")
    if name in problems.names():
        return name
    try:
        problems.get(name)
    except InputError as problem:
        raise InputError(f"data: {given!r} is no file. {str(problem).removeprefix('problem: ')}") from None
    return name


def as_options(message: str) -> str:
    """Python's arguments as the command line's options: ``missing="drop"`` to ``--missing drop``."""
    message = message.replace("header=True", "--header").replace("header=False", "--no-header")
    message = re.sub(r'\b(task|missing)="(\w+)"', r"--\1 \2", message)
    return re.sub(r"^target: ", "--target: ", message)


def data_box(X: NDArray[np.float64]) -> list[tuple[float, float]]:
    """What is around inputs (n, d): their range, and a little more."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = np.where(high > low, MARGIN * (high - low), 1.0)
    return [(float(a), float(b)) for a, b in zip(low - margin, high + margin, strict=True)]
