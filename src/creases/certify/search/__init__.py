"""Search for large outputs in a box: values that are reached, the counterpart of proven bounds."""

from creases.certify.search._search import search_largest_outputs, start_points

__all__ = ["search_largest_outputs", "start_points"]
