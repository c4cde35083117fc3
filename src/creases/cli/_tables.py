"""Tables for networks that are there already: rows as the network takes them, classes as it numbers its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creases.cli import _arguments as arguments
from creases.errors import FileError, InputError
from creases.growth.experiment import as_options

if TYPE_CHECKING:
    from creases.problems import Problem


def read_labelled(path: Path, target: str | None) -> Problem:
    """A table with something to predict in it; errors name the command line's options."""
    from creases import problems

    try:
        return problems.read_table(path, target)
    except InputError as problem:
        raise InputError(as_options(str(problem))) from None


def read_samples(
    path: Path, target: str | None, n_in: int, outputs: int
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Points (n, n_in) of a file for a network, and their classes (n,) where it has them.

    An ``.npz`` file holds X and perhaps y. A table has as many columns as the network has inputs, or one more to
    predict: the last, or the target. Where this is no class, it is left out.
    """
    if not path.is_file():
        raise FileError(f"--data: there is no file {path}")
    if path.suffix == ".npz" and target is None:
        points, classes = arguments.read_data(path, n_in)
        return points, classes
    if target is None:
        from creases.problems.tables import read_columns

        columns = read_columns(path, None)
        if len(columns) == n_in and not any(column.is_text for column in columns):
            points = np.stack([np.asarray(column.values, np.float64) for column in columns], axis=1)
            return _finite(points, path), None
    problem = read_labelled(path, target)
    if problem.X.shape[1] != n_in:
        raise InputError(
            f"--data: {path.name} has {problem.X.shape[1]} columns beside {problem.target!r}, the network takes {n_in} "
            "numbers"
        )
    from creases.problems import match_outputs

    return problem.X, None if problem.classes is None else match_outputs(problem, outputs).y


def _finite(points: NDArray[np.float64], path: Path) -> NDArray[np.float64]:
    if not np.isfinite(points).all():
        raise InputError(f"--data: {path.name} has missing or infinite values; drop or fill in those rows")
    return points
