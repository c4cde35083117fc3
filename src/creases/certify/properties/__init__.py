"""Properties of a network, proved or refuted: what no input may decide, monotonicity, and VNN-LIB files.

``holds`` decides whether a class is never or always decided, or the outputs stay in a polytope; ``monotone`` whether an
output rises or falls with a column; ``read_vnnlib`` reads the property files of the VNN competition and ``verify``
decides them. Each returns a ``Verdict``.
"""

from creases.certify.properties._holds import holds
from creases.certify.properties._monotone import monotone
from creases.certify.properties._verdict import Verdict
from creases.certify.properties._verify import Case, Property, verify
from creases.certify.properties._vnnlib import parse_vnnlib, read_vnnlib

__all__ = ["Case", "Property", "Verdict", "holds", "monotone", "parse_vnnlib", "read_vnnlib", "verify"]
