"""The parts of :func:`creases.compare.difference`: where and by how much two networks differ.

Samples    ``difference_at_samples``: a ``SampleDifference``
Exactly    ``difference_on_line``, ``difference_on_plane``, ``difference_through`` three points and
           ``difference_in_space``: a ``PartitionDifference``, whose connected areas are a ``Part`` each
Box        ``difference_in_box``: a ``BoxDifference``, the largest difference of each output
Pairs      ``join_networks``: two networks as one
"""

from creases.certify.differences import join_networks
from creases.compare.differences._at_samples import SampleDifference, difference_at_samples
from creases.compare.differences._in_box import BoxDifference, difference_in_box
from creases.compare.differences._on_partition import (
    Part,
    PartitionDifference,
    difference_in_space,
    difference_on_line,
    difference_on_plane,
    difference_through,
)

__all__ = [
    "BoxDifference",
    "Part",
    "PartitionDifference",
    "SampleDifference",
    "difference_at_samples",
    "difference_in_box",
    "difference_in_space",
    "difference_on_line",
    "difference_on_plane",
    "difference_through",
    "join_networks",
]
