"""The axes of an animation, fixed for all frames, and the drawing of each frame."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_choice
from creases.errors import InputError
from creases.regions import LinePartition, PlanePartition
from creases.show import _style as style
from creases.show._figures._dual import plot_dual
from creases.show._figures._growth import MAX_NUMBERED, draw_score, number_breakpoints
from creases.show._figures._marks import crease_numbers, new_units, same_mistakes
from creases.show._figures._network import plot_network
from creases.show._figures._plane import plot_plane

if TYPE_CHECKING:
    from creases.growth import History, Record, Scaling

Partition = PlanePartition | LinePartition
Beside = Literal["curves", "network", "dual"]

#: Left and lower margin and size of the main axes and width of the panels, in inches; characters of the text below.
_LEFT, _BELOW, _SIZE, _PANELS, _CHARACTERS = 0.65, 1.55, 4.6, 3.6, 118


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything to draw that does not change: the data, names, the history."""

    X: Floats | None = None  #: (n, 2) or (n, 1)
    y: NDArray[Any] | None = None  #: (n,) classes, or targets for one input
    classes: Sequence[str] | None = None
    features: Sequence[str] | None = None
    scaling: Scaling | None = None
    history: History | None = None
    names: dict[str, Any] = field(default_factory=dict)  #: names used by explanations


@dataclass(frozen=True, eq=False)
class Shot:
    """One frame: the partition of the network, its epoch, and the growth step that created it."""

    partition: Partition
    epoch: int
    record: Record | None
    title: str


class Stage:
    """The axes, scaled for all frames, and the artists on them."""

    def __init__(self, shots: Sequence[Shot], scene: Scene, beside: Sequence[Beside], dpi: int) -> None:
        for panel in beside:
            check_choice(panel, get_args(Beside), "beside")
        if "curves" in beside and (scene.history is None or not scene.history.epochs):
            raise InputError("history", "have epochs for the curves", "none", "pass a history, or other panels beside")
        if "dual" in beside and not isinstance(shots[0].partition, PlanePartition):
            raise InputError("beside", "not have 'dual' for networks of one input", "'dual'")
        self.shots, self.scene = shots, scene
        width = _LEFT + _SIZE + 0.3 + (_PANELS + 0.2 if beside else 0)
        height = _BELOW + _SIZE + 0.45
        with style.style_context():
            self.figure = Figure(figsize=(width, height), dpi=dpi)
            self.canvas: Any = FigureCanvasAgg(self.figure)
            self.main = self._axes(_LEFT, _BELOW, _SIZE, _SIZE)
            self.panels = self._panels(beside)
            ink = style.active_theme().ink
            self.title = self.figure.text(_LEFT / width, 1 - 0.24 / height, "", fontsize=10, color=ink, va="center")
            self.why = self.figure.text(
                0.15 / width, 0.62 / height, "", fontsize=8, color=ink, va="top", linespacing=1.4
            )
        self._limits()

    @property
    def size(self) -> tuple[int, int]:
        """The size of a frame, in pixels."""
        width, height = self.canvas.get_width_height()
        return int(width), int(height)

    def picture(self, shot: Shot) -> NDArray[np.uint8]:
        """Draw a frame (h, w, 3)."""
        with style.style_context():
            for ax in (self.main, *(ax for name, ax in self.panels.items() if name != "curves")):
                _clear(ax)
            self.title.set_text(shot.title)
            self._draw_main(shot)
            for name, ax in self.panels.items():
                getattr(self, f"_draw_{name}")(ax, shot)
            reason = "" if shot.record is None else shot.record.why(**self.scene.names)
            width = _CHARACTERS if self.panels else _CHARACTERS * 6 // 10
            self.why.set_text(textwrap.fill(reason, width, max_lines=3))
            self.canvas.draw()
        return np.array(self.canvas.buffer_rgba())[:, :, :3]

    def _axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        w, h = self.figure.get_size_inches()
        return style.apply_theme(self.figure.add_axes((left / w, bottom / h, width / w, height / h)))

    def _panels(self, beside: Sequence[Beside]) -> dict[str, Axes]:
        left, panels, count = _LEFT + _SIZE + 0.85, {}, len(beside)
        room = (_SIZE + 0.55 - 0.65 * (count - 1)) / max(1, count)
        for k, name in enumerate(beside):
            bottom = _BELOW - 0.55 + (count - 1 - k) * (room + 0.65)
            panels[str(name)] = self._axes(left, bottom + 0.05, _PANELS - 0.75, room)
        if "curves" in panels and self.scene.history is not None:
            draw_score(panels["curves"], self.scene.history)
            panels["curves"].xaxis.set_major_locator(MaxNLocator(4, integer=True))
            self.now = panels["curves"].axvline(0, color=style.active_theme().accent, linewidth=1.4, zorder=6)
        return panels

    def _limits(self) -> None:
        """Set the limits of the axes for all frames."""
        if isinstance(self.shots[0].partition, LinePartition):
            values = [shot.partition.values.ravel() for shot in self.shots]
            ends = [np.asarray(s.partition.net(np.stack([s.partition.a, s.partition.b]))).ravel() for s in self.shots]  # type: ignore[union-attr]
            valued = self.scene.y is not None and self.shots[0].partition.net.n_out == 1
            targets = [np.asarray(self.scene.y, np.float64)] if valued else []
            self.range = _pad(np.concatenate([*values, *ends, *targets]))
        if "dual" in self.panels:
            J = np.concatenate([np.asarray(shot.partition.pieces().J[:, 0]) for shot in self.shots])
            self.slopes = [_pad(J[:, k]) for k in (0, 1)]

    def _draw_main(self, shot: Shot) -> None:
        if isinstance(shot.partition, LinePartition):
            self._draw_line(shot.partition, shot.record)
        else:
            self._draw_plane(shot.partition, shot.record)

    def _draw_plane(self, partition: PlanePartition, record: Record | None) -> None:
        scene = self.scene
        decides = scene.classes is not None or scene.y is not None or partition.net.n_out > 1
        look: dict[str, Any] = {"color": "class" if decides else "regions", "boundary": decides}
        data: dict[str, Any] = {} if scene.X is None else {"X": scene.X, "y": scene.y if decides else None}
        marks: dict[str, Any] = {"record": record, "scaling": scene.scaling}
        if partition.net.n_units <= MAX_NUMBERED:
            marks["history"] = scene.history
        plot_plane(partition, ax=self.main, classes=scene.classes, **marks, **look, **data)
        self.main.set_aspect("auto")
        if scene.features is not None:
            self.main.set_xlabel(scene.features[0])
            self.main.set_ylabel(scene.features[1])

    def _draw_line(self, partition: LinePartition, record: Record | None) -> None:
        ax, scene, theme = self.main, self.scene, style.active_theme()
        a, b = float(partition.a[0]), float(partition.b[0])
        x = np.concatenate([[a], a + partition.breakpoints * (b - a), [b]])
        value = np.asarray(partition.net(x[:, None]))
        single = value.shape[1] == 1
        if scene.X is not None and scene.y is not None:
            self._draw_samples(scene.X[:, 0], scene.y, single)
        for j in range(value.shape[1]):
            color, named = style.class_color(j), scene.classes[j] if scene.classes else f"output {j}"
            ax.plot(x, value[:, j], color=color, linewidth=1.6, zorder=3, label="network" if single else named)
            dots = "breakpoints" if single else "_nolegend_"
            ax.plot(x[1:-1], value[1:-1, j], "o", color=color, markersize=4, zorder=4, label=dots)
        new = [] if record is None else new_units(partition.net, record)
        owner = np.repeat(np.arange(len(partition.breakpoints)), np.diff(partition.unit_starts))
        lit = np.unique(owner[np.isin(partition.unit_ids, new)]) + 1
        if len(lit):
            mark: dict[str, Any] = {"color": theme.accent, "markeredgecolor": theme.paper, "markersize": 9}
            markers = ax.plot(x[lit], value[lit], "D", zorder=5, linestyle="none", **mark)
            markers[0].set_label("newest breakpoint")
        ax.set_xlim(a, b)
        ax.set_ylim(*self.range)
        if single and scene.history is not None and partition.net.n_units <= MAX_NUMBERED:
            numbers = crease_numbers(partition.net, scene.history, record)
            newest = None if record is None else record.number
            number_breakpoints(ax, partition, numbers, x[1:-1], value[1:-1, 0], newest)
        if single and record is not None:
            self._mark_fold(record, is_placed=bool(new))
        ax.set_xlabel(scene.features[0] if scene.features is not None else "$x$")
        ax.set_ylabel("output")
        style.add_legend_below(ax, ax.get_legend_handles_labels()[0])

    def _mark_fold(self, record: Record, *, is_placed: bool) -> None:
        """Ring the samples of one input that a fold was made for; before it, show where its breakpoint is put."""
        ax, scene, theme, why = self.main, self.scene, style.active_theme(), record.explanation.get("why") or {}
        if "features" not in why or scene.X is None or scene.y is None or scene.X.shape[1] != 1:
            return
        typical = np.asarray(why["features"]) if scene.scaling is None else scene.scaling.point(why["features"])
        for samples, label, size, width in (
            (same_mistakes(why, scene.X, scene.scaling), "same mistake", 7.5, 1.1),
            (typical[None], "typical mistake", 11, 1.8),
        ):
            rows = np.abs(scene.X[:, 0] - samples[:, :1]).argmin(axis=1)  # same_mistakes returns rows of X
            look: dict[str, Any] = {"markersize": size, "markeredgewidth": width, "markerfacecolor": "none"}
            look |= {"markeredgecolor": theme.ink, "linestyle": "none", "zorder": 6, "label": label}
            if len(rows):
                ax.plot(scene.X[rows, 0], scene.y[rows], "o", **look)
        where = record.explanation.get("where", {})
        if not is_placed and where.get("space") == "input":
            fold = (
                np.asarray(where["fold_point"]) if scene.scaling is None else scene.scaling.point(where["fold_point"])
            )
            dashed: dict[str, Any] = {"color": theme.accent, "linewidth": 2.0, "linestyle": (0, (2.5, 1.5))}
            ax.axvline(float(fold[0]), label="where the breakpoint is put", zorder=2.5, **dashed)

    def _draw_samples(self, x: Floats, y: NDArray[Any], valued: bool) -> None:
        """Draw samples of one input at their targets; classes as colored ticks along the lower edge."""
        if valued:
            look: dict[str, Any] = {"s": 9, "color": style.active_theme().quiet, "linewidths": 0, "zorder": 1}
            self.main.scatter(x, y, label="data", **look)
            return
        for index in np.unique(y).astype(int).tolist():
            of_class = x[y == index]
            low = np.full(len(of_class), self.range[0])
            self.main.plot(of_class, low, "|", color=style.class_color(index), markersize=14, zorder=2)

    def _draw_curves(self, ax: Axes, shot: Shot) -> None:
        self.now.set_xdata([shot.epoch, shot.epoch])

    def _draw_network(self, ax: Axes, shot: Shot) -> None:
        plot_network(shot.partition.net, record=shot.record, ax=ax, max_nodes=10)

    def _draw_dual(self, ax: Axes, shot: Shot) -> None:
        assert isinstance(shot.partition, PlanePartition)
        plot_dual(shot.partition, ax=ax, color="class", legend=False)
        ax.set_xlim(*self.slopes[0])
        ax.set_ylim(*self.slopes[1])


def _clear(ax: Axes) -> None:
    """Remove all artists; ticks and labels stay."""
    for artist in (*ax.collections, *ax.lines, *ax.texts, *ax.patches):
        artist.remove()
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()


def _pad(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin
