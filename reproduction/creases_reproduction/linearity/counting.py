"""How many functions of n bits narrow networks compute at most: a count that refutes section 3.3.2's hypothesis.

The proof is on the page "Depth and swaps" of the documentation (``docs/questions/depth.md``).
"""

from __future__ import annotations

from itertools import count
from math import e, log2
from typing import NamedTuple


class Refutation(NamedTuple):
    """More functions than networks."""

    bits: int
    width: int
    layers: int
    networks: float  #: log2 of an upper bound on the functions that networks of this size compute
    functions: float  #: log2 of a lower bound on the functions of fewer than width^layers swaps


def log2_of_networks(bits: int, width: int, layers: int) -> float:
    """Return log2 of an upper bound on the functions of bits that networks of so many layers of a width compute.

    Whatever the leak of their ReLUs is; positive outputs are class 1.
    """
    weights = width * bits + (layers - 1) * width**2 + width  # all but the biases, which are 1 or -1
    polynomials = 2**bits * sum(width * 2 ** (width * k) for k in range(layers)) + 2 ** (bits + width * layers)
    signs = width * layers + 1
    return signs + 1 + weights * log2(2 * e * polynomials * (layers + 1) / weights)


def log2_of_functions(bits: int, swaps: int) -> int:
    """Return the integer part of log2 of a lower bound on the functions of bits that have fewer swaps.

    Those whose class changes fewer times along the inputs in the order of the numbers that the bits write.
    """
    places = 2**bits - 1  #: between neighbouring inputs, where the class may change
    total, ways = 0, 2
    for changes in range(min(swaps, places + 1)):
        total += ways
        ways = ways * (places - changes) // (changes + 1)
    return total.bit_length() - 1


def find_refutation(bits: int, *, factor: int = 1, widths: range = range(2, 7)) -> Refutation | None:
    """Return a size at which functions of fewer than width^l swaps outnumber networks of ``factor * l`` layers."""
    for width in widths:
        for layers in count(1):
            networks = log2_of_networks(bits, width, factor * layers)
            functions = log2_of_functions(bits, width**layers)
            if functions > networks:
                return Refutation(bits, width, factor * layers, networks, functions)
            if width**layers >= 2**bits:
                break
    return None


def fewest_bits(factor: int = 1) -> Refutation:
    """Return the refutation with the fewest bits."""
    return next(found for bits in count(2) if (found := find_refutation(bits, factor=factor)) is not None)
