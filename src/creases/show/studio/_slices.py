"""Slices of the input space that the studio shows, and their frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from creases.errors import InputError
from creases.regions import line, plane
from creases.show.report._slices import (
    Slice,
    choose_slices,
    multiply_slices,
    slice_along_columns,
    slice_frame,
    slice_through_rows,
    table_rows,
)
from creases.tables import TableSplit, data_box

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


def first_slices(net: Network, data: TableSplit) -> tuple[list[Slice], str]:
    """Return the initial slices, and the column of categories of those that are small multiples, "" without them.

    There is none for one input, the input plane of two, that along the most important columns of more.
    """
    slices = choose_slices(net, data)[:1]
    column, multiples = multiply_slices(net, data, slices[0]) if slices else ("", [])
    return [*slices, *multiples], column


def make_slice(request: Mapping[str, Any], net: Network, data: TableSplit) -> Slice:
    """Return the slice of a request: along two columns, or through three rows of the table."""
    d = data.problem.X.shape[1]
    if d < 3:
        raise InputError("slice", "be for more than two inputs", f"{d} inputs of {data.problem.name}")
    if "rows" in request:
        numbers = table_rows(data).tolist()
        rows = request["rows"]
        if not _are_distinct(rows, 3) or not set(rows) <= set(numbers):
            raise InputError("rows", f"be three different numbers from {numbers[0]} to {numbers[-1]}", str(rows))
        try:
            return slice_through_rows(net, data, [numbers.index(row) for row in rows])
        except InputError:
            raise InputError("rows", "span a plane", f"{rows}, which are collinear", "choose another one") from None
    return slice_along_columns(data, *check_columns(request.get("columns"), d))


def check_columns(columns: Any, d: int) -> tuple[int, int]:
    """Return the numbers of two different columns of so many."""
    if not _are_distinct(columns, 2) or not all(0 <= k < d for k in columns):
        raise InputError("columns", f"be two different numbers from 0 to {d - 1}", str(columns)[:100])
    return columns[0], columns[1]


def draw(
    net: Network, data: TableSplit, slices: Sequence[Slice], number: int, moment: int, most: int
) -> tuple[bytes, int]:
    """Return the frame of a network on one of the slices, and its number of regions, at most ``most``."""

    def bound(regions: int) -> None:
        if regions > most:
            raise InputError("network", f"have at most {most} regions on the slice", f"at least {regions}")

    if not 0 <= number < max(1, len(slices)):
        raise InputError("slice", f"be from 0 to {max(1, len(slices)) - 1}", str(number))
    if slices:
        view = slices[number]
        partition: LinePartition | PlanePartition
        partition = plane(net, view.box, view.origin, view.basis, progress=lambda _, regions, total: bound(regions))
    else:
        ((low, high),) = data_box(data.problem.X)
        partition = line(net, [low], [high])
    bound(partition.count)
    cut = slices[number] if slices else None
    return slice_frame(partition, data, cut, moment=moment, number=number), partition.count


def _are_distinct(numbers: Any, count: int) -> bool:
    """Return whether a value is a list of so many different integers."""
    integers = isinstance(numbers, list) and all(
        isinstance(number, int) and not isinstance(number, bool) for number in numbers
    )
    return integers and len(numbers) == len(set(numbers)) == count
