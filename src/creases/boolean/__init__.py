"""Exact results for Boolean functions of a few bits.

A function of n bits is an integer whose bit x is its value at the input x.

Functions  :func:`truth_table` and :func:`from_truth_table`; :func:`all_inputs`; :func:`parity`
Measures   :func:`measures`: Fourier coefficients and degree, influences, sensitivity, entropy
Classes    :func:`canonical_form`, the least function of an NPN class; :func:`npn_classes`
Swaps      :func:`swaps`, the fewest changes of class along a line, and :func:`class_swaps` of all classes;
           :func:`class_changes` along given weights; :func:`subset_sum_orderings`, all orders of the inputs
Networks   that compute a function: :func:`wide_network` (one hidden layer), :func:`deep_network` (narrow layers),
           :func:`parity_network`, and their :func:`margin`; :mod:`~creases.boolean.intervals`: networks for intervals
           on a line

Most of this implements, and where needed corrects, chapter 3 of the dissertation [1]_; numbers of equations and
theorems in this room are those printed there.

References
----------
.. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.

Examples
--------
>>> from creases import boolean
>>> f = boolean.parity(4)
>>> boolean.canonical_form(f, 4), boolean.swaps(f, 4).changes
(27030, 4)
>>> boolean.margin(boolean.parity_network(4, width=2, depth=2), f, 4)
0.5
"""

from creases.boolean._constructions import deep_network, margin, wide_network
from creases.boolean._functions import all_inputs, from_truth_table, parity, truth_table
from creases.boolean._measures import measures
from creases.boolean._npn import canonical_form, npn_classes
from creases.boolean._orderings import subset_sum_orderings
from creases.boolean._swaps import class_changes, class_swaps, swaps
from creases.boolean.intervals._sawtooth import parity_network

__all__ = [
    "all_inputs",
    "canonical_form",
    "class_changes",
    "class_swaps",
    "deep_network",
    "from_truth_table",
    "margin",
    "measures",
    "npn_classes",
    "parity",
    "parity_network",
    "subset_sum_orderings",
    "swaps",
    "truth_table",
    "wide_network",
]
