"""Where the units of a place sit among the entries that a layer takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Link:
    """A layer that units enter, and which of its columns (input channels, batch-norm entries) belong to which unit.

    Unit u has the columns ``start + b stride + u run + r`` for b < blocks, r < run: one for Linear after Linear and
    Conv after Conv, H W of them (one run) for Linear after Conv and Flatten, H W blocks where channels come last.
    """

    path: str  #: dotted path of the layer
    size: int  #: all its columns, other places' too
    start: int
    blocks: int
    stride: int
    run: int

    @property
    def per_unit(self) -> int:
        """Columns of one unit."""
        return self.blocks * self.run

    def columns(self, width: int) -> Tensor:
        """Columns of units 0 .. width - 1: (width, per_unit)."""
        unit = torch.arange(width)[:, None, None] * self.run
        block = torch.arange(self.blocks)[None, :, None] * self.stride
        return (self.start + unit + block + torch.arange(self.run)).flatten(1)

    def widened(self, k: int) -> Link:
        """The link with k more units (fewer where k is negative) after the last."""
        return replace(self, size=self.size + k * self.per_unit, stride=self.stride + k * self.run)

    @classmethod
    def found(cls, path: str, unit: Tensor, width: int) -> Link | None:
        """The link that gives each column the unit (size,) that enters there, -1 for none of this place's.

        None where not every unit enters, or the columns do not follow the rule above.
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
