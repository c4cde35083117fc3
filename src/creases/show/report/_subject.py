"""What the sections of a report are about: a network, where it is looked at, and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_box
from creases.errors import InputError
from creases.network import Network
from creases.regions import LinePartition, PlanePartition, line, plane
from creases.show.report._words import counted

Section = dict[str, Any]

#: Samples that sections look at, at most.
ROWS = 2000


@dataclass(frozen=True, eq=False)
class Subject:
    """A network over a box of its inputs; with one or two inputs, or a slice of more, its partition."""

    net: Network
    box: Floats  #: (n_in, 2)
    partition: PlanePartition | LinePartition | None
    X: Floats | None  #: (n, n_in) samples, at most ROWS of them
    y: NDArray[Any] | None  #: (n,) classes or values
    rows: int  #: of all samples there are
    features: tuple[str, ...]
    classes: tuple[str, ...] | None  #: names of the classes; None: the outputs are values

    @classmethod
    def of(
        cls,
        net: Network,
        box: Any,
        partition: PlanePartition | LinePartition | None,
        X: Any,
        y: Any,
        features: Sequence[str] | None,
        classes: Sequence[Any] | None,
    ) -> Subject:
        """Checked; the partition of a network of one or two inputs is made unless given."""
        limits = check_box(box, net.n_in)
        if partition is None and net.n_in == 1:
            partition = line(net, limits[:, 0], limits[:, 1])
        elif partition is None and net.n_in == 2:
            partition = plane(net, limits)
        points, known = _samples(net, X, y)
        rows = 0 if points is None else len(points)
        if points is not None and rows > ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(rows, ROWS, replace=False))
            points, known = points[chosen], None if known is None else known[chosen]
        names = tuple(features) if features else tuple(f"x{i + 1}" for i in range(net.n_in))
        if len(names) != net.n_in:
            raise InputError(f"features: expected {net.n_in} names, one for each input, got {len(names)}")
        told = None if classes is None else tuple(map(str, classes))
        return cls(net, limits, partition, points, known, rows, names, told)

    @property
    def whole(self) -> bool:
        """Whether the partition is one of the inputs themselves, not of a slice through more."""
        partition = self.partition
        if isinstance(partition, PlanePartition):
            own = np.array_equal(partition.basis, np.eye(2)) and not partition.origin.any()
            return self.net.n_in == 2 and own
        return partition is not None and self.net.n_in == 1

    @property
    def t(self) -> Floats | None:
        """The samples in the partition's coordinates, (n, 2) or (n, 1); None where they do not lie on it."""
        if self.X is None or not self.whole:
            return None
        if isinstance(self.partition, LinePartition):
            return (self.X - self.partition.a) / (self.partition.b - self.partition.a)
        return self.X

    @property
    def where(self) -> str:
        """In words what the partition is of."""
        if isinstance(self.partition, LinePartition):
            return "the interval" if self.whole else "the line"
        return "the box" if self.whole else "the slice"

    @property
    def looked(self) -> str:
        """In words at how many samples sections look."""
        shown = 0 if self.X is None else len(self.X)
        return counted(shown, "sample") + ("" if shown == self.rows else f" (drawn from {self.rows:,})")

    def class_name(self, index: int) -> str:
        """The name of a class."""
        return self.classes[index] if self.classes and index < len(self.classes) else f"class {index}"

    def output_name(self, index: int) -> str:
        """The name of an output: that of the class it stands for, where it does."""
        if self.classes and len(self.classes) == self.net.n_out:
            return self.classes[index]
        return "output" if self.net.n_out == 1 else f"output {index}"


def parameters(net: Network) -> int:
    """How many numbers were learned: weights and biases, not the indices that pooling gathers by."""
    return sum(t.numel() for step in net.steps for t in step.tensors.values() if t.is_floating_point())


def _samples(net: Network, X: Any, y: Any) -> tuple[Floats | None, NDArray[Any] | None]:
    if X is None:
        return None, None
    points = np.asarray(X, np.float64)
    if not len(points):
        return None, None
    points = points.reshape(len(points), -1)
    if points.shape[1] != net.n_in:
        raise InputError(f"X: expected samples of {net.n_in} numbers, got {points.shape[1]}")
    known = None if y is None else np.asarray(y)
    if known is not None and len(known) != len(points):
        raise InputError(f"y: expected {len(points)} of them, one for each sample, got {len(known)}")
    finite = np.isfinite(points).all(axis=1)
    return (points[finite], None if known is None else known[finite]) if finite.any() else (None, None)
