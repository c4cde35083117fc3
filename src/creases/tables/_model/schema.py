"""A function of the rows of a table: how rows become its inputs, what it puts out, and what that stands for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from creases._schema import expect
from creases._text import plural
from creases._typing import Floats, Ints, Task
from creases.tables._encoding.encoding import EncodedRows, TableEncoding, number_encoding
from creases.tables._stages.families import log_odds

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._split.split import TableSplit
    from creases.tables._words.terms import Terms

#: Shares of its column's range by which a number may exceed it and not count as outside: rounding only.
MARGIN = 1e-9


def decide(outputs: Floats, threshold: float = 0.5) -> Ints:
    """Return the classes (n,) for the network's outputs (n, n_classes), one logit for each class.

    Of two classes, the second is decided where its probability is above the threshold; of more, the largest output
    decides.
    """
    if outputs.shape[1] == 2 and threshold != 0.5:
        return (outputs[:, 1] - outputs[:, 0] > log_odds(threshold)).astype(np.int64)
    return np.asarray(outputs.argmax(axis=1), np.int64)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowSchema:
    """How rows of a table become the d inputs of a model, and its outputs become predictions."""

    features: Annotated[tuple[str, ...], "d"]  #: names of the encoded inputs
    classes: tuple[str, ...] | None  #: names of the classes; None for a regression
    targets: tuple[str, ...]  #: names of the columns to predict: one, or of a regression several
    encoding: TableEncoding | None  #: None for a built-in problem, whose columns are the features
    center: Annotated[Floats, "d"]  #: means of the inputs in the rows trained on
    spread: Annotated[Floats, "d"]  #: their standard deviations, 1 where an input is constant
    ranges: Annotated[Floats, "d", 2]  #: least and largest value in the rows trained on
    threshold: float = 0.5  #: probability above which the second of two classes is predicted
    labels: NDArray[Any] | None = None  #: (n_classes,) what is predicted for each class; None: as the encoding says

    @classmethod
    def from_rows(
        cls,
        X: Floats,
        moments: tuple[Floats, Floats],
        *,
        targets: Sequence[str],
        classes: Sequence[Any] | None,
        ranges: Floats | None = None,
        **named: Any,
    ) -> RowSchema:
        """Return the schema of a model that is trained on encoded rows X (n, d) with these means and deviations (d,).

        ``ranges`` (d, 2) are of all rows, where X are some of them; ``named`` are other fields.
        """
        ranges = np.stack([X.min(axis=0), X.max(axis=0)], axis=1) if ranges is None else ranges
        names = None if classes is None else tuple(map(str, classes))
        center, spread = moments
        return cls(classes=names, targets=tuple(targets), center=center, spread=spread, ranges=ranges, **named)

    def check(self) -> None:
        """Raise ValueError where numbers do not fit together."""
        expect(bool((self.spread > 0).all()), "spread must be above 0")
        expect(bool((self.ranges[:, 0] <= self.ranges[:, 1]).all()), "ranges must rise from the least value")
        expect(0 < self.threshold < 1, f"threshold {self.threshold:g} is not between 0 and 1")

    @property
    def task(self) -> Task:
        """``"classification"`` or ``"regression"``."""
        return "regression" if self.classes is None else "classification"

    @property
    def target(self) -> str:
        """The name of the column to predict; of several, with commas."""
        return ", ".join(self.targets)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The table's column of each of the d encoded inputs."""
        if self.encoding is None:
            return self.features
        return tuple(feature.column for feature in self.encoding.features)

    @cached_property
    def encoder(self) -> TableEncoding:
        """The encoding of rows; of a built-in problem that of numbers, whose means stand for missing ones."""
        return number_encoding(self.features, self.center) if self.encoding is None else self.encoding

    @property
    def score_names(self) -> tuple[str, ...]:
        """What the m scores are of: the targets, the second of two classes (its log-odds), or each of more classes."""
        if self.classes is None:
            return self.targets
        return self.classes[1:] if len(self.classes) == 2 else self.classes

    @property
    def score_weights(self) -> Floats:
        """(m, k) What the m scores are of a model's k outputs: of two classes the difference of their logits."""
        if self.classes is not None and len(self.classes) == 2:
            return np.array([[-1.0, 1.0]])
        return np.eye(len(self.score_names))

    @property
    def label_values(self) -> NDArray[Any]:
        """The classes (n_classes,) as the table has them: strings, integers, numbers or booleans."""
        if self.labels is not None:
            return self.labels
        return np.asarray(self.classes) if self.encoding is None else self.encoding.label_values

    def encode(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Return rows as a network takes them, (n, d), and what is unusual about them; encoded ones as they are."""
        if isinstance(rows, EncodedRows):
            return rows
        return self.encoder.transform(rows, header=header)

    def decide(self, outputs: Floats) -> NDArray[Any]:
        """Return the classes (n,), of the type that the table has, or the values of a model's outputs (n, k)."""
        if self.classes is None:
            return np.asarray(outputs[:, 0] if len(self.targets) == 1 else outputs)
        return np.asarray(self.label_values[self.class_numbers(outputs)])

    def class_numbers(self, outputs: Floats) -> Ints:
        """Return the numbers (n,) of the predicted classes of a model's outputs (n, n_classes)."""
        return decide(outputs, self.threshold)

    def decision_network(self, net: Network) -> Network:
        """Return a model's network whose largest output decides as the threshold does: with another last offset."""
        if self.classes is None or net.n_out != 2 or self.threshold == 0.5:
            return net
        import torch

        last = net.steps[-1]
        offset = torch.zeros(2, dtype=net.dtype) if last.offset is None else last.offset
        shift = torch.tensor([0.0, -log_odds(self.threshold)], dtype=offset.dtype, device=offset.device)
        step = replace(last, tensors={**last.tensors, "offset": offset + shift})
        return type(net)([*net.steps[:-1], step], net.input_shape)

    def outside(self, X: Floats) -> list[tuple[str, ...]]:
        """Return, for each encoded row of X (n, d), the inputs that are outside the range of the training rows.

        A row with none is inside. A category that the table did not have is 0 in all its columns or among the other
        values, so it is not detected here; ``encode`` reports it.
        """
        low, high = self.ranges.T
        slack = MARGIN * (high - low)
        beyond = (low - slack > X) | (high + slack < X)
        result: list[tuple[str, ...]] = [()] * len(X)
        for i in np.flatnonzero(beyond.any(axis=1)):
            result[i] = tuple(self.features[j] for j in np.flatnonzero(beyond[i]))
        return result

    def __repr__(self) -> str:
        inputs = plural(len(self.features), "input")
        return f"<RowSchema of {self.target or 'classes'}: {inputs} of {plural(len(set(self.columns)), 'column')}>"


@dataclass(frozen=True)
class Facts:
    """What is known of a model besides its function, as its folder says."""

    scores: Mapping[str, Mapping[str, float]] | None = None  #: by model and part of the rows
    effects: Mapping[str, tuple[float, float, float]] | None = None  #: by part: size, least and largest on the scores
    rows: Mapping[str, int] | None = None  #: of a table larger than memory: those to "train" on and to "test" with
    notes: tuple[str, ...] = ()
    family: str = "auto"  #: the option of the fit


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowFunction(ABC):
    """A function of encoded rows, the schema of its table, and what is known of the rows that it was fitted to.

    Words, intervals, exports and tables of predictions take one; a :class:`RowModel` is one that makes them.
    """

    schema: RowSchema  #: names, ranges and units of inputs and targets
    data: TableSplit | None = None  #: the rows, split into those trained on and those to test with; None if loaded
    _facts: Facts = Facts()
    _folder: Path | None = None  #: of a model that was loaded
    _held: Any = None  #: the ``HeldRows`` of a model that was fitted
    _scored: RowFunction | None = None  #: the model that the scores are of, where this one was fitted again to all rows

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes; None for a regression."""
        return self.schema.classes

    @property
    @abstractmethod
    def network(self) -> Network:
        """The function as a network of encoded rows; with classes, it has a logit for each."""

    @abstractmethod
    def _outputs(self, X: Floats) -> Floats:
        """Return what the network puts out for encoded rows X (n, d): a logit for each class, or the targets."""

    @property
    def _largest(self) -> float | None:
        """With a logarithmic link, whose network puts out logarithms of targets, the largest prediction; else None."""
        return None

    @abstractmethod
    def _terms(self) -> Terms:
        """Return what the columns add, with their names and units, for words."""

    def _place(self, X: Floats) -> dict[str, Any]:
        """Return where rows X (n, d) are, as further columns of their predictions."""
        return {}
