"""How alike networks are, by the linear coefficients that they use, and what changed between two of them.

Coefficients  ``coefficients``: for each output the matrix with a row (J, y) for each sample, in memory or in a folder
Alike         ``similarity`` of many networks by every measure, in a ``similarity_order``; one by one ``cka_matrix`` and
              ``coefficient_cka``, ``distances``, ``cross_entropies``, ``affine_map`` and ``mapped_accuracies``, and of
              hidden layers ``hidden_values``, ``hidden_cka``
Changed       ``difference`` of two networks; of which ``difference_at_samples``, ``difference_on_line``,
              ``difference_on_plane``, ``difference_through`` three points, ``difference_in_space`` and
              ``difference_in_box``; two as one network: ``joined``
One network   ``compress``: its accuracy with k pieces; ``distinct_regions`` that samples lie in; ``active_subspace``:
              directions along which an output varies, and how much of it one has ``explained``; ``section``: all
              regions through three inputs beside those that a grid sees

>>> import creases
>>> from creases import compare
>>> a = creases.read([([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.5])])  # class 0 where relu(x) > 0.5
>>> b = creases.read([([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.25])])
>>> print(compare.difference(a, b, box=[(0, 1)]))  # doctest: +NORMALIZE_WHITESPACE
The networks decide differently in the box on 25 % of it, in 1 part: in the largest, of volume 0.25, a says 1 and
b says 0.
Largest |a - b| there, exactly: 0.25 (output 1), 0 (output 0).
"""

from creases.compare._affine_map import affine_map, mapped_accuracies
from creases.compare._cka import cka, cka_matrix, coefficient_cka
from creases.compare._coefficients import Coefficients, coefficients
from creases.compare._compression import Compression, compress, distinct_regions
from creases.compare._decisions import decisions
from creases.compare._difference import Difference, difference
from creases.compare._distance import cross_entropies, distances
from creases.compare._hidden import hidden_cka, hidden_values
from creases.compare._in_box import BoxDifference, difference_in_box
from creases.compare._joint import joined
from creases.compare._on_partition import (
    Part,
    PartitionDifference,
    difference_in_space,
    difference_on_line,
    difference_on_plane,
    difference_through,
)
from creases.compare._on_samples import SampleDifference, difference_at_samples
from creases.compare._sections import Section, on_grid, section
from creases.compare._sensitivity import ActiveSubspace, active_subspace, explained
from creases.compare._similarity import Similarity, similarity, similarity_order

__all__ = [
    "ActiveSubspace",
    "BoxDifference",
    "Coefficients",
    "Compression",
    "Difference",
    "Part",
    "PartitionDifference",
    "SampleDifference",
    "Section",
    "Similarity",
    "active_subspace",
    "affine_map",
    "cka",
    "cka_matrix",
    "coefficient_cka",
    "coefficients",
    "compress",
    "cross_entropies",
    "decisions",
    "difference",
    "difference_at_samples",
    "difference_in_box",
    "difference_in_space",
    "difference_on_line",
    "difference_on_plane",
    "difference_through",
    "distances",
    "distinct_regions",
    "explained",
    "hidden_cka",
    "hidden_values",
    "joined",
    "mapped_accuracies",
    "on_grid",
    "section",
    "similarity",
    "similarity_order",
]
