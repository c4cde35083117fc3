"""Reports: a result as one HTML file, with the viewer inlined."""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.show.report._comparisons import (
        MEASURES,
        measure_title,
        pair_rows,
        plot_measure,
        write_comparison_report,
    )
    from creases.show.report._growth import write_growth_report
    from creases.show.report._maps import write_map_report
    from creases.show.report._page import format_float, kind_of_result
    from creases.show.report._quality import quality_sections
    from creases.show.report._run_map import plot_run_map
    from creases.show.report._slices import choose_slices
    from creases.show.report._table_model import table_document, write_table_report

__all__ = [
    "MEASURES",
    "choose_slices",
    "format_float",
    "kind_of_result",
    "measure_title",
    "pair_rows",
    "plot_measure",
    "plot_run_map",
    "quality_sections",
    "table_document",
    "write_comparison_report",
    "write_growth_report",
    "write_map_report",
    "write_table_report",
]

_HOMES = {
    "_comparisons": ("MEASURES", "measure_title", "pair_rows", "plot_measure", "write_comparison_report"),
    "_growth": ("write_growth_report",),
    "_maps": ("write_map_report",),
    "_page": ("format_float", "kind_of_result"),
    "_quality": ("quality_sections",),
    "_run_map": ("plot_run_map",),
    "_slices": ("choose_slices",),
    "_table_model": ("table_document", "write_table_report"),
}
__getattr__ = open_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
