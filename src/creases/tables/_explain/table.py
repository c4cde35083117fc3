"""A network and the rows of a table: names, columns of inputs, and outputs as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import torch

from creases._typing import Floats
from creases._validation import check_finite, check_points
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network

#: The name of an input; one that is 0 or 1 for a value of a category is called by its column and the value.
InputName = str | tuple[str, str]


class ScalingLike(Protocol):
    """The scaling ``(x - center) / spread`` of a network's inputs and targets, as :class:`creases.growth.Scaling`."""

    @property
    def center(self) -> Floats: ...
    @property
    def spread(self) -> Floats: ...
    @property
    def target_center(self) -> float | Floats: ...
    @property
    def target_spread(self) -> float | Floats: ...


@dataclass(frozen=True)
class Column:
    """A column of a table: one input, or the inputs of 0 and 1 that stand for its categories."""

    name: str
    inputs: tuple[int, ...]
    categories: tuple[str, ...] | None = None  #: None for a column of numbers; else one for each input


@dataclass(frozen=True, eq=False)
class Table:
    """A network in float64, rows in the table's own units, and the names of both."""

    net: Network
    scaling: ScalingLike | None
    X: Floats  #: (n, d)
    names: tuple[InputName, ...]  #: (d,) of the inputs
    classes: tuple[str, ...] | None
    mix: Floats  #: (q, m) what is shown are these mixtures of the network's outputs
    outputs: tuple[str, ...]  #: (q,) names of what is shown

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the inputs come from: those called by a column and a value, ("color", "red"), are one."""
        members: dict[str, list[int]] = {}
        for k, name in enumerate(self.names):
            members.setdefault(name if isinstance(name, str) else name[0], []).append(k)
        columns = []
        for column, inputs in members.items():
            levels = [name[1] for k in inputs if not isinstance(name := self.names[k], str)]
            if levels and (len(levels) < len(inputs) or not np.isin(self.X[:, inputs], (0.0, 1.0)).all()):
                raise InputError("names", "name values of a category for inputs of 0 and 1 only", repr(column))
            columns += (
                [Column(column, tuple(inputs), tuple(levels))] if levels else [Column(column, (k,)) for k in inputs]
            )
        return tuple(columns)

    @cached_property
    def values(self) -> Floats:
        """What is shown (n, q) at the rows, computed by the network itself."""
        return self.evaluate(self.X)

    def to_network(self, X: Floats) -> Floats:
        """Return rows (n, d) as the network takes them."""
        return X if self.scaling is None else np.asarray((X - self.scaling.center) / self.scaling.spread)

    def evaluate(self, X: Floats) -> Floats:
        """Return what is shown (n, q) at rows (n, d)."""
        return self.show_outputs(np.asarray(self.net(self.to_network(X))).reshape(len(X), -1))

    def show_outputs(self, raw: Floats) -> Floats:
        """Return what is shown (n, q) for outputs of the network (n, m)."""
        if self.scaling is not None:
            raw = raw * self.scaling.target_spread + self.scaling.target_center
        return np.asarray(raw @ self.mix.T)

    def pieces(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the affine functions that hold at rows (n, d): coefficients (n, q, d) and offsets (n, q)."""
        J, y = self.net.piece(self.to_network(X))
        J, y = np.asarray(J), np.asarray(y)
        if self.scaling is not None:
            size = np.broadcast_to(np.asarray(self.scaling.target_spread, np.float64), y.shape[1])
            J = J * size[:, None] / self.scaling.spread
            y = y * size + self.scaling.target_center - J @ self.scaling.center
        return np.asarray(self.mix @ J), np.asarray(y @ self.mix.T)


def make_table(
    net: NetworkLike,
    X: Any,
    *,
    names: Sequence[InputName] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
    scores: Literal["as they are", "above the mean"] = "as they are",
) -> Table:
    """Check a network, rows and names; see :func:`creases.tables.effects`.

    Two classes are shown as one function, the log-odds of the second. For more of them ``scores`` says whether to
    subtract the mean over the classes, which changes no decision and no probability.
    """
    work = as_network(net).to("cpu").to(torch.float64)
    if names is None and hasattr(X, "columns"):  # a data frame
        names = [str(name) for name in X.columns]
    rows = check_points(X.to_numpy(np.float64) if hasattr(X, "to_numpy") else X, work.n_in, "X")
    if not len(rows):
        raise InputError("X", "have at least one row", "none")
    check_finite(rows, "X")
    names = tuple(f"x{k}" for k in range(work.n_in)) if names is None else tuple(names)
    if len(names) != work.n_in:
        raise InputError("names", f"be {work.n_in}, one for each input of the network", f"{len(names)}")
    labels = None if classes is None else tuple(map(str, classes))
    if labels is not None and len(labels) != max(work.n_out, 2):
        raise InputError("classes", f"be {max(work.n_out, 2)}, as the network's outputs decide", f"{len(labels)}")
    m, name = work.n_out, (target or "output") if labels is None else ""
    mix, shown = np.eye(m), (name,) if m == 1 else tuple(f"{name} {k}" for k in range(m))
    if labels is not None and len(labels) == 2:
        mix, shown = (np.array([[-1.0, 1.0]]) if m == 2 else np.eye(1)), (f"log-odds of {labels[1]}",)
    elif labels is not None and scores == "as they are":
        shown = labels
    elif labels is not None:
        mix, shown = mix - 1 / m, tuple(f"score of {label}" for label in labels)
    return Table(work, scaling, rows, names, labels, mix, shown)
