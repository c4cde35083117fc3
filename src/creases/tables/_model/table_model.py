"""A network grown on a table, which predicts and explains new rows by their column names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._text import plural
from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.network import Network, read
from creases.problems import Problem
from creases.tables._encoding.encoding import EncodedRows, TableEncoding, number_encoding
from creases.tables._fit.threshold import decide

if TYPE_CHECKING:
    import pandas as pd

    from creases.explain import Attributions

#: Regions, those with the most rows first, that a run's folder lists at most.
MAX_REGIONS = 10_000

#: Shares of its column's range by which a number may exceed it and not count as outside: rounding only.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class TableModel:
    """A network with the names of its table: it predicts and explains rows of that table's columns.

    :func:`creases.load` returns one. Rows are a file, a DataFrame, a mapping or a list of mappings from column names
    to cells, or an array in the order of the input columns. They are encoded as the table was: see
    :class:`creases.tables.TableEncoding`.
    """

    network: Network  #: for encoded rows in the table's own units; with classes, a logit for each
    features: tuple[str, ...]  #: names of the d inputs of the network
    classes: tuple[str, ...] | None  #: names of the classes; None for a regression
    target: str  #: name of the column to predict
    encoding: TableEncoding | None  #: None for a built-in problem, whose columns are the features
    center: Floats  #: (d,) means of the inputs in the rows trained on
    spread: Floats  #: (d,) their standard deviations, 1 where an input is constant
    ranges: Floats  #: (d, 2) least and largest value in the rows trained on
    regions: Mapping[str, int]  #: rows trained on, by the pattern of the region (hexadecimal); the most rows first
    threshold: float = 0.5  #: probability above which the second of two classes is predicted

    def encode(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Return rows as the network takes them, (n, d), and what is unusual about them.

        ``header`` says whether the first row of a CSV file has names, as in :func:`creases.tables.read_table`.
        """
        encoding = number_encoding(self.features, self.center) if self.encoding is None else self.encoding
        return encoding.transform(rows, header=header)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class (n,) of each row, of the type that the table has, or the predicted values (n,)."""
        return self._decide(np.asarray(self.network(self.encode(rows).X)))

    def predict_proba(self, rows: Any) -> Floats:
        """Return the probability (n, n_classes) of each class, in the order of ``classes``."""
        if self.classes is None:
            raise InputError("rows", "be of a table with classes", "a regression", "predict returns values")
        return self._probabilities(np.asarray(self.network(self.encode(rows).X)))

    def explain(self, row: Any, *, baseline: Any = None) -> Attributions:
        """Return the exact contribution of each input to the output for one row, relative to a baseline.

        Parameters
        ----------
        row
            One row.
        baseline
            Another row to compare with; by default the means of the training rows.
        """
        from creases.explain import attributions

        x = self.encode(row).X
        if len(x) != 1:
            raise InputError("row", "be one row", f"{len(x)}")
        start = self.center if baseline is None else self.encode(baseline).X
        output = None if self.classes is None else int(decide(np.asarray(self.network(x)), self.threshold)[0])
        return attributions(self.network, x[0], baseline=start, output=output, names=self.features)

    def regions_of(self, X: Floats) -> tuple[Ints, Ints]:
        """Return the regions (n,) of encoded rows X (n, d), by number, and the training rows in each (n,).

        Regions are numbered from 1 by their number of training rows, the most first; 0 is any region without any.
        """
        number = {pattern: k for k, pattern in enumerate(self.regions, 1)}
        patterns = [pattern.tobytes().hex() for pattern in self.network.pattern(X)] if len(X) else []
        return (
            np.array([number.get(pattern, 0) for pattern in patterns], np.int64),
            np.array([self.regions.get(pattern, 0) for pattern in patterns], np.int64),
        )

    def outside(self, X: Floats) -> list[tuple[str, ...]]:
        """Return, for each encoded row of X (n, d), the inputs that are outside the range of the training rows.

        A row with none is inside. A category that the table did not have is 0 in all its columns or among the other
        values, so it is not detected here; ``encode`` reports it.
        """
        low, high = self.ranges.T
        slack = MARGIN * (high - low)
        beyond = (low - slack > X) | (high + slack < X)
        return [tuple(self.features[j] for j in np.flatnonzero(row)) for row in beyond]

    def frame(self, rows: Any, *, budget: float = 0.0) -> pd.DataFrame:
        """Return the predictions for rows as a table: what ``creases predict`` writes.

        Its columns are the prediction; the probability of each class; ``region`` and ``rows in region`` (see
        :meth:`regions_of`); ``outside`` and ``outside in``: whether some input is outside the range of the
        training rows, and which. With a ``budget``, also the distance to the nearest input with a different decision,
        in standard deviations, and whether it is proved.

        Parameters
        ----------
        rows
            Rows.
        budget
            Seconds for the distance of one row; 0 computes none.
        """
        return self.encoded_frame(self.encode(rows).X, budget=budget)

    def encoded_frame(self, X: Floats, *, budget: float = 0.0) -> pd.DataFrame:
        """Return the table of :meth:`frame` for encoded rows X (n, d)."""
        import pandas as pd

        outputs = np.asarray(self.network(X)) if len(X) else np.zeros((0, self.network.n_out))
        columns: dict[str, Any] = {f"predicted {self.target or 'class'}": self._decide(outputs)}
        if self.classes is not None:
            probabilities = self._probabilities(outputs)
            columns |= {f"probability {name}": probabilities[:, k] for k, name in enumerate(self.classes)}
        columns["region"], columns["rows in region"] = self.regions_of(X)
        outside = self.outside(X)
        columns["outside"] = ["yes" if beyond else "no" for beyond in outside]
        columns["outside in"] = [", ".join(beyond) for beyond in outside]
        if budget > 0 and self.classes is not None:
            columns |= self._distances(X, budget)
        return pd.DataFrame(columns)

    def _distances(self, X: Floats, budget: float) -> dict[str, list[Any]]:
        from creases.certify import nearest

        net = self._deciding_network()
        changes = [nearest(net, x, weights=1 / self.spread, budget=budget) for x in X]
        return {
            "boundary distance": [change.distance for change in changes],
            "boundary distance at least": [change.lower_bound for change in changes],
            "distance proved": ["yes" if change.proved else "no" for change in changes],
        }

    def _deciding_network(self) -> Network:
        """Return the network whose largest output decides: with the threshold in the bias of the second class."""
        if self.threshold == 0.5 or self.network.n_out != 2:
            return self.network
        module = self.network.module()
        last = module[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.bias[1] -= float(np.log(self.threshold / (1 - self.threshold)))
        return read(module)

    def _decide(self, outputs: Floats) -> NDArray[Any]:
        if self.classes is None:
            return np.asarray(outputs[:, 0])
        labels = np.asarray(self.classes) if self.encoding is None else self.encoding.label_values
        return np.asarray(labels[decide(outputs, self.threshold)])

    def _probabilities(self, outputs: Floats) -> Floats:
        from scipy.special import softmax

        return np.asarray(softmax(outputs, axis=1))

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        return f"<TableModel of {self.target or 'classes'}: {plural(len(self.features), 'input')}, {kind}>"


def training_summary(net: Network, problem: Problem, rows: Ints) -> dict[str, Any]:
    """Return what a run's folder keeps of the rows that were trained on: ranges of inputs, and rows in each region."""
    X = problem.X[rows]
    patterns, counts = np.unique(net.pattern(X), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MAX_REGIONS]
    return {
        "ranges": np.stack([X.min(axis=0), X.max(axis=0)], axis=1).tolist(),
        "regions": {patterns[k].tobytes().hex(): int(counts[k]) for k in order},
    }
