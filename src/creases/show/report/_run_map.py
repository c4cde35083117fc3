"""A growth run's network on the slice that its report shows first: as a picture, also by category, and as a film."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.figure import Figure

from creases._text import plural
from creases._typing import Progress
from creases.errors import InputError
from creases.regions import PlanePartition, plane
from creases.show import _style as style
from creases.show._animation import animate
from creases.show._figures._plane import fill_values, plot_plane
from creases.show._viewer._frames import project_on_slice
from creases.show.report._slices import Slice, choose_slices, multiply_slices
from creases.tables import data_box

if TYPE_CHECKING:
    from creases.tables import SavedRun

#: Colors of the smallest and the largest value, by theme; as in the viewer.
RAMPS = {"light": ("#FDEBB0", "#093E73"), "dark": ("#18385C", "#FFDE82")}

#: Width of a figure and heights of its parts, in inches.
WIDTH, HEIGHT, SMALL = 7.6, 5.2, 2.3


def plot_run_map(run: SavedRun, columns: str | None = None) -> tuple[Figure, PlanePartition]:
    """Plot the network of a growth run on a slice, with the rows of its table, and by category below.

    The slice is the first of the run's report. Rows fade with their distance from it, in standard deviations.

    Parameters
    ----------
    run
        A run of two or more inputs, as :func:`creases.tables.load_run` returns it.
    columns
        Two columns (``"length,width"``) to slice along; by default the two numeric columns that matter most.

    Returns
    -------
    figure, partition
        The figure, and the exact partition of the slice.
    """
    slices = choose_slices(run.net, run.data, [] if columns is None else [columns])
    if not slices:
        raise InputError("run", "have two or more inputs", "one input", "its report shows the function")
    first = slices[0]
    name, multiples = multiply_slices(run.net, run.data, first)
    partition = plane(run.net, first.box, first.origin, first.basis)
    count = max(1, len(multiples))
    with style.style_context():
        figure = Figure(figsize=(WIDTH, HEIGHT + (SMALL if multiples else 0)), layout="constrained")
        grid = figure.add_gridspec(2 if multiples else 1, count, height_ratios=[HEIGHT, SMALL] if multiples else None)
        ax = style.apply_theme(figure.add_subplot(grid[0, :]))
        _draw(ax, run, first, partition, legend=True)
        on = f"\non the slice {first.fixed}" if first.fixed else ""
        ax.set_title(f"{run.data.problem.name}: {plural(partition.count, 'region')}{on}")
        for k, cut in enumerate(multiples):
            small = style.apply_theme(figure.add_subplot(grid[1, k]))
            _draw(small, run, cut, plane(run.net, cut.box, cut.origin, cut.basis), legend=False)
            small.set_title(f"{name} = {cut.level}", fontsize=9)
            small.set_xlabel("")
            small.set_ylabel("")
            if k:
                small.tick_params(labelleft=False)
    return figure, partition


def animate_run(
    run: SavedRun,
    path: str | Path,
    *,
    columns: str | None = None,
    cut: Slice | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> str:
    """Write a growth run as a film; return the name of its slice, "" for one or two inputs.

    The slice is the first of the run's report, or along two columns (``"length,width"``), or ``cut``; options are those
    of :func:`creases.show.animate`.
    """
    problem, d = run.data.problem, run.data.problem.X.shape[1]
    if cut is None and (d > 2 or columns is not None):
        cut = choose_slices(run.net, run.data, [] if columns is None else [columns])[0]
    if cut is not None:
        options |= {"box": cut.box, "origin": cut.origin, "basis": cut.basis, "features": cut.axes}
    else:
        y = problem.y if problem.classes is not None or d == 1 else None  # a plane does not show values
        options |= {"box": data_box(problem.X), "X": problem.X, "y": y, "features": problem.features}
    options |= {"classes": problem.classes, "scaling": run.data.scaling, "names": run.data.names}
    animate(run.snapshots, path, history=run.history, progress=progress, **options)
    return "" if cut is None else cut.name


def _draw(ax: Axes, run: SavedRun, cut: Slice, partition: PlanePartition, *, legend: bool) -> None:
    problem, spread = run.data.problem, run.data.scaling.spread
    t, distance = project_on_slice(problem.X, partition.origin, partition.basis, spread)
    mean_distance = distance / np.sqrt(max(1, problem.X.shape[1] - 2))  # over the other inputs, in standard deviations
    solid = 0.12 + 0.88 * np.exp(-0.5 * (mean_distance / 0.7) ** 2)  # as in the viewer
    if problem.classes is None:
        plot_plane(partition, ax=ax, boundary=False)
        low, high = float(problem.y.min()), float(problem.y.max())
        scale, ends = Normalize(low, high, clip=True), RAMPS[style.active_theme().name]
        ramp = LinearSegmentedColormap.from_list("creases-values", list(ends))
        look: dict[str, Any] = {"cmap": ramp, "norm": scale, "zorder": 1.5}
        fill_values(ax, partition.vertices, partition.corners, partition.starts, partition.values[:, 0], **look)
        colors = ramp(scale(problem.y))
        if legend:
            style.add_colorbar(ax, ScalarMappable(scale, ramp), problem.target or "value")
    else:
        plot_plane(partition, ax=ax, color="class", classes=problem.classes)
        if not legend and (box := ax.get_legend()) is not None:
            box.remove()
        colors = np.array([[*to_rgb(style.class_color(int(k))), 1.0] for k in problem.y])
    colors[:, 3] = solid if legend else np.clip((solid - 0.12) / 0.88, 0, 1)  # other categories are far away
    order = np.argsort(solid, kind="stable")
    ink, size = style.active_theme(), float(np.clip(6000 / max(1, len(t)), 6, 22)) * (1 if legend else 0.5)
    edges = np.tile([*to_rgb(ink.ink if problem.classes is None else ink.paper), 1.0], (len(t), 1))
    edges[:, 3] = colors[:, 3]
    look = {"s": size, "c": colors[order], "edgecolors": edges[order], "linewidths": 0.4, "zorder": 4}
    ax.scatter(t[order, 0], t[order, 1], **look)
    ax.set_aspect("auto" if cut.fills else "equal")
    ax.set_xlim(*partition.box[0])
    ax.set_ylim(*partition.box[1])
    ax.set_xlabel(cut.axes[0])
    ax.set_ylabel(cut.axes[1])
