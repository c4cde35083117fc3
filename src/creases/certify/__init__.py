"""Certified statements about a network on a box of inputs.

``output_bounds`` and ``unit_bounds`` bound the outputs and the pre-activations of every unit, ``unit_facts`` reports
which units are dead, always active or redundant, ``decide_sides`` proves which never change side. ``nearest`` is the
nearest input with a different decision, with a proof that nothing nearer exists; ``margins`` are its distances for all
rows of a data set, and ``safety_map`` measures the distance to the decision boundary on a plane. ``output_range`` is
the exact range of outputs, of their differences and of coefficients, with the inputs where they are reached,
``lipschitz`` the largest norm of the Jacobian; ``holds`` and ``monotone`` prove or refute properties.

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
    from creases.certify._bounds import output_bounds as output_bounds
    from creases.certify._bounds import unit_bounds as unit_bounds
    from creases.certify._lipschitz import LipschitzConstant as LipschitzConstant
    from creases.certify._lipschitz import lipschitz as lipschitz
    from creases.certify._margins import margins as margins
    from creases.certify._nearest.nearest import Change as Change
    from creases.certify._nearest.nearest import nearest as nearest
    from creases.certify._ranges import output_range as output_range
    from creases.certify._safety_map import SafetyMap as SafetyMap
    from creases.certify._safety_map import safety_map as safety_map
    from creases.certify._unit_facts import UnitFacts as UnitFacts
    from creases.certify._unit_facts import UnitSide as UnitSide
    from creases.certify._unit_facts import unit_facts as unit_facts
    from creases.certify._unit_sides import decide_sides as decide_sides
    from creases.certify.properties._holds import holds as holds
    from creases.certify.properties._monotone import monotone as monotone
    from creases.certify.properties._property import Verdict as Verdict

__getattr__, __dir__, __all__ = open_on_use(__name__)
