"""Regions in a notebook: one cell, and partitions of lines, planes and spaces with a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from creases._text import plural
from creases.regions import Cell, LinePartition, PlanePartition, SpacePartition
from creases.show._figures._cell import plot_cell
from creases.show._figures._line import plot_line
from creases.show._figures._plane import plot_plane
from creases.show._figures._space import plot_space
from creases.show.notebook import _card as card
from creases.show.notebook._network import coefficient_table
from creases.show.notebook._picture import draw

#: Regions up to which a partition is drawn: more would take seconds, and could not be seen.
DRAWN = 20_000

#: Solids up to which a space is drawn.
SOLIDS = 500

#: Inputs and rows up to which the shape of a cell is computed.
CELL_INPUTS, CELL_ROWS = 50, 500


def line_html(partition: LinePartition) -> str:
    """Return a line's regions with the network along it."""
    outer = "all t" if partition.infinite else "t from 0 to 1"
    about = [
        ("regions", card.number(partition.count)),
        ("breakpoints", card.number(len(partition.breakpoints))),
        ("line", f"x = a + t (b − a), {outer}"),
        ("inputs, outputs", f"{partition.net.n_in}, {partition.net.n_out}"),
    ]
    picture = _picture(partition.count, lambda ax: plot_line(partition, ax=ax), 4.6, 2.6)
    return card.card("LinePartition", card.beside(card.facts(about), picture))


def plane_html(partition: PlanePartition) -> str:
    """Return a plane's regions with their picture."""
    (left, right), (low, high) = partition.box
    areas = partition.areas()
    about = [
        ("regions", card.number(partition.count)),
        ("vertices, edges", f"{card.number(len(partition.vertices))}, {card.number(len(partition.edges))}"),
        ("box", f"[{left:.4g}, {right:.4g}] × [{low:.4g}, {high:.4g}]"),
        ("largest, smallest area", f"{areas.max():.4g}, {areas.min():.4g}"),
        ("inputs, outputs", f"{partition.net.n_in}, {partition.net.n_out}"),
    ]

    def plot(ax: Any) -> None:
        plot_plane(partition, ax=ax, color="class" if partition.net.n_out > 1 else "regions")
        sides = np.diff(partition.box, axis=1).ravel()
        if not 0.4 <= sides[0] / sides[1] <= 2.5:  # inputs of different kinds: proportions have no meaning
            ax.set_aspect("auto")

    return card.card("PlanePartition", card.beside(card.facts(about), _picture(partition.count, plot)))


def space_html(partition: SpacePartition) -> str:
    """Return a space's regions, in three dimensions with their picture."""
    dimensions = len(partition.box)
    about = [
        ("regions", card.number(partition.count) + ("" if partition.complete else f", incomplete: {partition.ended}")),
        ("dimensions", card.number(dimensions)),
        ("vertices", card.number(len(partition.vertices)) if len(partition.vertices) else "not computed"),
        ("pairs of neighbors", card.number(len(partition.pairs))),
        ("inputs, outputs", f"{partition.net.n_in}, {partition.net.n_out}"),
    ]
    picture = ""
    if dimensions == 3 and len(partition.vertices) and partition.count <= SOLIDS:
        picture = _picture(partition.count, lambda ax: plot_space(partition, ax=ax), solid=True)
    return card.card("SpacePartition", card.beside(card.facts(about), picture))


def cell_html(cell: Cell) -> str:
    """Return a region: where it is, what the network is on it, what bounds it."""
    d, is_small = len(cell.x), len(cell.x) <= CELL_INPUTS and len(cell.p) <= CELL_ROWS
    at = ", ".join(f"{value:.4g}" for value in cell.x[:6]) + (", …" if d > 6 else "")
    about = [("at", f"({at})"), ("units", card.number(cell.net.n_units))]
    if is_small:
        about.append(("sides", plural(len(cell.facets), "facet")))
        about.append(("largest ball", f"radius {card.number(cell.radius)}"))
    if cell.nearest_crease is not None:
        unit = cell.net.unit(cell.nearest_crease.unit)
        about.append(("nearest crease", f"{card.number(cell.nearest_crease.distance)}, of {unit}"))
    if is_small:
        boundary = cell.nearest_boundary
        found = "does not pass through" if boundary is None else card.number(boundary.distance)
        about.append(("nearest boundary", found))
    picture = ""
    if d == 2 and is_small and np.isfinite(cell.bounding_box).all():
        picture = _picture(1, lambda ax: _plot_cell(cell, ax))
    coefficients = card.paragraph("In this region the network is J x + y:", faint=True)
    coefficients += coefficient_table(cell.J, cell.y)
    return card.card("Cell", card.beside(card.facts(about) + coefficients, picture))


def _plot_cell(cell: Cell, ax: Any) -> None:
    plot_cell(cell, ax=ax)
    ax.set_aspect("equal", adjustable="datalim")  # a thin region leaves no empty paper
    ax.get_legend().remove()  # the table beside it names what is near


def _picture(
    count: int, plot: Callable[[Any], Any], width: float = 3.4, height: float = 3.2, *, solid: bool = False
) -> str:
    """Return the picture of a partition, or why there is none."""
    if count > DRAWN:
        return card.paragraph(f"More than {DRAWN:,} regions; call plot() to draw them.", faint=True)
    return card.image(draw(plot, width, height, solid=solid), plural(count, "region"))
