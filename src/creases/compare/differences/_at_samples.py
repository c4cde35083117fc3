"""What two networks do with the same samples: decisions, outputs, and how much the piece at each sample changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._typing import Floats, Ints
from creases.compare._coefficients import coefficients
from creases.compare._decisions import decisions
from creases.compare._format import counted, outputs_in_words, percent
from creases.compare.differences._joint import check_pair
from creases.errors import InputError
from creases.network import Network, PointsLike

#: Numbers of coefficients of one network that a block of samples has.
BLOCK = 2**25


@dataclass(frozen=True, eq=False)
class SampleDifference:
    """Two networks at p samples."""

    class_a: Ints  #: (p,) what a decides for
    class_b: Ints  #: (p,)
    largest: Floats  #: (m,) largest ``|a - b|`` of each output over the samples
    where: Ints  #: (m,) the sample it is at; -1 without samples
    change: Floats  #: (p,) length of the change of a sample's coefficients (J, y), all outputs together
    size: Floats  #: (p,) length of a's coefficients there
    labels: Ints | None = None  #: (p,) the true classes, if given

    @property
    def differ(self) -> Ints:
        """The samples with different decisions."""
        return np.flatnonzero(self.class_a != self.class_b)

    @property
    def share(self) -> float:
        """Share of samples with different decisions; NaN without samples."""
        return len(self.differ) / len(self.class_a) if len(self.class_a) else float("nan")

    @property
    def empty(self) -> bool:
        """Whether the networks are the same at every sample, decisions, outputs and pieces."""
        return not len(self.differ) and not self.largest.any() and not self.change.any()

    def most_changed(self, k: int = 10) -> Ints:
        """The k samples whose piece changed most, the most changed first; fewer where no others changed."""
        order = np.argsort(-self.change, kind="stable")[:k]
        return np.asarray(order[self.change[order] > 0])

    def confusion(self) -> Ints:
        """Number of samples (classes, classes) that a puts in the row's class and b in the column's."""
        count = 1 + int(max(self.class_a.max(initial=0), self.class_b.max(initial=0)))
        table = np.zeros((count, count), np.int64)
        np.add.at(table, (self.class_a, self.class_b), 1)
        return table

    def mended(self) -> Ints:
        """Samples that a gets wrong and b right; needs labels."""
        labels = self._labels()
        return np.flatnonzero((self.class_a != labels) & (self.class_b == labels))

    def broken(self) -> Ints:
        """Samples that a gets right and b wrong; needs labels."""
        labels = self._labels()
        return np.flatnonzero((self.class_a == labels) & (self.class_b != labels))

    def _labels(self) -> Ints:
        if self.labels is None:
            raise InputError("labels: give difference(a, b, x, labels=...) the true classes of the samples")
        return self.labels

    def __str__(self) -> str:
        p = len(self.class_a)
        if self.empty:
            return f"At {p} samples the networks are the same: decisions, outputs and pieces."
        lines = [f"At {len(self.differ)} of {p} samples ({percent(self.share)}) the networks decide differently."]
        table = self.confusion()
        np.fill_diagonal(table, 0)
        if table.any():
            i, j = np.unravel_index(table.argmax(), table.shape)
            lines[0] = lines[0][:-1] + f", most often a says {i} and b says {j} ({counted(int(table[i, j]), 'time')})."
        if self.labels is not None:
            right = [100 * float((own == self.labels).mean()) for own in (self.class_a, self.class_b)]
            lines.append(
                f"a is right at {right[0]:.2f} %, b at {right[1]:.2f} %: {len(self.mended())} samples that a gets "
                f"wrong b gets right, {len(self.broken())} the other way round."
            )
        lines.append(f"Largest |a - b| among the samples: {outputs_in_words(self.largest)}.")
        changed = self.most_changed(5)
        if len(changed):
            relative = float(np.median(self.change / np.maximum(self.size, np.finfo(float).tiny)))
            lines.append(
                f"The piece changed at {int((self.change > 0).sum())} samples, at the median by {percent(relative)} of "
                f"its coefficients' length; most at samples {', '.join(map(str, changed))}."
            )
        return "\n".join(lines)


def difference_at_samples(a: Network, b: Network, x: PointsLike, labels: Any = None) -> SampleDifference:
    """Two networks at samples (p, ...); ``labels`` are their classes (p,), if known."""
    check_pair(a, b)
    dtype = torch.promote_types(a.dtype, b.dtype)
    if dtype not in (torch.float32, torch.float64):
        dtype = torch.float32
    a, b = a.to(dtype), b.to(dtype).to(a.device)
    samples, single = a.as_batch(x)
    if single:
        raise InputError(f"x: expected a batch of samples (p, {a.n_in}), got one alone; give x[None]")
    if not samples.isfinite().all():
        raise InputError("x: has NaN or infinite entries")
    truth = _labels(labels, len(samples))
    block = max(1, BLOCK // (a.n_out * (a.n_in + 1)))
    parts = [_block(a, b, samples[start : start + block]) for start in range(0, max(1, len(samples)), block)]
    class_a, class_b, gap, change, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not len(samples):
        return SampleDifference(class_a, class_b, np.zeros(a.n_out), np.full(a.n_out, -1), change, size, truth)
    return SampleDifference(class_a, class_b, gap.max(axis=0), gap.argmax(axis=0), change, size, truth)


def _block(a: Network, b: Network, x: Tensor) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Classes of a and b, |a - b| (p, m), the length of the change of the coefficients, and of a's own."""
    values = [net(x.reshape(len(x), *net.input_shape)).reshape(len(x), net.n_out).double() for net in (a, b)]
    A, B = (coefficients(net, x.flatten(1)) for net in (a, b))
    change, size = torch.zeros(2, len(x), dtype=torch.float64, device=x.device)
    for j in range(a.n_out):
        own = A.rows(j).double()
        change += (own - B.rows(j).double()).square().sum(1)
        size += own.square().sum(1)
    gap = (values[0] - values[1]).abs()
    classes = [decisions(own).cpu().numpy() for own in values]
    return *classes, gap.cpu().numpy(), change.sqrt().cpu().numpy(), size.sqrt().cpu().numpy()


def _labels(labels: Any, count: int) -> Ints | None:
    if labels is None:
        return None
    found = np.asarray(labels.cpu() if isinstance(labels, Tensor) else labels)
    if found.shape != (count,) or found.dtype.kind not in "iub":
        raise InputError(
            f"labels: expected {count} whole numbers, one for each sample, got {found.dtype} {found.shape}"
        )
    return found.astype(np.int64)
