"""Heat maps and tables of sweep results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from numpy.typing import NDArray

from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

#: Largest number of columns for which values are written into the cells.
_MAX_ANNOTATED = 16


def plot_heatmap(table: pd.DataFrame, x: str, y: str, value: str, *, ax: Axes | None = None) -> Axes:
    """Plot a column of a result table over two others: each cell is the mean over its rows.

    Values are written into the cells unless there are many; a cell without a value is gray. Values of both signs have a
    diverging colormap, others a sequential one.

    Parameters
    ----------
    table
        A result table, such as :meth:`creases.lab.Sweep.table`.
    x, y
        Columns for the two axes; their values are sorted in ascending order.
    value
        Column of numbers or booleans.
    ax
        Axes to draw on; new ones by default.
    """
    cells = heatmap_cells(table, x, y, value)
    values = cells.to_numpy(np.float64)
    ax = style.get_axes(ax, *heatmap_size(cells))
    label = f"mean {value}" if len(table) > np.isfinite(values).sum() else value
    draw_cells(
        ax, values, [format_value(name) for name in cells.columns], [format_value(name) for name in cells.index], label
    )
    with style.style_context():
        ax.set_xlabel(x)
        ax.set_ylabel(y)
    return ax


def draw_cells(
    ax: Axes, values: NDArray[np.float64], x_names: Sequence[str], y_names: Sequence[str], label: str
) -> None:
    """Draw numbers (rows, columns) as colored cells, the first row at the bottom, with a color bar."""
    rows, columns = values.shape
    low, high = _limits(values)
    with style.style_context():
        image = ax.imshow(values, _colormap(low < 0 < high), origin="lower", aspect="auto", vmin=low, vmax=high)
        ax.set_xticks(range(columns), x_names)
        ax.set_yticks(range(rows), y_names)
        ax.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        ax.grid(which="minor", color=style.active_theme().paper, linewidth=1.5)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        if columns <= _MAX_ANNOTATED:
            _annotate(ax, values, image.to_rgba(values))
        style.add_colorbar(ax, image, label)


def heatmap_cells(table: pd.DataFrame, x: str, y: str, value: str) -> pd.DataFrame:
    """Return the cells of a heat map: the mean of ``value`` for each ``y`` (rows) and ``x`` (columns)."""
    for name in (x, y, value):
        if name not in table.columns:
            raise InputError("table", f"have a column {name!r}", ", ".join(map(str, table.columns)))
    if x == y:
        raise InputError("y", "be another column than x", f"{x!r} for both")
    kind = table[value].dtype.kind
    if kind not in "iufb":
        raise InputError("value", "be a column of numbers", f"{value!r}, which holds {table[value].dtype}")
    if table.empty:
        raise InputError("table", "have at least one row", "none")
    texts = {name: table[name].map(format_value) for name in (x, y) if table[name].dtype.kind == "O"}  # lists, say
    numbers = table.assign(**texts, **{value: table[value].astype(np.float64)})
    return numbers.pivot_table(index=y, columns=x, values=value, aggfunc="mean", dropna=False)


def heatmap_size(cells: pd.DataFrame) -> tuple[float, float]:
    """Return a suitable width and height of a heat map, in inches."""
    return min(14.0, 2.2 + 0.6 * len(cells.columns)), min(12.0, 1.2 + 0.42 * len(cells.index))


def format_table(table: pd.DataFrame, *, max_rows: int = 20) -> Table:
    """Format the first rows of a result table for a terminal, without keys, seeds and constant columns."""
    from rich.markup import escape
    from rich.table import Table

    visible = table.drop(columns=["key", "seed"], errors="ignore")
    constant = _constant_columns(visible)
    visible = visible.drop(columns=list(constant))
    title = ", ".join(f"{name} {format_value(value)}" for name, value in constant.items())
    listing = Table(
        box=None,
        pad_edge=False,
        header_style="dim",
        title=escape(title) or None,
        title_justify="left",
        title_style="dim",
    )
    for name in visible.columns:
        listing.add_column(escape(str(name)), justify="right" if visible[name].dtype.kind in "iufb" else "left")
    for row in visible.head(max_rows).itertuples(index=False):
        listing.add_row(*(escape(format_value(value)) for value in row))
    return listing


def _constant_columns(table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns with one value in all rows, with that value, if there are several rows."""
    if len(table) < 2:
        return {}
    texts = {name: table[name].map(format_value) for name in table.columns}
    same = {name: table[name].iloc[0] for name, column in texts.items() if column.nunique(dropna=False) == 1}
    return same if len(same) < len(texts) else {}


def _limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the color scale: symmetric for values of both signs, 0 to 1 for shares."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low < 0 < high:
        return -max(-low, high), max(-low, high)
    if low >= 0 and high <= 1 and high > 0.2:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _colormap(both_signs: bool) -> Colormap:
    colormap = style.value_colormap() if both_signs else style.amount_colormap(0.06)
    return colormap.with_extremes(bad=style.active_theme().missing)


def _annotate(ax: Axes, values: NDArray[np.float64], colors: NDArray[np.float64]) -> None:
    form = ".2f" if np.abs(np.nan_to_num(values)).max() <= 1 else ".3g"
    for (row, column), number in np.ndenumerate(values):
        if np.isfinite(number):
            ink = style.readable_color(colors[row, column, :3])
            ax.text(column, row, f"{number:{form}}", ha="center", va="center", color=ink, fontsize=8)


def format_value(value: Any) -> str:
    """Format a value briefly."""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    if value is None:
        return ""
    return str(value)
