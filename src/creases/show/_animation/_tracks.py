"""Breakpoints of a network of one input during training, as GIF and MP4."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from numpy.typing import NDArray

from creases._validation import check_count
from creases.errors import InputError
from creases.show import _style as style
from creases.show._animation._movie import check_movie, write_movie
from creases.show._figures._splines import (
    Function,
    Window,
    choose_window,
    curve_points,
    draw_targets,
    is_inside,
    jump_colors,
    name_axes,
    pad_interval,
    stack_panels,
)

if TYPE_CHECKING:
    from creases.splines import Frame, History


def animate_tracks(
    history: History,
    path: str | Path,
    *,
    data: tuple[Any, Any] | None = None,
    target: Function | None = None,
    frames: int = 100,
    fps: int = 15,
    dpi: int = 90,
    window: Window | None = None,
    names: tuple[str, str] = ("$x$", "$f(x)$"),
) -> Path:
    """Write the training of a network of one input as ``.gif`` or ``.mp4``: function, breakpoints, changes of slope.

    Parameters
    ----------
    history
        A result of :meth:`creases.splines.Tracker.history`.
    data, target, window
        As in :func:`creases.show.plot_spline`.
    frames
        Maximal number of frames, evenly spaced in the history.
    fps
        Frames per second; the last frame stays for one more second.
    names
        Names of the input and the output.

    Returns
    -------
    Path
        The file written.
    """
    if not len(history):
        raise InputError("history", "have at least one step", "none", "call the tracker with the model")
    frames, fps = check_count(frames, "frames"), check_count(fps, "fps")
    steps = np.unique(np.linspace(0, len(history) - 1, frames).round().astype(int)).tolist()
    window = choose_window(history, data, window)
    stage = _Stage([history.frame(t) for t in steps], data, target, window, names)
    width, height = stage.figure.get_size_inches()
    path = check_movie(path, (int(width * dpi), int(height * dpi)))
    with style.style_context():
        pictures = stage.pictures(dpi)
    durations = [1 / fps] * (len(pictures) - 1) + [1 / fps + 1]
    return write_movie(zip(pictures, durations, strict=True), path)


class _Stage:
    """The axes of an animation, scaled for all frames, and the artists that move."""

    def __init__(
        self, frames: list[Frame], data: Any, target: Function | None, window: Window, names: tuple[str, str]
    ) -> None:
        self.frames, self.window = frames, window
        self.layers = 1 + max(int(frame.layer.max(initial=0)) for frame in frames)
        self.figure, (self.top, self.bottom) = stack_panels((3, 1.4))
        low, high = window
        draw_targets(self.top, data, target, low, high)
        grid = np.linspace(low, high, 200)
        heights = np.concatenate([frame.pieces(grid) for frame in frames])
        interval = self.top.dataLim.intervaly if data is not None or target is not None else heights[:1].repeat(2)
        self.top.set_ylim(*pad_interval(min(heights.min(), interval[0]), max(heights.max(), interval[1])))
        jumps = np.concatenate([frame.jump[is_inside(frame.x, window)] for frame in frames])
        reach = float(np.abs(jumps).max(initial=0)) or 1.0
        self.bottom.set_ylim(-1.1 * reach, 1.1 * reach)
        self.bottom.axhline(0, color=style.active_theme().ink, linewidth=0.6)
        for ax in (self.top, self.bottom):
            ax.set_xlim(low, high)
        self.bottom.set_ylabel("slope change")
        (self.line,) = self.top.plot([], [], color=style.class_color(0), linewidth=1.6, zorder=4, label="network")
        with style.style_context():
            self.top.legend(loc="best")
        self.rug = LineCollection([], transform=self.top.get_xaxis_transform(), linewidths=0.8, zorder=2)
        self.top.add_collection(self.rug, autolim=False)
        self.stems = LineCollection([], linewidths=1.2)
        self.bottom.add_collection(self.stems, autolim=False)
        self.title = self.top.set_title("step", loc="left")
        name_axes(self.figure, names)

    def pictures(self, dpi: int) -> list[NDArray[np.uint8]]:
        """Return all frames (h, w, 3); the static parts are drawn once, because that takes a quarter of a second."""
        moving = (self.line, self.rug, self.stems, self.title)
        for artist in moving:
            artist.set_animated(True)
        self.show(self.frames[-1])  # so that the legend avoids it
        self.figure.set_dpi(dpi)
        canvas: Any = FigureCanvasAgg(self.figure)  # it has no types
        canvas.draw()
        still = canvas.copy_from_bbox(self.figure.bbox)
        pictures = []
        for frame in self.frames:
            self.show(frame)
            canvas.restore_region(still)
            for artist in moving:
                self.figure.draw_artist(artist)
            pictures.append(np.array(canvas.buffer_rgba())[:, :, :3])
        return pictures

    def show(self, frame: Frame) -> None:
        """Move the artists to a frame."""
        self.line.set_data(*curve_points(frame.pieces, *self.window))
        inside = is_inside(frame.x, self.window)
        x, jump = frame.x[inside], frame.jump[inside]
        self.rug.set_segments([[(place, 0), (place, 0.06)] for place in x])
        shades: Any = style.crease_colors(frame.layer[inside], self.layers)
        self.rug.set_color(shades)
        self.stems.set_segments([[(place, 0), (place, height)] for place, height in zip(x, jump, strict=True)])
        self.stems.set_color(jump_colors(jump))
        self.title.set_text(f"step {frame.step:,}, {len(frame.x)} breakpoints")
