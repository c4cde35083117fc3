"""What is shown of the inputs: the line of one input, the plane of two, slices through more; and its frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import creases
from creases.errors import InputError
from creases.growth.experiment import TableSplit, data_box
from creases.show.report._slices import (
    Slice,
    choose_slices,
    slice_along_columns,
    slice_frame,
    slice_through_rows,
    table_rows,
)

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


def first_slices(net: Network, data: TableSplit) -> list[Slice]:
    """What is shown at first: none for one input, the whole plane of two, that of the first two columns of more."""
    return choose_slices(net, data) if data.problem.X.shape[1] <= 2 else [slice_along_columns(data, 0, 1)]


def asked_slice(asked: Mapping[str, Any], net: Network, data: TableSplit) -> Slice:
    """The slice that a page asks for: two columns, or three rows by their numbers in the table."""
    d = data.problem.X.shape[1]
    if d < 3:
        raise InputError(f"{data.problem.name} has {d} inputs, which are shown whole")
    if "rows" in asked:
        numbers = table_rows(data).tolist()
        rows = asked["rows"]
        if not _different(rows, 3) or not set(rows) <= set(numbers):
            raise InputError(f"rows: expected three different numbers from {numbers[0]} to {numbers[-1]}, got {rows}")
        try:
            return slice_through_rows(net, data, [numbers.index(row) for row in rows])
        except InputError:
            raise InputError(f"rows {rows} lie on one line and span no plane; choose another") from None
    columns: Any = asked.get("columns")
    if not _different(columns, 2) or not all(0 <= k < d for k in columns):
        raise InputError(f"columns: expected two different ones, got {columns}")
    return slice_along_columns(data, *columns)


def draw(
    net: Network, data: TableSplit, shown: Sequence[Slice], number: int, moment: int, most: int
) -> tuple[bytes, int]:
    """The frame of a network in one of the slices, and how many regions are in it; ``most`` bounds them."""

    def bound(regions: int) -> None:
        if regions > most:
            raise InputError(f"the network has more than {most} regions here, which is more than the studio draws")

    if not 0 <= number < max(1, len(shown)):
        raise InputError(f"there is no slice {number}")
    if shown:
        view = shown[number]
        partition: LinePartition | PlanePartition
        partition = creases.plane(
            net, view.box, view.origin, view.basis, progress=lambda _, regions, total: bound(regions)
        )
    else:
        ((low, high),) = data_box(data.problem.X)
        partition = creases.line(net, [low], [high])
    bound(partition.count)
    return slice_frame(partition, data, moment=moment, number=number), partition.count


def _different(numbers: Any, count: int) -> bool:
    whole = isinstance(numbers, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in numbers)
    return whole and len(numbers) == len(set(numbers)) == count
