"""Polytopes, half-spaces, slices, islands and the tolerance of the geometry."""

from creases.regions._boundary import output_term_sizes, slice_through
from creases.regions._halfspaces import UndecidedError, nearest_point
from creases.regions._locate import facet_ties, sides_toward
from creases.regions._polytope import Polytope, region_polytope
from creases.regions._tolerance import SIGN_TOLERANCE
from creases.regions._topology import find_topology

__all__ = [
    "SIGN_TOLERANCE",
    "Polytope",
    "UndecidedError",
    "facet_ties",
    "find_topology",
    "nearest_point",
    "output_term_sizes",
    "region_polytope",
    "sides_toward",
    "slice_through",
]
