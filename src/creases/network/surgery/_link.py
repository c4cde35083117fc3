"""Which inputs of a layer belong to which unit of a place."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Link:
    """A layer that reads units, with the columns (input channels, batch-norm entries) of each unit.

    Unit u has the columns ``start + b stride + u run + r`` for b < blocks, r < run: one for Linear after Linear and
    Conv after Conv, H W of them (one run) for Linear after Conv and Flatten, H W blocks where channels come last.
    """

    path: str  #: dotted path of the layer
    size: int  #: number of all its columns, including those of other places
    start: int
    blocks: int
    stride: int
    run: int

    @property
    def per_unit(self) -> int:
        """Number of columns of each unit."""
        return self.blocks * self.run

    def columns(self, width: int) -> Tensor:
        """Return the columns of units 0 .. width - 1: (width, per_unit)."""
        unit = torch.arange(width)[:, None, None] * self.run
        block = torch.arange(self.blocks)[None, :, None] * self.stride
        return (self.start + unit + block + torch.arange(self.run)).flatten(1)

    def resize(self, k: int) -> Link:
        """Return the link with k more units after the last, or fewer if k is negative."""
        return replace(self, size=self.size + k * self.per_unit, stride=self.stride + k * self.run)

    @classmethod
    def from_columns(cls, path: str, unit: Tensor, width: int) -> Link | None:
        """Return the link that assigns to each column its unit (size,), -1 for columns of other places.

        None if some units have no columns, or if the columns do not follow the rule above.
        """
        first = (unit == 0).nonzero().flatten().tolist()
        if not first or int((unit >= 0).sum()) != len(first) * width:
            return None
        run = next((i for i in range(1, len(first)) if first[i] != first[i - 1] + 1), len(first))
        blocks, rest = divmod(len(first), run)
        stride = first[run] - first[0] if blocks > 1 else width * run
        link = cls(path, len(unit), first[0], blocks, stride, run)
        columns = link.columns(width)
        if rest or int(columns.max()) >= len(unit):
            return None
        expected = torch.full_like(unit, -1)
        expected[columns.flatten()] = torch.arange(width, dtype=unit.dtype).repeat_interleave(link.per_unit)
        return link if torch.equal(expected, unit) else None
