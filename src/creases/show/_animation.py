"""Films of growth and of training: regions, boundary, new creases and coefficients, as GIF or MP4."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from creases._files import write_atomically
from creases._text import plural
from creases._typing import Floats, Progress
from creases._validation import check_box, check_choice, check_count, check_finite, check_numbers
from creases.errors import FileError, InputError
from creases.network import Network, NetworkLike, as_network
from creases.regions import LinePartition, PlanePartition
from creases.show import _style as style
from creases.show._figures._growth import MAX_NUMBERED, draw_outputs, draw_score, number_breakpoints
from creases.show._figures._line import pad_interval
from creases.show._figures._marks import crease_numbers, new_units, ring_points, same_mistakes
from creases.show._figures._network import plot_dual, plot_network
from creases.show._figures._plane import check_data, plot_plane

if TYPE_CHECKING:
    from creases.growth import History, Record, Scaling
    from creases.tables import Snapshot


# Write frames as a GIF (by Pillow) or an MP4 (by ffmpeg, ``pip install 'creases[video]'``).

#: Pixels (h, w, 3), and the seconds that they are shown.
Frame = tuple[NDArray[np.uint8], float]
ENDINGS = (".gif", ".mp4")

#: Largest number of pixels of a frame: more are useless on a screen and fill the disk.
MAX_PIXELS = 4_000_000

#: Colors of a GIF.
_COLORS = 96
#: Frames per second of an MP4; each picture is repeated for several.
_RATE = 20


def check_movie(path: str | Path, size: tuple[int, int]) -> Path:
    """Return the path of a movie if it can be written, before any work is done; ``size`` is in pixels."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise InputError("path", f"end in {' or '.join(ENDINGS)}", repr(path.name))
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if size[0] * size[1] > MAX_PIXELS:
        raise InputError(
            "dpi", f"give frames of at most {MAX_PIXELS / 1e6:g} million pixels", f"{size[0]} x {size[1]} pixels"
        )
    if path.suffix == ".mp4":
        _ffmpeg()
    return path


def _write_gif(frames: Iterable[Frame], path: Path) -> None:
    from PIL import Image

    pictures, durations = [], []
    for pixels, seconds in frames:
        pictures.append(style.choose_palette(Image.fromarray(pixels), _COLORS))
        durations.append(max(20, round(1000 * seconds)))  # browsers slow down faster ones
    pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)


def _write_mp4(frames: Iterable[Frame], path: Path) -> None:
    writer = None
    options: dict[str, Any] = {"fps": _RATE, "codec": "libx264", "macro_block_size": 2, "ffmpeg_log_level": "error"}
    try:
        for pixels, seconds in frames:
            height, width = (side - side % 2 for side in pixels.shape[:2])  # the codec takes even sizes only
            if writer is None:
                options |= {"output_params": ["-crf", "20"], "quality": None}
                writer = _ffmpeg().write_frames(str(path), (width, height), **options)
                writer.send(None)
            for _ in range(max(1, round(_RATE * seconds))):
                writer.send(np.ascontiguousarray(pixels[:height, :width]))
    finally:
        if writer is not None:
            writer.close()


def _ffmpeg() -> Any:
    try:
        import imageio_ffmpeg  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise InputError(
            "path", "end in .gif without imageio-ffmpeg", "an .mp4", "install it with: pip install 'creases[video]'"
        ) from None
    return imageio_ffmpeg


# The axes of an animation, fixed for all frames, and the drawing of each frame.

Partition = PlanePartition | LinePartition
Beside = Literal["curves", "network", "dual"]

#: Left margin and size of the main axes, width of the panels and height of the text below, in inches; its characters.
_LEFT, _SIZE, _PANELS, _TEXT, _CHARACTERS = 0.65, 4.6, 3.6, 0.65, 118


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
        self.below = 0.9 + (0 if scene.history is None else _TEXT)  # legend, and reasons of growth steps
        width = _LEFT + _SIZE + 0.3 + (_PANELS + 0.2 if beside else 0)
        height = self.below + _SIZE + 0.45
        with style.style_context():
            self.figure = Figure(figsize=(width, height), dpi=dpi)
            self.canvas: Any = FigureCanvasAgg(self.figure)
            self.main = self._axes(_LEFT, self.below, _SIZE, _SIZE)
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
            if isinstance(shot.partition, LinePartition):
                self._draw_line(shot.partition, shot.record)
            else:
                self._draw_plane(shot.partition, shot.record)
            for name, ax in self.panels.items():
                if name == "curves":
                    self.now.set_xdata([shot.epoch, shot.epoch])
                elif name == "network":
                    plot_network(shot.partition.net, record=shot.record, ax=ax, max_nodes=10)
                elif isinstance(shot.partition, PlanePartition):
                    plot_dual(shot.partition, ax=ax, color="class", legend=False)
                    ax.set_xlim(*self.slopes[0])
                    ax.set_ylim(*self.slopes[1])
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
            bottom = self.below - 0.55 + (count - 1 - k) * (room + 0.65)
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
            heights = np.concatenate([*values, *ends, *targets])
            self.range = pad_interval(float(heights.min()), float(heights.max()))
        if "dual" in self.panels:
            J = np.concatenate([np.asarray(shot.partition.pieces().J[:, 0]) for shot in self.shots])
            self.slopes = [pad_interval(float(J[:, k].min()), float(J[:, k].max())) for k in (0, 1)]

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
        n_out = partition.net.n_out
        single = n_out == 1
        if scene.X is not None and scene.y is not None:
            self._draw_samples(scene.X[:, 0], scene.y, single)
        names = ["network"] if single else [scene.classes[j] if scene.classes else f"output {j}" for j in range(n_out)]
        x, value = draw_outputs(ax, partition, [style.class_color(j) for j in range(n_out)], names)
        new = [] if record is None else new_units(partition.net, record)
        owner = np.repeat(np.arange(len(partition.breakpoints)), np.diff(partition.unit_starts))
        lit = np.unique(owner[np.isin(partition.unit_ids, new)]) + 1
        if len(lit):
            mark: dict[str, Any] = {"color": theme.accent, "markeredgecolor": theme.paper, "markersize": 9}
            markers = ax.plot(x[lit], value[lit], "D", zorder=5, linestyle="none", **mark)
            markers[0].set_label("newest breakpoint")
        ax.set_xlim(x[0], x[-1])
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
            ring_points(ax, scene.X[rows, 0], scene.y[rows], label, size, width)
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


def _clear(ax: Axes) -> None:
    """Remove all artists; ticks and labels stay."""
    for artist in (*ax.collections, *ax.lines, *ax.texts, *ax.patches):
        artist.remove()
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()


#: Largest number of regions of all frames together.
MAX_REGIONS = 2_000_000

#: Extra seconds of the last frame, and how many times longer the frame of a growth step stays.
_LAST, _LONGER = 2.0, 4


class TrainingSnapshot(NamedTuple):
    """A network during training, of which no growth step is known."""

    epoch: int
    net: Network
    kind: str = "training"
    record: None = None


def animate(
    snapshots: Sequence[Snapshot | TrainingSnapshot] | Mapping[int, NetworkLike],
    path: str | Path,
    *,
    history: History | None = None,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    scaling: Scaling | None = None,
    names: dict[str, Any] | None = None,
    box: ArrayLike | None = None,
    origin: ArrayLike | None = None,
    basis: ArrayLike | None = None,
    beside: Sequence[Beside] | None = None,
    frames: int = 120,
    fps: float = 4,
    dpi: int = 80,
    progress: Progress | None = None,
) -> Path:
    """Write training or growth as ``.gif`` or ``.mp4``: regions, boundary, data and each new crease.

    Parameters
    ----------
    snapshots
        Networks by epoch, such as ``{0: creases.read(model), ...}`` recorded in a training loop (``read`` copies the
        weights), or the snapshots of a growth run (``creases.tables.load_run(folder).snapshots``).
    path
        The file to write; its ending selects the format. MP4 needs ``pip install 'creases[video]'``.
    history
        History of a growth run, for the curves and for reason, fold point and typical sample of each growth step.
    X, y
        Samples (n, d) in the units of the networks, and their classes or targets (n,). Not drawn on a slice.
    classes, features
        Names of classes and inputs; on a slice, names of its two coordinates.
    scaling, names
        Scaling of the inputs during growth, and the names that explanations use.
    box, origin, basis
        The part of the input space to show, as in :func:`creases.plane`; the box around the data by default. Networks
        of more than two inputs need a slice.
    beside
        Panels beside the main plot: ``"curves"`` (the score by epoch), ``"network"``, ``"dual"``; by default the
        curves, if there is a history, and the network.
    frames
        Maximal number of frames, evenly spaced; the first and the last network are included.
    fps
        Frames per second; a growth step stays four times as long, the last frame two more seconds.
    dpi
        Resolution; frames are about nine inches wide.
    progress
        Called after each frame.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile, torch, creases
    >>> from creases import problems, show
    >>> moons = problems.get("moons")
    >>> X, y = torch.tensor(moons.X).float(), torch.tensor(moons.y)
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    >>> networks = {}
    >>> for epoch in range(3):
    ...     networks[epoch] = creases.read(model)
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.cross_entropy(model(X), y).backward()
    ...     optimizer.step()
    >>> show.animate(networks, tempfile.mkdtemp() + "/film.gif", X=X, y=y, dpi=20).name
    'film.gif'
    """
    if isinstance(snapshots, Mapping):
        snapshots = [TrainingSnapshot(epoch, as_network(net)) for epoch, net in sorted(snapshots.items())]
    numbers = {record.number: record for record in history.records} if history is not None else {}
    if not snapshots:
        raise InputError("networks", "have at least one network", "none")
    shown = np.unique(np.linspace(0, len(snapshots) - 1, check_count(frames, "frames")).round().astype(int))
    selected = [snapshots[k] for k in shown.tolist()]
    points, values = _check_points(X, y)
    scene = Scene(points, values, classes, features, scaling, history, names or {})
    panels: Sequence[Beside] = ("curves", "network") if history is not None and history.epochs else ("network",)
    domain = _window(selected[0].net, scene, box, origin, basis)
    if features is not None and len(features) != (axes := 1 if "a" in domain else 2):
        raise InputError("features", f"have {axes} names", str(len(features)))
    if origin is not None:
        scene = Scene(None, None, classes, features, scaling, history, names or {})
    records = [_record_shown(k, selected, numbers) for k in range(len(selected))]
    nets, epochs = [snapshot.net for snapshot in selected], [snapshot.epoch for snapshot in selected]
    shots = _shots(nets, epochs, records, domain, history)
    return _write_film(shots, scene, panels if beside is None else beside, path, fps, dpi, progress)


def _record_shown(
    k: int, snapshots: Sequence[Snapshot | TrainingSnapshot], records: Mapping[int, Record]
) -> Record | None:
    """Return the growth step to mark on a network: the one that made it, or the fold that comes next."""
    own = snapshots[k].record
    if own is not None:
        return records.get(own)
    if snapshots[k].kind != "before" or k + 1 == len(snapshots):
        return None
    after = records.get(snapshots[k + 1].record or 0)
    return None if after is None or after.is_linear else after


def _check_points(X: ArrayLike | None, y: ArrayLike | None) -> tuple[NDArray[np.float64] | None, NDArray[Any] | None]:
    """Return samples (n, d) and their classes or targets (n,), validated; on a plane targets are dropped."""
    values = None if y is None else check_numbers(y, "y").ravel()
    points = None if X is None else check_numbers(X, "X")
    if points is None or points.ndim != 2 or points.shape[1] == 2:
        are_classes = values is None or bool(((values >= 0) & (values == np.round(values))).all())
        return check_data(X, y if are_classes else None)
    check_finite(points, "X")
    if values is not None:
        check_finite(values, "y")
        if len(values) != len(points):
            raise InputError("y", f"have {len(points)} values, one for each row of X", str(len(values)))
    return points, values


def _window(net: Network, scene: Scene, box: Any, origin: Any, basis: Any) -> dict[str, Any]:
    """Return what to show, as arguments of :func:`creases.plane` or :func:`creases.line`."""
    if net.n_in > 2 and (origin is None or basis is None or box is None):
        raise InputError(
            "origin", f"come with basis and box for a network of {net.n_in} inputs", hint="define a slice as for plane"
        )
    if box is None and scene.X is not None and len(scene.X) and scene.X.shape[1] == net.n_in:
        low, high = scene.X.min(axis=0), scene.X.max(axis=0)
        margin = np.where(high > low, 0.08 * (high - low), 1.0)
        box = np.stack([low - margin, high + margin], axis=1)
    if net.n_in == 1:
        ((a, b),) = check_box([(-1.0, 1.0)] if box is None else box, 1)
        return {"a": [a], "b": [b]}
    domain = {"box": box, "origin": origin, "basis": basis}
    return {name: value for name, value in domain.items() if value is not None}


def _shots(
    nets: Sequence[Network],
    epochs: Sequence[int],
    records: Sequence[Record | None],
    domain: dict[str, Any],
    history: History | None = None,
) -> list[Shot]:
    from creases.regions import line, plane

    shots, regions = [], 0
    for net, epoch, record in zip(nets, epochs, records, strict=True):
        if net.n_in != nets[0].n_in:
            raise InputError("networks", f"all have {nets[0].n_in} inputs", f"a network with {net.n_in}")
        partition: PlanePartition | LinePartition = line(net, **domain) if net.n_in == 1 else plane(net, **domain)
        regions += partition.count
        if regions > MAX_REGIONS:
            raise InputError("frames", f"be few enough for at most {MAX_REGIONS:,} regions in all", str(len(nets)))
        size = f"{plural(net.n_units, 'unit')}, {plural(partition.count, 'region')}"
        step = "" if record is None or history is None else f"growth step {record.number}: "
        if step and record is not None and history is not None:
            if net.n_units == record.width[0] != record.width[1]:
                step = f"before {step}"
            elif outcome := history.outcome(record):
                step = f"growth step {record.number} ({outcome}): "
        words = f"{step}epoch {epoch:,}, {size}"
        shots.append(Shot(partition, epoch, record, words))
    return shots


def _write_film(
    shots: Sequence[Shot],
    scene: Scene,
    beside: Sequence[Beside],
    path: str | Path,
    fps: float,
    dpi: int,
    progress: Progress | None,
) -> Path:
    if not 0 < fps <= 100:
        raise InputError("fps", "be above 0 and at most 100", repr(fps))
    stage = Stage(shots, scene, beside, check_count(dpi, "dpi"))
    path = check_movie(path, stage.size)

    def frames() -> Iterator[Frame]:
        for number, shot in enumerate(shots, 1):
            seconds = (_LONGER if shot.record is not None else 1) / fps
            yield stage.picture(shot), seconds + (_LAST if number == len(shots) else 0)
            if progress is not None:
                progress("writing frames", number, len(shots))

    with write_atomically(path) as temporary:
        (_write_mp4 if path.suffix == ".mp4" else _write_gif)(frames(), temporary)
    return path
