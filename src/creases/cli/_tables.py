"""Read tables for an existing network: rows as it takes them, classes as it numbers its outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from creases.cli import _arguments as arguments
from creases.errors import InputError


def read_samples(
    path: Path, target: str | None, n_in: int, outputs: int
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Read points (n, n_in) for a network from a file, and their classes (n,) where it has them.

    An ``.npz`` file holds X and perhaps y. A table has as many columns as the network has inputs, or one more to
    predict: the last, or the target. Where this is no class, it is left out.
    """
    from creases.tables import read_table

    if not path.is_file():
        raise InputError("data", "be an existing file", str(path))
    if path.suffix == ".npz" and target is None:
        points, classes = arguments.read_data(path, n_in)
        return points, classes
    if target is None:
        from creases.tables import read_columns

        columns = read_columns(path, None)
        if len(columns) == n_in and not any(column.is_text for column in columns):
            points = np.stack([np.asarray(column.values, np.float64) for column in columns], axis=1)
            return _finite(points, path), None
    problem = read_table(path, target)
    if problem.X.shape[1] != n_in:
        raise InputError(
            "data", f"have {n_in} input columns, as the network", f"{problem.X.shape[1]} beside {problem.target!r}"
        )
    from creases.problems import match_outputs

    return problem.X, None if problem.classes is None else match_outputs(problem, outputs).y


def _finite(points: NDArray[np.float64], path: Path) -> NDArray[np.float64]:
    if not np.isfinite(points).all():
        raise InputError("data", "be finite", f"missing or infinite values in {path.name}", "drop those rows")
    return points
