"""A network of a file that a page sends: shown as a map on its input plane, or on slices through more inputs."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from creases._text import plural
from creases.errors import CreasesError, InputError, RequestError
from creases.network import Network, read
from creases.regions import LinePartition, PlanePartition, line, plane
from creases.show._viewer._frames import partition_frame
from creases.show._viewer._run import to_json
from creases.show.report._maps import NETWORKS, output_classes, samples_json
from creases.show.report._page import run_without_growth
from creases.show.report._slices import (
    Slice,
    axis_slice,
    slice_along_columns,
    slice_through_rows,
    slices_json,
    table_rows,
)
from creases.show.studio._limits import Limits, scratch_folder
from creases.show.studio._page_input import check_real, check_text, render_error
from creases.tables import TableSplit

# Slices of the input space that the studio shows, and their frames.


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


def map_slice(
    net: Network,
    slices: Sequence[Slice],
    number: int,
    ends: Sequence[float],
    most: int,
    sign: Callable[[], None] = lambda: None,
) -> LinePartition | PlanePartition:
    """Return the partition of a network on one of the slices, or between the ends of its one input.

    One of more than ``most`` regions is refused; ``sign`` is called as regions are found.
    """

    def bound(regions: int) -> None:
        sign()
        if regions > most:
            raise InputError("network", f"have at most {most} regions on the slice", f"at least {regions}")

    if not 0 <= number < max(1, len(slices)):
        raise InputError("slice", f"be from 0 to {max(1, len(slices)) - 1}", str(number))
    partition: LinePartition | PlanePartition
    if slices:
        cut = slices[number]
        partition = plane(net, cut.box, cut.origin, cut.basis, progress=lambda _, regions, total: bound(regions))
    else:
        partition = line(net, [ends[0]], [ends[1]])
    bound(partition.count)
    return partition


def append_slice(slices: list[Slice], cut: Slice, most: int) -> int:
    """Append a slice unless it is there; return its number."""
    names = [known.name for known in slices]
    if cut.name in names:
        return names.index(cut.name)
    if len(slices) >= most:
        raise RequestError(f"{most} slices are the limit; restart to choose others")
    slices.append(cut)
    return len(slices) - 1


def _are_distinct(numbers: Any, count: int) -> bool:
    """Return whether a value is a list of so many different integers."""
    integers = isinstance(numbers, list) and all(
        isinstance(number, int) and not isinstance(number, bool) for number in numbers
    )
    return integers and len(numbers) == len(set(numbers)) == count


#: Farthest end of the range of the inputs.
FARTHEST = 1e6


class ModelView:
    """The map of a network in a cube of inputs, ``low`` to ``high`` in each; ``sign`` is called during long work."""

    def __init__(
        self, name: str, net: Network, low: float, high: float, limits: Limits, sign: Callable[[], None] = lambda: None
    ) -> None:
        self.name, self.net, self._limits, self._sign = name, net, limits, sign
        self._ends = (low, high)
        self._features = [f"x{k + 1}" for k in range(net.n_in)]
        self._classes = output_classes(net, None)
        self.slices = [] if net.n_in == 1 else [self._cut(0, 1)]
        self._frames: dict[int, bytes] = {}
        self._regions = 0  #: of the first slice
        self.frame(0, 0)

    @classmethod
    def from_request(cls, request: Mapping[str, Any], limits: Limits, sign: Callable[[], None]) -> ModelView:
        """Read the file of a request, whose content is in base64; refuse one that is too large."""
        low = check_real(request.get("from", -1), "from", -FARTHEST, FARTHEST)
        high = check_real(request.get("to", 1), "to", -FARTHEST, FARTHEST)
        if not low < high:
            raise InputError("to", f"be above {low:g}", f"{high:g}")
        name = re.split(r"[/\\]", check_text(request.get("name"), "name", 200))[-1]
        net = _read_content(name, request.get("content"), limits)
        for what, count, most in (("inputs", net.n_in, limits.inputs), ("outputs", net.n_out, limits.classes)):
            if count > most:
                raise RequestError(f"{name} has {count} {what}; the limit of the studio is {most}")
        return cls(name, net, low, high, limits, sign)

    @property
    def summary(self) -> str:
        """The network in a sentence."""
        sizes = [plural(self.net.n_in, "input"), plural(self.net.n_units, "unit"), plural(self.net.n_out, "output")]
        return f"{self.name}: {sizes[0]}, {sizes[1]}, {sizes[2]}."

    def frame(self, moment: int, number: int) -> bytes:
        """Return the frame of one of the slices; there is one moment."""
        if moment != 0 or not 0 <= number < max(1, len(self.slices)):
            raise RequestError("this slice is no longer available; choose another")
        if number not in self._frames:
            about: dict[str, Any] = {"moment": 0, "slice": number}
            if self.slices:
                about["axes"] = list(self.slices[number].axes)
            partition = map_slice(self.net, self.slices, number, self._ends, self._limits.regions, self._sign)
            self._frames[number] = partition_frame(partition, decides=self._classes is not None, about=about)
            if number == 0:
                self._regions = partition.count
        return self._frames[number]

    def add_slice(self, request: Mapping[str, Any]) -> int:
        """Add the slice along two inputs that a page requests; return its number."""
        if self.net.n_in < 3 or "rows" in request:
            raise InputError("slice", "be along two of more than two inputs")
        cut = self._cut(*check_columns(request.get("columns"), self.net.n_in))
        return append_slice(self.slices, cut, self._limits.slices)

    def slices_json(self) -> dict[str, Any]:
        """Return the slices as the viewer's JSON."""
        return slices_json(self.slices)

    def to_json(self) -> dict[str, Any]:
        """Return the viewer's JSON of a run without growth."""
        problem = samples_json(self.net, self.name, self._classes)
        moment = {"id": 0, "epoch": 0, "kind": "end", "record": None, "regions": self._regions}
        content: dict[str, Any] = to_json(run_without_growth(problem, []) | {"moments": [moment]})
        return {**content, **self.slices_json()}

    def _cut(self, i: int, j: int) -> Slice:
        """Return the plane along two inputs; the others are in the middle of their range."""
        middle = sum(self._ends) / 2
        fixed, origin = f"all other inputs = {middle:g}", np.full(self.net.n_in, middle)
        cut = axis_slice(self._features, i, j, origin, [self._ends] * 2, fixed)
        return cut if self.net.n_in > 2 else replace(cut, name="", fixed="")


def _read_content(name: str, content: Any, limits: Limits) -> Network:
    """Read a network from the content of its file, in base64."""
    suffix = Path(name).suffix.lower()
    if suffix not in NETWORKS:
        raise RequestError(f"{name or 'the file'} is not a model file; choose one that ends in {' or '.join(NETWORKS)}")
    if not isinstance(content, str) or len(content) > 4 * (limits.model // 3 + 1):
        raise RequestError(f"{name} is too large; the limit for model files is {limits.model // 10**6} MB")
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(f"{name} was not received completely; choose the file again") from None
    with scratch_folder() as folder:
        path = folder / f"model{suffix}"
        path.write_bytes(data)
        try:
            return read(path)
        except CreasesError as refused:  # its message may name the copy
            raise RequestError(render_error(refused).replace(str(path), name).replace(path.name, name)) from None
