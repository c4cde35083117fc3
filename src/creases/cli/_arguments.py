"""Parse numbers, shapes, boxes and points from the command line."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from creases.errors import FileError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from creases._typing import Floats

Box = list[tuple[float, float]]


def parse_numbers(text: str, name: str) -> Floats:
    """Parse numbers such as ``"0.1,-2"``."""
    import numpy as np

    try:
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise InputError(name, "be comma-separated numbers", repr(text)) from None


def parse_box(text: str, n: int | None = None) -> Box:
    """Parse a box such as ``"-1,1,-2,2"``, one interval for each input; of n inputs if that is given."""
    numbers = parse_numbers(text, "box").tolist()
    if len(numbers) % 2 or (n is not None and len(numbers) != 2 * n):
        expected = "be pairs lo,hi, one for each input" if n is None else f"be {2 * n} numbers, lo,hi for each input"
        raise InputError("box", expected, f"{len(numbers)} numbers, {text!r}")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """Parse a shape such as ``"3,32,32"``."""
    if text is None:
        return None
    numbers = parse_numbers(text, "input_shape")
    if (numbers != numbers.round()).any() or (numbers < 1).any():
        raise InputError("input_shape", "be positive integers such as 3,32,32", repr(text))
    return tuple(int(n) for n in numbers)


def read_npy(path: Path, name: str) -> Floats:
    """Read numbers from an ``.npy`` file; ``name`` is the parameter that names it."""
    import numpy as np

    from creases._array_files import load_npy

    try:
        return np.asarray(load_npy(path), np.float64)
    except FileNotFoundError:
        raise InputError(name, "be an existing file", str(path)) from None
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"cannot read {path} as an .npy file of numbers: {error}") from None


def read_input(text: str) -> Floats:
    """Read one input of a network: comma-separated numbers, or an ``.npy`` file."""
    if text.endswith(".npy"):
        return read_npy(Path(text), "input")
    return parse_numbers(text, "input")


def input_shape_of(x: Floats) -> tuple[int, ...] | None:
    """Return the shape of an example that is an image; None for a plain row of numbers."""
    return x.shape if x.ndim > 1 else None


class Data(NamedTuple):
    """Points to draw on a map."""

    points: Floats  #: (n, d)
    classes: NDArray[np.int64] | None  #: (n,)


def read_data(path: Path, n_in: int) -> Data:
    """Read points (n, n_in) and, if there are any, their classes.

    An ``.npz`` file holds X and perhaps y; a ``.csv`` file one point a line, n_in numbers and perhaps the class.
    """
    if not path.is_file():
        raise InputError("data", "be an existing file", str(path))
    if path.suffix == ".npz":
        points, classes = _data_npz(path)
    elif path.suffix == ".csv":
        points, classes = _data_csv(path, n_in)
    else:
        raise InputError("data", "be an .npz or .csv file", repr(path.name))
    fits = points.ndim > 0 and prod(points.shape[1:]) == n_in
    if not fits or (classes is not None and classes.shape != points.shape[:1]):
        shapes = f"X {points.shape}" + ("" if classes is None else f", y {classes.shape}")
        raise InputError("data", f"hold points X (n, {n_in}) and perhaps classes y (n,)", f"{shapes} in {path}")
    return Data(points.reshape(-1, n_in), None if classes is None else _class_numbers(classes, path))


def _class_numbers(classes: NDArray[Any], path: Path) -> NDArray[np.int64]:
    import numpy as np

    if classes.dtype.kind in "iub":
        return classes.astype(np.int64)
    if classes.dtype.kind != "f" or not (classes == np.round(classes)).all():
        raise InputError("data", "hold integers as classes y", f"{classes[:1].tolist()[0]!r} in {path}")
    return classes.astype(np.int64)


def _data_npz(path: Path) -> tuple[Floats, Floats | None]:
    import numpy as np

    from creases._array_files import open_npz

    try:
        with open_npz(path) as arrays:
            if "X" not in arrays:
                raise FileError(f"cannot read {path}: it has no array X of points")
            return np.asarray(arrays["X"], np.float64), np.asarray(arrays["y"]) if "y" in arrays else None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as an .npz file of numbers: {error}") from None


def _data_csv(path: Path, n_in: int) -> tuple[Floats, Floats | None]:
    import numpy as np

    try:
        with path.open() as lines:
            header = int(not _is_numeric(lines.readline()))
        table = np.loadtxt(path, delimiter=",", skiprows=header, ndmin=2)
    except ValueError as error:
        raise FileError(f"cannot read {path} as a table of numbers: {error}") from None
    if table.shape[1] == n_in + 1:
        return table[:, :n_in], table[:, n_in]
    return table, None


def _is_numeric(line: str) -> bool:
    try:
        parse_numbers(line, "line")
    except InputError:
        return False
    return True
