"""Results drawn and as HTML, each by the function of its kind: what ``result.plot()`` and notebooks call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from creases._display import Described
from creases._document import Document
from creases._text import plural
from creases.errors import InputError
from creases.growth import History
from creases.network import Piece, describe_piece
from creases.regions import Cell, LinePartition, PlanePartition, SpacePartition
from creases.show._figures._growth import plot_growth_curves
from creases.show._figures._line import plot_line
from creases.show._figures._plane import plot_plane
from creases.show._figures._regions import plot_cell, plot_space
from creases.show._figures._table_model import plot_curves
from creases.show._style import new_grid
from creases.show.notebook import _card as card
from creases.show.notebook._card import draw, draw_figure
from creases.tables import GrownModel, TableModel, model_graphs

# Results that describe themselves, with a picture where they have one.


def document_parts(document: Document, picture: str = "") -> list[str]:
    """Return a document as parts of a card: its first section beside the picture, the others below."""
    first, *others = [section for section in document.sections if not section.get("detail")] or [{}]
    lead = "" if document.lead == first.get("text") else document.lead
    return [card.paragraph(lead) if lead else "", card.beside(card.section(first), picture), *map(card.section, others)]


# Regions in a notebook: one cell, and partitions of lines, planes and spaces with a picture.

#: Regions up to which a partition is drawn: more would take seconds, and could not be seen.
DRAWN = 20_000

#: Solids up to which a space is drawn.
SOLIDS = 500


def plane_picture(partition: PlanePartition) -> str:
    """Return the regions of a plane."""

    def plot(ax: Any) -> None:
        plot_plane(partition, ax=ax, color="class" if partition.net.n_out > 1 else "regions")
        sides = np.diff(partition.box, axis=1).ravel()
        if not 0.4 <= sides[0] / sides[1] <= 2.5:  # inputs of different kinds: proportions have no meaning
            ax.set_aspect("auto")

    return _picture(partition.count, plot)


def space_picture(partition: SpacePartition) -> str:
    """Return the regions of a space of three dimensions."""
    if len(partition.box) != 3 or not len(partition.vertices) or partition.count > SOLIDS:
        return ""
    return _picture(partition.count, lambda ax: plot_space(partition, ax=ax), solid=True)


def cell_picture(cell: Cell) -> str:
    """Return a region of two inputs that is bounded."""
    if len(cell.x) != 2 or len(cell.p) > Cell.MAX_ROWS or not np.isfinite(cell.bounding_box).all():
        return ""

    def plot(ax: Any) -> None:
        plot_cell(cell, ax=ax)
        ax.set_aspect("equal", adjustable="datalim")  # a thin region leaves no empty paper
        ax.get_legend().remove()  # the table beside it names what is near

    return _picture(1, plot)


def _picture(
    count: int, plot: Callable[[Any], Any], width: float = 3.4, height: float = 3.2, *, solid: bool = False
) -> str:
    """Return the picture of a partition, or why there is none."""
    if count > DRAWN:
        return card.paragraph(f"More than {DRAWN:,} regions; call plot() to draw them.", "faint")
    return card.image(draw(plot, width, height, solid=solid), plural(count, "region"))


# Growth in a notebook: histories, and estimators with theirs.

#: Columns and planes that are drawn.
CURVES = 6


def estimator_html(estimator: Any) -> str:
    """Return an estimator: the parameters that were changed and, when it is fitted, its network and its history."""
    parameters = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    changed = [(name, repr(value)) for name, value in parameters.items() if repr(value) != repr(defaults[name])]
    title = type(estimator).__name__
    settings = card.table(("", ""), changed)
    if not hasattr(estimator, "model_"):
        default = card.paragraph("Default parameters.", "faint")
        return card.card(f"{title}, not fitted", settings if changed else default)
    net = estimator.network_
    widths = [net.n_in, *(layer.out_features for layer in net.module() if hasattr(layer, "out_features"))]
    about = [("network", "-".join(map(str, widths)) + " (inputs, hidden units, outputs)")]
    if hasattr(estimator, "classes_"):
        about.append(("classes", ", ".join(map(str, estimator.classes_))))
    if hasattr(estimator, "feature_names_in_"):
        about.append(("inputs", ", ".join(map(str, estimator.feature_names_in_))))
    result = getattr(estimator, "history_", estimator.model_)
    parts = document_parts(result.describe(), _picture_of(result))
    return card.card(title, card.table(("", ""), about), settings if changed else "", *parts)


def _small_curves(model: TableModel) -> str:
    """Return the most important columns as small pictures; "" if nothing changes the prediction."""
    if not model_graphs(model):
        return ""
    figure = partial(plot_curves, model, max_terms=CURVES, columns=CURVES // 2)
    return card.image(draw_figure(figure), "What the most important columns add")


def _curves(history: History | None) -> str:
    """Return loss, score and size by epoch, with marks at growth steps."""
    if history is None or not history.epochs:
        return ""

    def plot_all() -> Figure:
        figure, axes = new_grid(9, 2.7, 1, 3)
        plot_growth_curves(history, axes=axes[0], score=history.measure)
        return figure

    return card.image(draw_figure(plot_all), "Loss, score and size by epoch")


#: Pictures beside what is said of a result, by its kind.
_PICTURES: dict[type, Callable[[Any], str]] = {
    Cell: cell_picture,
    LinePartition: lambda part: _picture(part.count, lambda ax: plot_line(part, ax=ax), 4.6, 2.6),
    PlanePartition: plane_picture,
    SpacePartition: space_picture,
    History: _curves,
    TableModel: _small_curves,
    GrownModel: lambda model: _curves(model.history),
}


def _picture_of(result: Any) -> str:
    return next((draw(result) for kind, draw in _PICTURES.items() if isinstance(result, kind)), "")


def to_html(result: Any) -> str:
    """Return a network, a piece, an estimator or any result that has ``describe()`` as the HTML that notebooks show.

    Names in it are escaped, it has no scripts and loads nothing; it takes the page's own text color.
    """
    if hasattr(result, "get_params") and hasattr(result, "kinds"):
        return estimator_html(result)
    if isinstance(result, Piece):
        document = describe_piece(result)
    elif hasattr(result, "describe"):
        document = result.describe()
    elif isinstance(result, Described):
        document = Document(type(result).__name__, "", [{"title": "", "code": str(result)}])
    else:
        raise InputError("result", "be a result of creases or an estimator", type(result).__name__)
    return card.card(document.title, *document_parts(document, _picture_of(result)))


# Plots of results by their kind: what ``result.plot()`` and notebooks call.


def plot(result: Any, **options: Any) -> Any:
    """Plot a result by the function of its kind; return its axes, or the figure of a history."""
    return next(draw for kind, draw in _PLOTS.items() if isinstance(result, kind))(result, **options)


_PLOTS: dict[type, Callable[..., Any]] = {
    Cell: plot_cell,
    LinePartition: plot_line,
    PlanePartition: plot_plane,
    SpacePartition: plot_space,
    History: lambda history, **options: plot_growth_curves(history, score=history.measure, **options)[0].figure,
}
