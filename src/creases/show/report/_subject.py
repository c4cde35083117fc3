"""The subject of the sections of a report: a network, a box of inputs, and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._text import plural
from creases._typing import Floats
from creases._validation import check_box
from creases.errors import InputError
from creases.network import Network
from creases.regions import LinePartition, PlanePartition, line, plane

#: Largest number of samples that sections use.
ROWS = 2000


def map_box(net: Network, box: Floats, origin: Any = None, basis: Any = None) -> PlanePartition | LinePartition:
    """Return the partition of a box of one input, or of a plane."""
    return line(net, box[:, 0], box[:, 1]) if len(box) == 1 else plane(net, box, origin, basis)


@dataclass(frozen=True, eq=False)
class Subject:
    """A network over a box of its inputs; with one or two inputs, or a slice of more, its partition."""

    net: Network
    box: Floats  #: (n_in, 2)
    partition: PlanePartition | LinePartition | None
    X: Floats | None  #: (n, n_in) samples, at most ROWS of them
    y: NDArray[Any] | None  #: (n,) classes or values
    rows: int  #: number of all samples
    features: tuple[str, ...]
    classes: tuple[str, ...] | None  #: class names; None for regression

    @classmethod
    def from_data(
        cls,
        net: Network,
        box: Any,
        partition: PlanePartition | LinePartition | None,
        X: Any,
        y: Any,
        features: Sequence[str] | None,
        classes: Sequence[Any] | None,
    ) -> Subject:
        """Validate the data; compute the partition of a network of one or two inputs if it is None."""
        limits = check_box(box, net.n_in)
        if partition is None and net.n_in <= 2:
            partition = map_box(net, limits)
        points, known = _check_samples(net, X, y)
        rows = 0 if points is None else len(points)
        if points is not None and rows > ROWS:
            sample = np.sort(np.random.default_rng(0).choice(rows, ROWS, replace=False))
            points, known = points[sample], None if known is None else known[sample]
        names = tuple(features) if features else tuple(f"x{i + 1}" for i in range(net.n_in))
        if len(names) != net.n_in:
            raise InputError("features", f"have {net.n_in} names, one for each input", str(len(names)))
        class_names = None if classes is None else tuple(map(str, classes))
        return cls(net, limits, partition, points, known, rows, names, class_names)

    @property
    def covers_inputs(self) -> bool:
        """Whether the partition is of the input space, not of a slice."""
        partition = self.partition
        if isinstance(partition, PlanePartition):
            is_identity = np.array_equal(partition.basis, np.eye(2)) and not partition.origin.any()
            return self.net.n_in == 2 and is_identity
        return partition is not None and self.net.n_in == 1

    @property
    def coordinates(self) -> Floats | None:
        """The samples in coordinates of the partition, (n, 2) or (n, 1); None for a slice."""
        if self.X is None or not self.covers_inputs:
            return None
        if isinstance(self.partition, LinePartition):
            return (self.X - self.partition.a) / (self.partition.b - self.partition.a)
        return self.X

    @property
    def domain_text(self) -> str:
        """The domain of the partition in words."""
        if isinstance(self.partition, LinePartition):
            return "the interval" if self.covers_inputs else "the line"
        return "the box" if self.covers_inputs else "the slice"

    @property
    def samples_text(self) -> str:
        """The number of samples used, in words."""
        count = 0 if self.X is None else len(self.X)
        return plural(count, "sample") + ("" if count == self.rows else f" (drawn from {self.rows:,})")

    def class_name(self, index: int) -> str:
        """Return the name of a class."""
        return self.classes[index] if self.classes and index < len(self.classes) else f"class {index}"

    def output_name(self, index: int) -> str:
        """Return the name of an output: that of its class, if it has one."""
        if self.classes and len(self.classes) == self.net.n_out:
            return self.classes[index]
        return "output" if self.net.n_out == 1 else f"output {index}"


def count_parameters(net: Network) -> int:
    """Count the parameters of a network: weights and biases, not indices of pooling."""
    return sum(t.numel() for step in net.steps for t in step.tensors.values() if t.is_floating_point())


def _check_samples(net: Network, X: Any, y: Any) -> tuple[Floats | None, NDArray[Any] | None]:
    if X is None:
        return None, None
    points = np.asarray(X, np.float64)
    if not len(points):
        return None, None
    points = points.reshape(len(points), -1)
    if points.shape[1] != net.n_in:
        raise InputError("X", f"have {net.n_in} columns, one for each input", str(points.shape[1]))
    known = None if y is None else np.asarray(y)
    if known is not None and len(known) != len(points):
        raise InputError("y", f"have {len(points)} values, one for each sample", str(len(known)))
    finite = np.isfinite(points).all(axis=1)
    return (points[finite], None if known is None else known[finite]) if finite.any() else (None, None)
