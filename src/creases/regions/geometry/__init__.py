"""Polytopes, half-spaces, slices and the tolerance of the geometry."""

from creases.regions._halfspaces import Undecided, least_distance, maximise
from creases.regions._neighbour import sides_beyond, ties_on
from creases.regions._polytope import Polytope, polytope_of
from creases.regions._slices import check_box, through
from creases.regions._tolerance import SIGN

__all__ = [
    "SIGN",
    "Polytope",
    "Undecided",
    "check_box",
    "least_distance",
    "maximise",
    "polytope_of",
    "sides_beyond",
    "through",
    "ties_on",
]
