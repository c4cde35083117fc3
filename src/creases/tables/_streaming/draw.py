"""A pass over encoded rows: a sample of them, and moments of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from creases._engines import Engine
from creases._typing import Bools, Floats, Ints
from creases.tables._split.row_keys import LARGE, Keys, is_below, mix
from creases.tables._streaming.encoded import EncodedBlock, EncodedReader
from creases.tables._streaming.passes import sum_blocks

#: Different rows of the samples: to choose stages, knots and penalties on, and to test with.
SIZES = (LARGE, LARGE // 4)

#: By how much more rows than needed a sample is drawn from, as the number of different ones is not known.
SPARE = 1.5


@dataclass(frozen=True, eq=False)
class Sample:
    """The different rows with the least keys, in the order of their keys: the same in whatever order rows come."""

    keys: Keys  #: (n,) rising
    X: Floats  #: (n, d)
    y: Floats  #: (n, 1)
    count: Ints  #: (n,) rows of the table that equal each
    size: int  #: rows to keep at most

    @classmethod
    def from_rows(cls, keys: Keys, X: Floats, y: Floats, count: Ints, size: int) -> Sample:
        """Return a sample of rows, equal ones merged."""
        keys, first, which = np.unique(keys, return_index=True, return_inverse=True)
        count = np.bincount(which, count, len(keys)).astype(np.int64)
        first = first[:size]
        return cls(keys[:size], X[first], y[first], count[:size], size)

    def __add__(self, other: Sample) -> Sample:
        return Sample.from_rows(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.count, other.count]),
            self.size,
        )


@dataclass(frozen=True, eq=False)
class Draw:
    """Samples of the rows to train on and to test with, and moments of those to train on, for each class."""

    samples: tuple[Sample, Sample]
    n_test: int
    count: Floats  #: (classes,) rows to train on; one number for a regression
    shift: Floats  #: (d + 1,) what moments of inputs and target are about
    sums: Floats  #: (classes, d + 1)
    squares: Floats  #: (classes, d + 1)
    low: Floats  #: (d,)
    high: Floats  #: (d,)

    def __add__(self, other: Draw) -> Draw:
        return Draw(
            (self.samples[0] + other.samples[0], self.samples[1] + other.samples[1]),
            self.n_test + other.n_test,
            self.count + other.count,
            self.shift,
            self.sums + other.sums,
            self.squares + other.squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def moments(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return means and deviations (d + 1,) of inputs and target under weights (classes,) of the classes."""
        total = weights @ self.count
        mean = weights @ self.sums / total
        variance = weights @ self.squares / total - mean**2
        return self.shift + mean, np.sqrt(variance.clip(0.0))


def draw_rows(engine: Engine, reader: EncodedReader, n_rows: int, center: Floats) -> Draw:
    """Return samples and moments of all rows; ``center`` (d + 1,) is near the means of inputs and target."""
    shares = np.array([1 - reader.test_fraction, reader.test_fraction]) * n_rows
    enough = [min(SPARE * size / max(share, 1.0), 1.0) for size, share in zip(SIZES, shares, strict=True)]
    n_classes = max(len(reader.levels), 1)
    draw: Draw = sum_blocks(engine, partial(_draw_block, n_classes, center, SIZES, enough), reader)
    sizes = zip(draw.samples, SIZES, enough, strict=True)
    if not all(len(sample.keys) == size or share == 1.0 for sample, size, share in sizes):
        every = [1.0, 1.0]  # many rows are equal, so every different one counts
        draw = sum_blocks(engine, partial(_draw_block, n_classes, center, SIZES, every), reader)
    return draw


def _draw_block(
    n_classes: int, shift: Floats, sizes: Sequence[int], shares: Sequence[float], block: EncodedBlock
) -> Draw:
    """Return the draw of a block; of each part only a share of the rows, those with the least keys, can be sampled."""
    train, test = ~block.is_test, block.is_test
    keys = mix(block.keys)
    masks = [each & is_below(keys, share) for each, share in zip((train, test), shares, strict=True)]
    samples = [_sample(block, keys, mask, size) for mask, size in zip(masks, sizes, strict=True)]
    X, y = block.X[train], block.y[train]
    classes = y[:, 0].astype(np.int64) if n_classes > 1 else np.zeros(len(y), np.int64)
    member = np.eye(n_classes)[classes]
    Z = np.hstack([X, y]) - shift
    d = X.shape[1]
    return Draw(
        (samples[0], samples[1]),
        int(test.sum()),
        member.sum(axis=0),
        shift,
        member.T @ Z,
        member.T @ Z**2,
        X.min(axis=0, initial=np.inf) if len(X) else np.full(d, np.inf),
        X.max(axis=0, initial=-np.inf) if len(X) else np.full(d, -np.inf),
    )


def _sample(block: EncodedBlock, keys: Keys, mask: Bools, size: int) -> Sample:
    count = np.ones(int(mask.sum()), np.int64)
    return Sample.from_rows(keys[mask], block.X[mask], block.y[mask], count, size)
