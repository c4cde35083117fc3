"""How similar networks are, and what changed between two of them.

Similarity    ``similarity`` of many networks by every measure; ``cka`` of two matrices. The measures one by one are in
              :mod:`creases.compare.measures`
Difference    ``difference`` of two networks at samples, on a plane or in a box. Its parts are in
              :mod:`creases.compare.differences`
Coefficients  ``coefficients``: for each output the matrix with a row (J, y) for each sample, in memory or in a folder;
              ``compress``: the accuracy with k pieces; ``active_subspace``: directions along which an output varies
Regions       ``count_regions`` that samples lie in; ``section``: all regions on a plane through three inputs, beside
              those that a grid of points finds

Equations and sections are those of Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado
State University, 2026.

>>> import creases
>>> from creases import compare
>>> a = creases.read([([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.5])])  # class 0 where relu(x) > 0.5
>>> b = creases.read([([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.25])])
>>> print(compare.difference(a, b, box=[(0, 1)]))  # doctest: +NORMALIZE_WHITESPACE
The networks disagree in the box on 25 % of it, in 1 part; in the largest (volume 0.25), a predicts 1 and b
predicts 0.
Largest |a - b| there, exactly: 0.25 (output 1), 0 (output 0).
"""

from creases.compare._active_subspace import ActiveSubspace, active_subspace
from creases.compare._coefficients import Coefficients, coefficients
from creases.compare._compression import Compression, compress, count_regions
from creases.compare._decisions import decisions
from creases.compare._difference import Difference, difference
from creases.compare._sections import Section, section, section_of_partition
from creases.compare._similarity import Similarity, similarity
from creases.compare.measures._cka import cka

__all__ = [
    "ActiveSubspace",
    "Coefficients",
    "Compression",
    "Difference",
    "Section",
    "Similarity",
    "active_subspace",
    "cka",
    "coefficients",
    "compress",
    "count_regions",
    "decisions",
    "difference",
    "section",
    "section_of_partition",
    "similarity",
]
