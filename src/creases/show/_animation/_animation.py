"""Animations of growth: regions, boundary, new creases and coefficients, as GIF or MP4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._typing import Progress
from creases._validation import check_box, check_count, check_finite, check_numbers
from creases.errors import InputError
from creases.show._animation._movie import Frame, check_movie, write_movie
from creases.show._animation._stage import Beside, Scene, Shot, Stage
from creases.show._figures._plane import check_data

if TYPE_CHECKING:
    from creases.growth import History, Record, Scaling
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition

#: Largest number of regions of all frames together.
MAX_REGIONS = 2_000_000

#: Extra seconds of the last frame, and how many times longer the frame of a growth step stays.
_LAST, _LONGER = 2.0, 4


class Snapshot(Protocol):
    """A network during a growth run, such as those that a run keeps in its folder."""

    @property
    def epoch(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def record(self) -> int | None: ...
    @property
    def net(self) -> Network: ...


def animate_growth(
    snapshots: Sequence[Snapshot],
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
    """Write a growth run as ``.gif`` or ``.mp4``: regions, boundary, data and each new crease.

    Parameters
    ----------
    snapshots
        Networks during the run, in order, each with ``epoch``, ``kind``, ``record`` (the number of the growth step that
        created it, or None) and ``net``.
    path
        The file to write; its ending selects the format. MP4 needs ``pip install 'creases[video]'``.
    history
        History of the run, for the curves and for reason, fold point and typical sample of each growth step.
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
    """
    numbers = {record.number: record for record in history.records} if history is not None else {}
    selected = [snapshots[k] for k in _choose_evenly(len(snapshots), frames)]
    points, values = _check_points(X, y)
    scene = Scene(points, values, classes, features, scaling, history, names or {})
    panels: Sequence[Beside] = ("curves", "network") if history is not None and history.epochs else ("network",)
    domain = _window(selected[0].net, scene, box, origin, basis)
    _check_features(features, domain)
    if origin is not None:
        scene = Scene(None, None, classes, features, scaling, history, names or {})
    records = [_record_shown(k, selected, numbers) for k in range(len(selected))]
    shots = _shots([snapshot.net for snapshot in selected], [snapshot.epoch for snapshot in selected], records, domain)
    return _write_film(shots, scene, panels if beside is None else beside, path, fps, dpi, progress)


def _record_shown(k: int, snapshots: Sequence[Snapshot], records: Mapping[int, Record]) -> Record | None:
    """Return the growth step to mark on a network: the one that made it, or the fold that comes next."""
    own = snapshots[k].record
    if own is not None:
        return records.get(own)
    if snapshots[k].kind != "before" or k + 1 == len(snapshots):
        return None
    after = records.get(snapshots[k + 1].record or 0)
    return None if after is None or after.method == "linear" else after


def _choose_evenly(count: int, frames: int) -> list[int]:
    if not count:
        raise InputError("networks", "have at least one network", "none")
    numbers: list[int] = np.unique(
        np.linspace(0, count - 1, check_count(frames, "frames")).round().astype(int)
    ).tolist()
    return numbers


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


def _check_features(features: Sequence[str] | None, domain: dict[str, Any]) -> None:
    axes = 1 if "a" in domain else 2
    if features is not None and len(features) != axes:
        raise InputError("features", f"have {axes} names", str(len(features)))


def _shots(
    nets: Sequence[Network], epochs: Sequence[int], records: Sequence[Record | None], domain: dict[str, Any]
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
        units, pieces = net.n_units, partition.count
        words = f"{_step_words(net, record)}epoch {epoch:,}, {_plural(units, 'unit')}, {_plural(pieces, 'region')}"
        shots.append(Shot(partition, epoch, record, words))
    return shots


def _step_words(net: Network, record: Record | None) -> str:
    """Return what a frame shows of a growth step, for its title."""
    if record is None:
        return ""
    before = "before " if net.n_units == record.width[0] != record.width[1] else ""
    undone = " (undone)" if record.undone and not before else ""
    return f"{before}growth step {record.number}{undone}: "


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


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

    return write_movie(frames(), path)
