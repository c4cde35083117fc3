"""The best fit as CSV tables: its pieces, and its values at the data."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from creases._files import write_atomically
from creases._typing import Floats
from creases.cli.spline._data import Data
from creases.splines import OptimalFit, Shallow

PIECES = ("begin", "end", "value_at_begin", "value_at_end", "slope", "slope_standard_error", "slope_p_value")


def piece_rows(fit: OptimalFit, data: Data) -> list[dict[str, Any]]:
    """Return begin, end, values there, slope, its standard error and p-value for each piece in the data's range."""
    low, high = float(data.x[0]), float(data.x[-1])
    statistics = fit.statistics(data.x, data.y)
    knots = np.concatenate([[-np.inf], fit.knots, [np.inf]])
    rows = []
    for k, slope in enumerate(fit.pieces.slopes):
        begin, end = max(low, float(knots[k])), min(high, float(knots[k + 1]))
        if begin < end:
            values = fit.pieces.values[k] + slope * (np.array([begin, end]) - fit.pieces.anchors[k])
            numbers = (begin, end, *values, slope, statistics.standard_errors[k], statistics.p_values[k])
            rows.append(dict(zip(PIECES, (_plain(number) for number in numbers), strict=True)))
    return rows


def write_pieces(fit: OptimalFit, data: Data, path: Path) -> None:
    """Write one row for each piece; ends are dates where x is."""
    rows = [
        [as_date(row["begin"], data), as_date(row["end"], data), *list(row.values())[2:]]
        for row in piece_rows(fit, data)
    ]
    _write(path, PIECES, rows)


def write_values(fit: OptimalFit, net: Shallow | None, data: Data, path: Path) -> None:
    """Write one row for each sample: x, y and the values of the best fit and of the network."""
    columns: list[Sequence[Any] | Floats] = [[as_date(x, data) for x in data.x], data.y, fit(data.x)]
    heads = [data.input.partition(" days since ")[0] if data.first_day else data.input, data.output, "best_fit"]
    if net is not None:
        columns.append(net(data.x))
        heads.append("network")
    _write(path, heads, zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def as_date(x: float, data: Data) -> float | str:
    """Return x, or the date (and time, unless it is midnight) that so many days after the first one is."""
    if data.first_day is None:
        return float(x)
    moment = np.datetime64(data.first_day, "s") + np.timedelta64(round(float(x) * 86400), "s")
    day = moment.astype("datetime64[D]")
    return str(day) if moment == day else str(moment).replace("T", " ")


def _plain(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


def _write(path: Path, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with write_atomically(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(heads)
        writer.writerows(rows)
