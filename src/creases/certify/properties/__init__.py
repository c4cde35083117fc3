"""Properties in VNN-LIB files, proved or refuted.

``read_vnnlib`` reads the property files of the VNN competition, ``verify`` decides them and returns a ``Verdict``. Here
also live :func:`creases.certify.holds` and :func:`creases.certify.monotone`.
"""

from creases.certify.properties._property import Case, Property
from creases.certify.properties._verify import verify
from creases.certify.properties._vnnlib import parse_vnnlib, read_vnnlib

__all__ = ["Case", "Property", "parse_vnnlib", "read_vnnlib", "verify"]
