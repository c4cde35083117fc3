"""Parse numbers, shapes, boxes and points from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from creases.errors import FileError, InputError

if TYPE_CHECKING:
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

    from creases._files import read_npy_header

    try:
        read_npy_header(path)  # refuses a damaged file before memory is taken
        return np.asarray(np.load(path, allow_pickle=False), np.float64)
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


def check_outputs(paths: list[Path], endings: tuple[str, ...], param: str = "out") -> None:
    """Refuse a file name that cannot be written, before any work is done."""
    for path in paths:
        if path.suffix not in endings:
            raise InputError(param, f"be a file name ending in {', '.join(endings)}", repr(path.name))
        if not path.parent.is_dir():
            raise InputError(param, "be in an existing folder", str(path))
