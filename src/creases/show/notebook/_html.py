"""Results as HTML, each by the function of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from creases.certify import Change
from creases.compare import Difference, Similarity
from creases.errors import InputError
from creases.growth import History
from creases.network import Network, Piece
from creases.problems import Problem
from creases.regions import Cell, LinePartition, PlanePartition, SpacePartition
from creases.show.notebook._answers import change_html, problem_html
from creases.show.notebook._comparison import difference_html, similarity_html
from creases.show.notebook._growth import estimator_html, grown_html, history_html, table_html
from creases.show.notebook._network import network_html, piece_html
from creases.show.notebook._regions import cell_html, line_html, plane_html, space_html
from creases.tables import GrownModel, TableModel

_KINDS: dict[type, Callable[[Any], str]] = {
    Network: network_html,
    Piece: piece_html,
    Cell: cell_html,
    LinePartition: line_html,
    PlanePartition: plane_html,
    SpacePartition: space_html,
    History: history_html,
    TableModel: table_html,
    GrownModel: grown_html,
    Difference: difference_html,
    Similarity: similarity_html,
    Problem: problem_html,
    Change: change_html,
}


def to_html(result: Any) -> str:
    """Return a result as the HTML that notebooks show for it, with a picture where it has one.

    Names in it are escaped, it has no scripts and loads nothing; it takes the page's own text color.

    Parameters
    ----------
    result
        A network, a piece, a cell, a partition, a history, a difference, a similarity, a problem, a nearest
        change or an estimator.

    Examples
    --------
    >>> import creases
    >>> from creases.show.notebook._html import to_html
    >>> net = creases.read([([[1.0], [2.0]], [0.0, 1.0]), ([[1.0, -1.0]], [0.5])])
    >>> to_html(net).startswith('<div class="creases-card">')
    True
    """
    for kind, render in _KINDS.items():
        if isinstance(result, kind):
            return render(result)
    if hasattr(result, "get_params") and hasattr(result, "kinds"):
        return estimator_html(result)
    kinds = ", ".join(kind.__name__ for kind in _KINDS)
    raise InputError("result", f"be a {kinds} or an estimator of creases", type(result).__name__)
