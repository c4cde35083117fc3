"""Reports: a result as one HTML file, with the viewer inlined."""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.show.report._comparisons import MEASURES as MEASURES
    from creases.show.report._comparisons import plot_measure as plot_measure
    from creases.show.report._comparisons import write_comparison_report as write_comparison_report
    from creases.show.report._growth import write_growth_report as write_growth_report
    from creases.show.report._maps import write_map_report as write_map_report
    from creases.show.report._page import kind_of_result as kind_of_result
    from creases.show.report._run_map import animate_run as animate_run
    from creases.show.report._run_map import plot_run_map as plot_run_map
    from creases.show.report._table_model import write_table_report as write_table_report

__getattr__, __dir__, __all__ = open_on_use(__name__)
