"""The parts of :func:`creases.compare.difference`: where and by how much two networks differ.

Samples    ``difference_at_samples``: a ``SampleDifference``
Exactly    ``difference_on_line``, ``difference_on_plane``: a ``PartitionDifference`` with its connected areas

A box is compared by :func:`creases.compare.difference` alone.
"""

from creases.compare.differences._at_samples import SampleDifference, difference_at_samples
from creases.compare.differences._on_partition import (
    PartitionDifference,
    difference_on_line,
    difference_on_plane,
)

__all__ = [
    "PartitionDifference",
    "SampleDifference",
    "difference_at_samples",
    "difference_on_line",
    "difference_on_plane",
]
