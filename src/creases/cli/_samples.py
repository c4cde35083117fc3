"""Read samples for an existing network: rows as it takes them, classes as it numbers its outputs."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from creases.errors import FileError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from creases._typing import Floats


class Points(NamedTuple):
    """Inputs of a network, and their classes where they are known."""

    X: Floats  #: (n, d)
    y: NDArray[np.int64] | None  #: (n,)


def read_points(path: Path, target: str | None, n_in: int, outputs: int) -> Points:
    """Read points (n, n_in) for a network from a file, and their classes (n,) where it has them.

    An ``.npz`` file holds X and perhaps y. A table has as many columns as the network has inputs, or one more to
    predict: the last, or the target. Where this is no class, it is left out.
    """
    if not path.is_file():
        raise InputError("data", "be an existing file", str(path))
    if path.suffix == ".npz" and target is None:
        return _read_npz(path, n_in)
    from creases.problems import match_outputs
    from creases.tables import read_columns, read_table

    columns = read_columns(path, None)
    if target is None and len(columns) == n_in and not any(column.is_text for column in columns):
        return Points(_stack_columns(columns, path), None)
    inputs = list(range(n_in)) if target is None and len(columns) == n_in + 1 else None
    problem = read_table(path, target, inputs=inputs)
    if problem.X.shape[1] != n_in:
        got = f"{problem.X.shape[1]} beside {problem.target!r}"
        raise InputError("data", f"have {n_in} input columns, as the network", got)
    problem = match_outputs(problem, outputs)
    return Points(problem.X, None if problem.classes is None else problem.y)


def _stack_columns(columns: Any, path: Path) -> Floats:
    import numpy as np

    points = np.stack([np.asarray(column.values, np.float64) for column in columns], axis=1)
    if not np.isfinite(points).all():
        raise InputError("data", "be finite", f"missing or infinite values in {path.name}", "drop those rows")
    return points


def _read_npz(path: Path, n_in: int) -> Points:
    import numpy as np

    from creases._files import open_npz

    try:
        with open_npz(path) as arrays:
            if "X" not in arrays:
                raise FileError(f"cannot read {path}: it has no array X of points")
            points, classes = np.asarray(arrays["X"], np.float64), np.asarray(arrays["y"]) if "y" in arrays else None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as an .npz file of numbers: {error}") from None
    fits = points.ndim > 0 and prod(points.shape[1:]) == n_in
    if not fits or (classes is not None and classes.shape != points.shape[:1]):
        shapes = f"X {points.shape}" + ("" if classes is None else f", y {classes.shape}")
        raise InputError("data", f"hold points X (n, {n_in}) and perhaps classes y (n,)", f"{shapes} in {path}")
    if classes is not None and not (classes.dtype.kind in "iubf" and (classes == np.round(classes)).all()):
        raise InputError("data", "hold integers as classes y", f"{classes[:1].tolist()[0]!r} in {path}")
    return Points(points.reshape(-1, n_in), None if classes is None else classes.astype(np.int64))
