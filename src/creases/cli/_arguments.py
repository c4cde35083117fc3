"""Numbers, shapes, boxes and points given on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._files import open_npz
from creases._typing import Floats
from creases.errors import FileError, InputError

Box = list[tuple[float, float]]


def parse_numbers(text: str, name: str) -> Floats:
    """``"0.1,-2"`` to numbers."""
    try:
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise InputError(f"{name}: expected comma-separated numbers, got {text!r}") from None


def parse_box(text: str) -> Box:
    """``"-1,1,-2,2"`` to ``[(-1, 1), (-2, 2)]``."""
    numbers = parse_numbers(text, "--box")
    if len(numbers) != 4:
        raise InputError(f"--box: expected four numbers lo,hi,lo,hi, got {len(numbers)}: {text!r}")
    return parse_limits(text)


def parse_limits(text: str) -> Box:
    """``"-1,1"`` to ``[(-1, 1)]``, and so on for as many inputs as there are."""
    numbers = parse_numbers(text, "--box").tolist()
    if len(numbers) % 2:
        raise InputError(f"--box: expected pairs lo,hi, one for each input, got {len(numbers)} numbers: {text!r}")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """``"3,32,32"`` to a shape."""
    if text is None:
        return None
    numbers = parse_numbers(text, "--input-shape")
    if (numbers != numbers.round()).any() or (numbers < 1).any():
        raise InputError(f"--input-shape: expected positive whole numbers such as 3,32,32, got {text!r}")
    return tuple(int(n) for n in numbers)


def read_npy(path: Path, name: str) -> Floats:
    """Numbers from an ``.npy`` file."""
    try:
        return np.asarray(np.load(path, allow_pickle=False), np.float64)
    except FileNotFoundError:
        raise FileError(f"{name}: there is no file {path}") from None
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"{name}: {path} cannot be read as an .npy file of numbers: {error}") from None


def read_input(text: str) -> Floats:
    """One input of a network: comma-separated numbers, or an ``.npy`` file."""
    if text.endswith(".npy"):
        return read_npy(Path(text), "input")
    return parse_numbers(text, "input")


def shape_of(x: Floats) -> tuple[int, ...] | None:
    """The shape of one input where an example of it has told: an image's, not that of a plain row of numbers."""
    return x.shape if x.ndim > 1 else None


class Data(NamedTuple):
    """Points to draw on a map."""

    points: Floats  #: (n, d)
    classes: NDArray[np.int64] | None  #: (n,)


def read_data(path: Path, n_in: int) -> Data:
    """Points (n, n_in) and, if there are any, their classes.

    An ``.npz`` file holds X and perhaps y; a ``.csv`` file one point a line, n_in numbers and perhaps the class.
    """
    if not path.is_file():
        raise FileError(f"--data: there is no file {path}")
    if path.suffix == ".npz":
        points, classes = _data_npz(path)
    elif path.suffix == ".csv":
        points, classes = _data_csv(path, n_in)
    else:
        raise InputError(f"--data: expected an .npz or .csv file, got {path.name!r}")
    points = points.reshape(len(points), -1)
    if points.shape[1] != n_in or (classes is not None and len(classes) != len(points)):
        found = f"X {points.shape}" + ("" if classes is None else f", y {classes.shape}")
        raise InputError(f"--data: {path} must hold points X (n, {n_in}) and perhaps classes y (n,), it holds {found}")
    return Data(points, None if classes is None else _whole(classes, path))


def _whole(classes: NDArray[Any], path: Path) -> NDArray[np.int64]:
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64)
    if classes.dtype.kind != "f" or not (classes == np.round(classes)).all():
        raise InputError(f"--data: {path} must hold whole class numbers y, it holds {classes[:1].tolist()[0]!r}")
    return classes.astype(np.int64)


def _data_npz(path: Path) -> tuple[Floats, Floats | None]:
    try:
        with open_npz(path) as arrays:
            return np.asarray(arrays["X"], np.float64), np.asarray(arrays["y"]) if "y" in arrays else None
    except KeyError:
        raise FileError(f"--data: {path} has no array X of points") from None
    except (OSError, ValueError) as error:
        raise FileError(f"--data: {path} cannot be read as an .npz file of numbers: {error}") from None


def _data_csv(path: Path, n_in: int) -> tuple[Floats, Floats | None]:
    with path.open() as lines:
        header = int(not _is_numeric(lines.readline()))
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=header, ndmin=2)
    except ValueError as error:
        raise FileError(f"--data: {path} cannot be read as a table of numbers: {error}") from None
    if table.shape[1] == n_in + 1:
        return table[:, :n_in], table[:, n_in]
    return table, None


def _is_numeric(line: str) -> bool:
    try:
        parse_numbers(line, "")
    except InputError:
        return False
    return True
