"""A model of a table as a picture: what each column adds, the most important first, then planes."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from creases._arguments import check_arguments
from creases._schema import instance
from creases._validation import check_count
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._pair_graphs import short_text
from creases.show._figures._term_graphs import plot_term, term_height
from creases.tables import LevelGraph, NumberGraph, PairGraph, TableModel, fitted_rows, model_graphs

#: Width of a panel in inches.
WIDTH = 3.3

#: Share of the largest range of effects that the axis of every column spans at least, so that small effects look small.
LEAST_RANGE = 0.25

Graph = NumberGraph | LevelGraph | PairGraph


@check_arguments(model=instance("TableModel"))
def plot_curves(model: TableModel, *, max_terms: int = 12, columns: int = 3) -> Figure:
    """Plot a model of curves: what each column adds to the prediction, then what pairs of columns add together.

    Columns are in the order of importance, in their own units, with a dot at each knot, a band of two standard errors
    and the density of the rows; categories have a bar for each value, planes a map with their creases. What is
    constant is left out.

    Parameters
    ----------
    model
        A model of :func:`creases.fit_table` with ``kind="curves"``.
    max_terms
        Columns and planes to draw.
    columns
        Panels side by side.

    Returns
    -------
    Figure
        The figure.
    """
    check_count(max_terms, "max_terms")
    check_count(columns, "columns")
    graphs = model_graphs(model, X=fitted_rows(model))[:max_terms]
    if not graphs:
        raise InputError("model", "have a column that changes its prediction", "a constant")
    columns = min(columns, len(graphs))
    rows = [graphs[k : k + columns] for k in range(0, len(graphs), columns)]
    heights = [max(term_height(graph) for graph in row) for row in rows]
    ratios = {"gridspec_kw": {"height_ratios": heights}}
    legend = 0.3 if len(graphs[0].outputs) > 1 else 0.0
    figure, axes = style.new_grid(WIDTH * columns, sum(heights) + legend, len(rows), columns, **ratios)
    panels: list[Axes] = axes.ravel().tolist()
    for graph, ax in zip(graphs, panels, strict=False):
        plot_term(graph, ax=ax)
    for k, graph in enumerate(graphs):
        if isinstance(graph, NumberGraph) and k % columns:
            panels[k].set_ylabel("")  # as in the first panel of the row
    for ax in panels[len(graphs) :]:
        ax.set_axis_off()
    share_scale(graphs, panels)
    if legend:
        with style.style_context():
            figure.legend(handles=output_handles(graphs[0].outputs), loc="outside upper left", ncols=5)
    return figure


def output_handles(outputs: Sequence[str]) -> list[Line2D]:
    """Return legend handles of several classes or targets."""
    pairs = enumerate(outputs)
    return [Line2D([], [], color=style.class_color(k), linewidth=2, label=short_text(name, 28)) for k, name in pairs]


def share_scale(graphs: Sequence[Graph], panels: Sequence[Axes]) -> None:
    """Let the axes of effects of all columns span a share of the largest range at least."""
    spans = [abs(high - low) for low, high in (_limits(*pair) for pair in zip(graphs, panels, strict=False))]
    least = LEAST_RANGE * max(spans, default=0.0)
    for graph, ax in zip(graphs, panels, strict=False):
        low, high = _limits(graph, ax)
        if isinstance(graph, PairGraph) or high - low >= least:
            continue
        middle = (low + high) / 2
        (ax.set_ylim if isinstance(graph, NumberGraph) else ax.set_xlim)(middle - least / 2, middle + least / 2)


def _limits(graph: Graph, ax: Axes) -> tuple[float, float]:
    if isinstance(graph, PairGraph):
        return 0.0, 0.0
    return ax.get_ylim() if isinstance(graph, NumberGraph) else ax.get_xlim()
