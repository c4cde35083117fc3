"""Networks of one input that are positive on some intervals of a line and negative on others.

:func:`wide_interval_network` has one hidden layer of :func:`units_needed` units, :func:`deep_interval_network` has
:func:`layers_needed` narrow layers. At regular places, a power of the width of changes is possible:
:func:`sawtooth_network`, :func:`max_changes_network`; so for :func:`creases.boolean.parity_network`.
"""

from creases.boolean.intervals._constructions import (
    deep_interval_network,
    layers_needed,
    units_needed,
    wide_interval_network,
)
from creases.boolean.intervals._intervals import BrokenLine
from creases.boolean.intervals._sawtooth import max_changes_network, sawtooth_network

__all__ = [
    "BrokenLine",
    "deep_interval_network",
    "layers_needed",
    "max_changes_network",
    "sawtooth_network",
    "units_needed",
    "wide_interval_network",
]
