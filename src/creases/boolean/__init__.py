"""Functions of a few bits, the smallest problems: solved exactly.

A function of n bits is an integer whose bit x is its value at the input x.

Functions  ``table_of`` a function and ``function_of`` a table; all ``points``; ``parity``
Classes    ``canonical``: the least function of an NPN class; all ``classes``
Fourier    ``coefficients``, ``degree``, ``influences``, ``influence``, ``entropy``
Swaps      ``swaps``: the fewest changes of class on a line, with weights; ``all_swaps`` of all classes; ``changes``
           along given weights; all ``orderings`` that weights can put the inputs in
Networks   built for a function: ``wide`` (one hidden layer), ``deep`` (narrow layers), ``parity_network``; their
           ``margin``. For any intervals on a line ``wide_on_line``, ``deep_on_line``, of sizes ``units_needed`` and
           ``layers_needed``; with a power of their width of changes ``sawtooth``, ``most_changes``
Training   ``minimal_width`` at which it succeeds; ``xor``: all steady states of XOR on a line, and which one a network
           has come to

>>> from creases import boolean
>>> f = boolean.parity(4)
>>> boolean.canonical_form(f, 4), float(boolean.total_influence(f, 4)), boolean.swaps(f, 4).changes
(27030, 4.0, 4)
>>> boolean.margin(boolean.parity_network(4, width=2, depth=2), f, 4)
0.5
"""

from creases.boolean import fourier, intervals, xor
from creases.boolean._constructions import deep_network, margin, wide_network
from creases.boolean._functions import all_inputs, from_truth_table, parity, truth_table
from creases.boolean._minimal import MinimalWidths, minimal_width
from creases.boolean._npn import NpnClasses, canonical_form, npn_classes
from creases.boolean._orderings import Orderings, subset_sum_orderings
from creases.boolean._swaps import ClassSwaps, Swaps, class_changes, class_swaps, swaps
from creases.boolean.intervals import parity_network

__all__ = [
    "ClassSwaps",
    "MinimalWidths",
    "NpnClasses",
    "Orderings",
    "Swaps",
    "all_inputs",
    "canonical_form",
    "class_changes",
    "class_swaps",
    "deep_network",
    "fourier",
    "from_truth_table",
    "intervals",
    "margin",
    "minimal_width",
    "npn_classes",
    "parity",
    "parity_network",
    "subset_sum_orderings",
    "swaps",
    "truth_table",
    "wide_network",
    "xor",
]
