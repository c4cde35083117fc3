"""All rows to fit to, read again for every sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._engines import Engine
from creases._typing import Floats
from creases.tables._stages.rows import Rows
from creases.tables._streaming.encoded import EncodedReader
from creases.tables._streaming.passes import sum_blocks


@dataclass(frozen=True, eq=False)
class TrainReader:
    """Reads the rows to train on, or all."""

    encoded: EncodedReader
    n_classes: int
    center: Floats  #: (m,) of the scores
    scale: Floats  #: (m,)
    weights: Floats  #: (classes,) of a row of each class; one number for a regression
    has_test: bool = False  #: whether rows to test with are read too

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart."""
        return self.encoded.n_tasks

    def read(self, task: int) -> Iterator[Rows]:
        """Yield the blocks of a part."""
        for block in self.encoded.read(task):
            train = ~block.is_test | self.has_test
            X, y = block.X[train], block.y[train]
            if not len(X):
                continue
            if self.n_classes:
                weight = self.weights[y[:, 0].astype(np.int64)]
            else:
                y, weight = (y - self.center) / self.scale, np.full(len(y), self.weights[0])
            yield Rows(X, y, weight, np.ones(len(y)), self.n_classes)


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """The rows of a table larger than memory, as a source of sums."""

    reader: TrainReader
    engine: Engine

    @property
    def n_classes(self) -> int:
        """0 for a regression."""
        return self.reader.n_classes

    @property
    def center(self) -> Floats:
        """(m,) Centre of the scores."""
        return self.reader.center

    @property
    def scale(self) -> Floats:
        """(m,) Scale of the scores."""
        return self.reader.scale

    @property
    def freedom(self) -> float:
        """Fraction of the scores that rows can tell."""
        return 1.0 if self.n_classes <= 2 else (self.n_classes - 1) / self.n_classes

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Return the sum of a function of blocks of rows, in the order of the files."""
        return sum_blocks(self.engine, function, self.reader)
