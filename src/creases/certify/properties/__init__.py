"""Properties in VNN-LIB files, proved or refuted.

``read_vnnlib`` reads the property files of the VNN competition, ``verify`` decides them and returns a ``Verdict``. Here
also live :func:`creases.certify.holds` and :func:`creases.certify.monotone`. A property about two networks is one of
what ``put_side_by_side`` makes of them.
"""

from creases.certify._case import Case
from creases.certify.properties._property import Property, match_networks, put_side_by_side
from creases.certify.properties._verify import verify
from creases.certify.properties._vnnlib import parse_vnnlib, read_vnnlib

__all__ = ["Case", "Property", "match_networks", "parse_vnnlib", "put_side_by_side", "read_vnnlib", "verify"]
