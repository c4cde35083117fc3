"""Two networks at the same samples: decisions, outputs, and how much the piece at each sample changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._text import OneLine, plural
from creases._typing import Floats, Ints
from creases.certify.differences import as_pair
from creases.compare._coefficients import check_batch, coefficients
from creases.compare._decisions import check_classes, decisions, format_largest, percent
from creases.errors import InputError
from creases.network import Network, PointsLike

#: Numbers of coefficients of one network that a block of samples has.
BLOCK = 2**25


@dataclass(frozen=True, eq=False, repr=False)
class SampleDifference(OneLine):
    """The difference of two networks at p samples."""

    class_a: Ints  #: (p,) that a decides for
    class_b: Ints  #: (p,)
    largest: Floats  #: (m,) largest ``|a - b|`` of each output over the samples
    where: Ints  #: (m,) the sample where it is; -1 without samples
    change: Floats  #: (p,) length of the change of a sample's coefficients (J, y), all outputs together
    size: Floats  #: (p,) length of a's coefficients there
    y: Ints | None = None  #: (p,) the true classes, if known

    @property
    def differ(self) -> Ints:
        """The samples with different decisions."""
        return np.flatnonzero(self.class_a != self.class_b)

    @property
    def share(self) -> float:
        """The fraction of samples with different decisions; NaN without samples."""
        return len(self.differ) / len(self.class_a) if len(self.class_a) else float("nan")

    @property
    def empty(self) -> bool:
        """Whether the networks are the same at every sample: decisions, outputs and pieces."""
        return not len(self.differ) and not self.largest.any() and not self.change.any()

    def most_changed(self, k: int = 10) -> Ints:
        """Return the k samples whose piece changed most, the most changed first; fewer if no others changed."""
        order = np.argsort(-self.change, kind="stable")[:k]
        return np.asarray(order[self.change[order] > 0])

    def confusion(self) -> Ints:
        """Return the number of samples (classes, classes) that a puts in the row's class and b in the column's."""
        count = 1 + int(max(self.class_a.max(initial=0), self.class_b.max(initial=0)))
        table = np.zeros((count, count), np.int64)
        np.add.at(table, (self.class_a, self.class_b), 1)
        return table

    def newly_correct(self) -> Ints:
        """Return the samples that b classifies correctly and a does not; needs ``y``."""
        y = self._true_classes()
        return np.flatnonzero((self.class_a != y) & (self.class_b == y))

    def newly_wrong(self) -> Ints:
        """Return the samples that a classifies correctly and b does not; needs ``y``."""
        y = self._true_classes()
        return np.flatnonzero((self.class_a == y) & (self.class_b != y))

    def _true_classes(self) -> Ints:
        if self.y is None:
            raise InputError("y", "be known", hint="give difference(a, b, X, y=...) the true classes of the samples")
        return self.y

    def __str__(self) -> str:
        p = len(self.class_a)
        if self.empty:
            return f"On {plural(p, 'sample')} the networks have the same predictions, outputs and affine pieces."
        lines = [f"On {len(self.differ)} of {plural(p, 'sample')} ({percent(self.share)}) the networks disagree."]
        table = self.confusion()
        np.fill_diagonal(table, 0)
        if table.any():
            i, j = np.unravel_index(table.argmax(), table.shape)
            times = plural(int(table[i, j]), "time")
            lines[0] = lines[0][:-1] + f"; most often a predicts {i} and b predicts {j} ({times})."
        if self.y is not None:
            a, b = (100 * float((classes == self.y).mean()) for classes in (self.class_a, self.class_b))
            lines.append(
                f"Accuracy: a {a:.2f} %, b {b:.2f} %; b corrects {plural(len(self.newly_correct()), 'error')} of a and "
                f"makes {plural(len(self.newly_wrong()), 'new error')}."
            )
        lines.append(f"Largest |a - b| among the samples: {format_largest(self.largest)}.")
        changed = self.most_changed(5)
        if len(changed):
            relative = float(np.median(self.change / np.maximum(self.size, np.finfo(float).tiny)))
            lines.append(
                f"The affine piece changed at {plural(int((self.change > 0).sum()), 'sample')}, by a median of "
                f"{percent(relative)} of its norm; most at samples {', '.join(map(str, changed))}."
            )
        return "\n".join(lines)


def difference_at_samples(a: Network, b: Network, X: PointsLike, y: Any = None) -> SampleDifference:
    """Compare two networks at samples (p, ...), whose classes are ``y`` (p,), if known."""
    a, b = as_pair(a, b)
    dtype = torch.promote_types(a.dtype, b.dtype)
    if dtype not in (torch.float32, torch.float64):
        dtype = torch.float32
    a, b = a.to(dtype), b.to(dtype).to(a.device)
    samples = check_batch(a, X)
    if not samples.isfinite().all():
        raise InputError("X", "be finite", "NaN or infinite entries")
    truth = None if y is None else check_classes(y, len(samples))
    block = max(1, BLOCK // (a.n_out * (a.n_in + 1)))
    parts = [_block(a, b, samples[start : start + block]) for start in range(0, max(1, len(samples)), block)]
    class_a, class_b, gap, change, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    if not len(samples):
        return SampleDifference(class_a, class_b, np.zeros(a.n_out), np.full(a.n_out, -1), change, size, truth)
    return SampleDifference(class_a, class_b, gap.max(axis=0), gap.argmax(axis=0), change, size, truth)


def _block(a: Network, b: Network, x: Tensor) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return classes of a and b, |a - b| (p, m), the lengths of the coefficients' change, and of a's coefficients."""
    values = [net(x.reshape(len(x), *net.input_shape)).reshape(len(x), net.n_out).double() for net in (a, b)]
    A, B = (coefficients(net, x.flatten(1)) for net in (a, b))
    change, size = torch.zeros(2, len(x), dtype=torch.float64, device=x.device)
    for j in range(a.n_out):
        rows = A.rows(j).double()
        change += (rows - B.rows(j).double()).square().sum(1)
        size += rows.square().sum(1)
    gap = (values[0] - values[1]).abs()
    classes = [decisions(outputs).cpu().numpy() for outputs in values]
    return *classes, gap.cpu().numpy(), change.sqrt().cpu().numpy(), size.sqrt().cpu().numpy()
