"""Functions of a few bits, the smallest problems: solved exactly.

A function of n bits is an integer whose bit x is its value at the input x.

Functions  ``table_of`` a function and ``function_of`` a table; all ``points``; ``parity``
Classes    ``canonical``: the least function of an NPN class; all ``classes``
Fourier    ``coefficients``, ``degree``, ``influences``, ``influence``, ``entropy``
Swaps      ``swaps``: the fewest changes of class on a line, with weights; ``all_swaps`` of all classes; ``changes``
           along given weights; all ``orderings`` that weights can put the inputs in

>>> from creases import boolean
>>> f = boolean.parity(4)
>>> boolean.canonical(f, 4), float(boolean.influence(f, 4)), boolean.swaps(f, 4).changes
(27030, 4.0, 4)
"""

from creases.boolean.fourier import coefficients, degree, entropy, influence, influences
from creases.boolean.functions import function_of, parity, points, table_of
from creases.boolean.npn import Classes, canonical, classes
from creases.boolean.orderings import Orderings, orderings
from creases.boolean.swaps import ClassSwaps, Swaps, all_swaps, changes, swaps

__all__ = [
    "ClassSwaps",
    "Classes",
    "Orderings",
    "Swaps",
    "all_swaps",
    "canonical",
    "changes",
    "classes",
    "coefficients",
    "degree",
    "entropy",
    "function_of",
    "influence",
    "influences",
    "orderings",
    "parity",
    "points",
    "swaps",
    "table_of",
]
