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
>>> boolean.canonical(f, 4), float(boolean.influence(f, 4)), boolean.swaps(f, 4).changes
(27030, 4.0, 4)
>>> boolean.margin(boolean.parity_network(4, width=2, depth=2), f, 4)
0.5
"""

from creases.boolean import xor
from creases.boolean._constructions import deep, margin, wide
from creases.boolean._functions import function_of, parity, points, table_of
from creases.boolean._minimal import MinimalWidths, minimal_width
from creases.boolean._npn import Classes, canonical, classes
from creases.boolean._orderings import Orderings, orderings
from creases.boolean._swaps import ClassSwaps, Swaps, all_swaps, changes, swaps
from creases.boolean.fourier._spectrum import coefficients, degree, entropy, influence, influences
from creases.boolean.intervals._broken_lines import BrokenLine
from creases.boolean.intervals._deep import deep_on_line, layers_needed
from creases.boolean.intervals._sawtooth import most_changes, parity_network, sawtooth
from creases.boolean.intervals._wide import units_needed, wide_on_line

__all__ = [
    "BrokenLine",
    "ClassSwaps",
    "Classes",
    "MinimalWidths",
    "Orderings",
    "Swaps",
    "all_swaps",
    "canonical",
    "changes",
    "classes",
    "coefficients",
    "deep",
    "deep_on_line",
    "degree",
    "entropy",
    "function_of",
    "influence",
    "influences",
    "layers_needed",
    "margin",
    "minimal_width",
    "most_changes",
    "orderings",
    "parity",
    "parity_network",
    "points",
    "sawtooth",
    "swaps",
    "table_of",
    "units_needed",
    "wide",
    "wide_on_line",
    "xor",
]
