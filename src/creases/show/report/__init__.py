"""``creases report``: one HTML file of a result, with the viewer in it."""

from creases.show.report._comparisons import comparison_report
from creases.show.report._growth import growth_report
from creases.show.report._maps import map_report
from creases.show.report._measures import MEASURES, heat_map, number, pair_rows, title
from creases.show.report._slices import slices
from creases.show.report._sweeps import sweep_report

__all__ = [
    "MEASURES",
    "comparison_report",
    "growth_report",
    "heat_map",
    "map_report",
    "number",
    "pair_rows",
    "slices",
    "sweep_report",
    "title",
]
