"""Results of sweeps, drawn and listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from numpy.typing import NDArray

from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

#: Cells are annotated as long as there are no more of them in a row.
_MOST = 16


def plot_heatmap(table: pd.DataFrame, x: str, y: str, value: str, *, ax: Axes | None = None) -> Axes:
    """Draw a column of a result table over two others: each cell is the mean over the rows that belong to it.

    Cells say their values unless they are many; a cell without a value is grey. Values of both signs are coloured
    about zero, others from pale to dark.

    Parameters
    ----------
    table
        Such as :meth:`creases.lab.Sweep.table` gives.
    x, y
        Columns for the two axes; each of their values has a column or a row, in ascending order.
    value
        Column of numbers, or of true and false.
    ax
        Axes to draw on; new ones unless given.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    cells = heatmap_cells(table, x, y, value)
    values = cells.to_numpy(np.float64)
    ax = style.get_axes(ax, *heatmap_size(cells))
    label = f"mean {value}" if len(table) > np.isfinite(values).sum() else value
    draw_cells(ax, values, [short(name) for name in cells.columns], [short(name) for name in cells.index], label)
    with style.style_context():
        ax.set_xlabel(x)
        ax.set_ylabel(y)
    return ax


def draw_cells(
    ax: Axes, values: NDArray[np.float64], x_names: Sequence[str], y_names: Sequence[str], label: str
) -> None:
    """Draw numbers (rows, columns) as coloured cells, the first row lowest, with a bar that says what they are."""
    rows, columns = values.shape
    low, high = _limits(values)
    with style.style_context():
        image = ax.imshow(values, _colors(low < 0 < high), origin="lower", aspect="auto", vmin=low, vmax=high)
        ax.set_xticks(range(columns), x_names)
        ax.set_yticks(range(rows), y_names)
        ax.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        ax.grid(which="minor", color=style.active_theme().paper, linewidth=1.5)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        if columns <= _MOST:
            _annotate(ax, values, image.to_rgba(values))
        style.add_colorbar(ax, image, label)


def heatmap_cells(table: pd.DataFrame, x: str, y: str, value: str) -> pd.DataFrame:
    """What a heat map shows: the mean of ``value`` for each ``y`` (rows) and ``x`` (columns)."""
    for name in (x, y, value):
        if name not in table.columns:
            raise InputError(f"table: there is no column {name!r}; it has {', '.join(map(str, table.columns))}")
    if x == y:
        raise InputError(f"x, y: expected two columns, got {x!r} for both")
    kind = table[value].dtype.kind
    if kind not in "iufb":
        raise InputError(f"value: expected a column of numbers, {value!r} holds {table[value].dtype}")
    if table.empty:
        raise InputError("table: it has no rows; nothing is to be drawn")
    texts = {name: table[name].map(short) for name in (x, y) if table[name].dtype.kind == "O"}  # lists, say
    numbers = table.assign(**texts, **{value: table[value].astype(np.float64)})
    return numbers.pivot_table(index=y, columns=x, values=value, aggfunc="mean", dropna=False)


def heatmap_size(cells: pd.DataFrame) -> tuple[float, float]:
    """Width and height in inches that suit a heat map."""
    return min(14.0, 2.2 + 0.6 * len(cells.columns)), min(12.0, 1.2 + 0.42 * len(cells.index))


def format_table(table: pd.DataFrame, *, most: int = 20) -> Table:
    """The first rows of a result table for a terminal, without keys and seeds, and without what all rows agree in."""
    from rich.markup import escape
    from rich.table import Table

    shown = table.drop(columns=["key", "seed"], errors="ignore")
    agreed = _agreed(shown)
    shown = shown.drop(columns=list(agreed))
    title = ", ".join(f"{name} {short(value)}" for name, value in agreed.items())
    listed = Table(
        box=None,
        pad_edge=False,
        header_style="dim",
        title=escape(title) or None,
        title_justify="left",
        title_style="dim",
    )
    for name in shown.columns:
        listed.add_column(escape(str(name)), justify="right" if shown[name].dtype.kind in "iufb" else "left")
    for row in shown.head(most).itertuples(index=False):
        listed.add_row(*(escape(short(value)) for value in row))
    return listed


def _agreed(table: pd.DataFrame) -> dict[str, Any]:
    """Columns in which all rows agree, if there are several rows, with their values."""
    if len(table) < 2:
        return {}
    texts = {name: table[name].map(short) for name in table.columns}
    same = {name: table[name].iloc[0] for name, column in texts.items() if column.nunique(dropna=False) == 1}
    return same if len(same) < len(texts) else {}


def _limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """Ends of the colours: about zero if there are both signs; from 0 to 1 for shares."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low < 0 < high:
        return -max(-low, high), max(-low, high)
    if low >= 0 and high <= 1 and high > 0.2:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _colors(both_signs: bool) -> Colormap:
    found = style.value_colormap() if both_signs else style.amount_colormap(0.06)
    return found.with_extremes(bad=style.active_theme().missing)


def _annotate(ax: Axes, values: NDArray[np.float64], colors: NDArray[np.float64]) -> None:
    form = ".2f" if np.abs(np.nan_to_num(values)).max() <= 1 else ".3g"
    for (row, column), number in np.ndenumerate(values):
        if np.isfinite(number):
            ink = style.readable_color(colors[row, column, :3])
            ax.text(column, row, f"{number:{form}}", ha="center", va="center", color=ink, fontsize=8)


def short(value: Any) -> str:
    """A value in a few letters."""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    if value is None:
        return ""
    return str(value)
