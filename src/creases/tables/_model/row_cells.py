"""Predictions of a model: predict(row) and outputs(row).

A row is a mapping from the names of COLUMNS to cells, which are None or blank where they are missing. ValueError is
raised for a cell that is not what COLUMNS says.
"""

import math
from typing import Any

COLUMNS: Any = {}


def predict(row: Any) -> Any:
    """Return the predicted class or value of a row."""
    return calculate(row)[0]


def outputs(row: Any) -> Any:
    """Return the predicted values or the probabilities of a row by their names."""
    return calculate(row)[1]


def read(cell: Any) -> Any:
    """Return a cell as tables have it: truth values and long whole numbers are texts, without space around them."""
    is_text = type(cell).__name__ in ("bool", "bool_") or (isinstance(cell, int) and abs(cell) > 2**53)
    return str(cell).strip() if is_text or isinstance(cell, str) else cell


def is_missing(cell: Any, gaps: Any) -> bool:
    """Return whether a cell is None, NaN, or a text that stands for a missing value."""
    if isinstance(cell, str):
        return cell in gaps
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def number(cell: Any, is_spelled: bool, other: Any) -> Any:
    """Return the finite number of a cell, another value where there is none."""
    if isinstance(cell, str) and (not is_spelled or "_" in cell):
        return other
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return other
    return value if math.isfinite(value) else other


def choose(cell: Any, ignores: str, texts: Any, numbers: Any, other: float) -> Any:
    """Return the number of a text, of a number, or of all others."""
    if not isinstance(cell, str):
        return numbers.get(number(cell, False, None), other)
    if ignores == "marks":
        cell = " ".join(cell.replace("_", " ").replace("-", " ").split())
    return texts.get(cell if ignores == "nothing" else cell.lower(), other)


def moment(cell: Any) -> str:
    """Return the text of a date or time of day, whose hour has two digits."""
    text = str(cell).removesuffix(".000000")
    return "0" + text if text[1:2] == ":" else text


def is_shaped(cell: Any, shapes: Any) -> int:
    """Return whether a cell has one of some shapes, in which 0 is any digit."""
    return int(moment(cell).translate(str.maketrans("123456789", "000000000")) in shapes)


def date_field(cell: Any, is_there: int, start: int, length: int, absent: int) -> int:
    """Return digits of a date or time as a number."""
    digits = moment(cell)[start - 1 : start - 1 + length] if is_there else ""
    return int(digits) if digits else absent


def interpolate(x: float, knots: Any, values: Any) -> Any:
    """Return a function that is straight between knots, and constant before the first and behind the last."""
    if x <= knots[0]:
        return values[0]
    for k in range(1, len(knots)):
        if x < knots[k]:
            slope = (values[k] - values[k - 1]) / (knots[k] - knots[k - 1])
            return values[k - 1] + slope * (x - knots[k - 1])
    return values[-1]


def weigh(steps: Any, weights: Any, constant: float) -> Any:
    """Return a constant and the sum of numbers times weights."""
    return constant + sum(step * weight for step, weight in zip(steps, weights, strict=True))


def refuse(row: Any, flags: Any) -> None:
    """Raise ValueError for a cell that cannot be read."""
    for name, is_unread in flags.items():
        if is_unread:
            raise ValueError(f"column {name!r} takes {COLUMNS[name]}; it has {row[name]!r}")


def calculate(row: Any) -> Any:
    """Return the prediction of a row, and the values or probabilities by name."""
    raise NotImplementedError
