"""Certified statements about a network on a box of inputs.

``output_bounds`` and ``unit_bounds`` bound the outputs and the pre-activations of every unit, ``unit_facts`` reports
which units are dead, always active or redundant. ``nearest`` is the nearest input with a different decision, with a
proof that nothing nearer exists; ``margins`` are its distances for all rows of a data set, and ``safety_map`` measures
the distance to the decision boundary on a plane. ``output_range`` is the exact range of outputs, of their differences
and of coefficients, with the inputs where they are reached; ``holds`` and ``monotone`` prove or refute properties.

Sub-modules: :mod:`creases.certify.differences` (two networks in a box), :mod:`creases.certify.properties` (properties
and VNN-LIB files) and :mod:`creases.certify.propagation` (bounds of every intermediate value).

>>> import creases
>>> from creases.certify import output_bounds
>>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
>>> [bound.round(9).tolist() for bound in output_bounds(net, (-1, 1))]
[[0.0], [1.0]]
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.certify._bounds import output_bounds, unit_bounds
    from creases.certify._margins import margins
    from creases.certify._nearest.nearest import Change, nearest
    from creases.certify._ranges import output_range
    from creases.certify._safety_map import SafetyMap, safety_map
    from creases.certify._unit_facts import UnitFacts, UnitSide, unit_facts
    from creases.certify.properties._holds import holds
    from creases.certify.properties._monotone import monotone
    from creases.certify.properties._property import Verdict

__all__ = [
    "Change",
    "SafetyMap",
    "UnitFacts",
    "UnitSide",
    "Verdict",
    "holds",
    "margins",
    "monotone",
    "nearest",
    "output_bounds",
    "output_range",
    "safety_map",
    "unit_bounds",
    "unit_facts",
]

_HOMES = {
    "_bounds": (
        "output_bounds",
        "unit_bounds",
    ),
    "_margins": ("margins",),
    "_nearest.nearest": (
        "Change",
        "nearest",
    ),
    "_ranges": ("output_range",),
    "_safety_map": (
        "SafetyMap",
        "safety_map",
    ),
    "_unit_facts": (
        "UnitFacts",
        "UnitSide",
        "unit_facts",
    ),
    "properties._holds": ("holds",),
    "properties._monotone": ("monotone",),
    "properties._property": ("Verdict",),
}
__getattr__ = open_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
