"""Training and growth through time: regions, boundary, new creases and coefficients, to GIF and MP4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._validation import check_box, check_count, check_numbers
from creases.errors import InputError
from creases.show.animation._movie import Frame, Progress, check_movie, write_movie
from creases.show.animation._stage import Beside, Scene, Shot, Stage
from creases.show.figures._plane import check_data

if TYPE_CHECKING:
    from creases.growth import History, Record, Scaling
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition

#: Regions of all pictures together at most.
MOST_REGIONS = 2_000_000

#: Seconds that the last picture stays longer, and how many times longer one of a growth step does.
_LAST, _LONGER = 2.0, 4


class Moment(Protocol):
    """A network on the way of a growth run, such as :class:`creases.growth.experiment._snapshots.Snapshot`."""

    @property
    def epoch(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def record(self) -> int | None: ...
    @property
    def net(self) -> Network: ...


def animate_growth(
    moments: Sequence[Moment],
    path: str | Path,
    *,
    history: History | None = None,
    data: ArrayLike | None = None,
    labels: ArrayLike | None = None,
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
    """Write a growth run as a ``.gif`` or ``.mp4``: regions, boundary, data and each new crease where it folds.

    Parameters
    ----------
    moments
        Networks on the way, in order, each with ``epoch``, ``kind``, ``record`` (the number of the growth step that
        made it, or None) and ``net``: those of :class:`creases.growth.experiment._snapshots.Snapshots`, or of a run's folder.
    path
        Its ending says what is written. MP4 needs ``pip install 'creases[video]'``.
    history
        Of the run: for the curves, and for the growth steps' reasons, fold points and typical instances.
    data, labels
        Points (n, d) in the networks' units with their classes (n,), whole numbers, or their values. On a slice they
        are left out.
    classes, features
        Names of classes and of inputs; on a slice, of its two coordinates.
    scaling, names
        What growth steps' points were scaled by, and what their reasons call things (``Divided.names``).
    box, origin, basis
        What is shown, as in :func:`creases.plane`; unless given, what is around the data. Networks of more than two
        inputs need a slice.
    beside
        Panels beside the picture: ``"curves"`` (the score, with the time), ``"network"``, ``"dual"``; unless given, the
        curves where there is a history, and the network.
    frames
        At most so many pictures, evenly taken; those of the start and the end are among them.
    fps
        Pictures in a second; those of growth steps stay for four, the last for two seconds more.
    dpi
        Size: pictures are about nine inches wide.
    progress
        Called with how many pictures are done, and how many there are.

    Returns
    -------
    Path
        What was written.
    """
    numbers = {record.number: record for record in history.records} if history is not None else {}
    chosen = [moments[k] for k in _evenly(len(moments), frames)]
    points, values = _points(data, labels)
    scene = Scene(points, values, classes, features, scaling, history, names or {})
    panels: Sequence[Beside] = ("curves", "network") if history is not None and history.epochs else ("network",)
    shown = _window(chosen[0].net, scene, box, origin, basis)
    _check_features(features, shown)
    if origin is not None:
        scene = Scene(None, None, classes, features, scaling, history, names or {})
    records = [None if moment.record is None else numbers.get(moment.record) for moment in chosen]
    shots = _shots([moment.net for moment in chosen], [moment.epoch for moment in chosen], records, shown)
    return _film(shots, scene, panels if beside is None else beside, path, fps, dpi, progress)


def animate_training(
    networks: Sequence[Any],
    path: str | Path,
    *,
    epochs: Sequence[int] | None = None,
    data: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    box: ArrayLike | None = None,
    origin: ArrayLike | None = None,
    basis: ArrayLike | None = None,
    beside: Sequence[Beside] | None = None,
    frames: int = 120,
    fps: float = 8,
    dpi: int = 80,
    progress: Progress | None = None,
) -> Path:
    """Write training as a ``.gif`` or ``.mp4``: regions, boundary and coefficients of one network after the other.

    What is not named below is as in :func:`animate_growth`.

    Parameters
    ----------
    networks
        As they were during training, in order: copies, or what :func:`creases.read` gave at the time.
    epochs
        When each was taken; 0, 1, 2, ... unless given.
    beside
        As in :func:`animate_growth`; unless given, the dual plot, or the network for one input.
    """
    from creases.network import Network, read

    times = list(range(len(networks))) if epochs is None else [int(epoch) for epoch in epochs]
    if len(times) != len(networks):
        raise InputError(f"epochs: expected {len(networks)} of them, one for each network, got {len(times)}")
    which = _evenly(len(networks), frames)
    nets = [net if isinstance(net, Network) else read(net) for net in (networks[k] for k in which)]
    points, values = _points(data, labels)
    scene = Scene(points, values, classes, features)
    shown = _window(nets[0], scene, box, origin, basis)
    _check_features(features, shown)
    if origin is not None:
        scene = Scene(None, None, classes, features)
    panels: Sequence[Beside] = ("dual",) if nets[0].n_in > 1 else ("network",)
    shots = _shots(nets, [times[k] for k in which], [None] * len(nets), shown)
    return _film(shots, scene, panels if beside is None else beside, path, fps, dpi, progress)


def _evenly(count: int, frames: int) -> list[int]:
    if not count:
        raise InputError("moments: there is no network to animate")
    found: list[int] = np.unique(np.linspace(0, count - 1, check_count(frames, "frames")).round().astype(int)).tolist()
    return found


def _points(data: ArrayLike | None, labels: ArrayLike | None) -> tuple[NDArray[np.float64] | None, NDArray[Any] | None]:
    """Points (n, d) and what belongs to them (n,); in the plane only classes do, not values."""
    values = None if labels is None else check_numbers(labels, "labels").ravel()
    points = None if data is None else check_numbers(data, "data")
    if points is None or points.ndim != 2 or points.shape[1] == 2:
        whole = values is None or bool(((values >= 0) & (values == np.round(values))).all())
        return check_data(data, labels if whole else None)
    if not np.isfinite(points).all() or (values is not None and not np.isfinite(values).all()):
        raise InputError("data: expected finite numbers, got NaN or infinity; leave such points out")
    if values is not None and len(values) != len(points):
        raise InputError(f"labels: expected {len(points)} of them, one for each point, got {len(values)}")
    return points, values


def _window(net: Network, scene: Scene, box: Any, origin: Any, basis: Any) -> dict[str, Any]:
    """What is shown, for :func:`creases.plane` or :func:`creases.line`."""
    if net.n_in > 2 and (origin is None or basis is None or box is None):
        raise InputError(
            f"origin, basis, box: a network of {net.n_in} inputs is shown on a slice; give these as to creases.plane"
        )
    if box is None and scene.data is not None and len(scene.data) and scene.data.shape[1] == net.n_in:
        low, high = scene.data.min(axis=0), scene.data.max(axis=0)
        margin = np.where(high > low, 0.08 * (high - low), 1.0)
        box = np.stack([low - margin, high + margin], axis=1)
    if net.n_in == 1:
        ((a, b),) = check_box([(-1.0, 1.0)] if box is None else box, 1)
        return {"a": [a], "b": [b]}
    shown = {"box": box, "origin": origin, "basis": basis}
    return {name: value for name, value in shown.items() if value is not None}


def _check_features(features: Sequence[str] | None, shown: dict[str, Any]) -> None:
    axes = 1 if "a" in shown else 2
    if features is not None and len(features) != axes:
        raise InputError(f"features: expected {axes} names, got {len(features)}")


def _shots(
    nets: Sequence[Network], epochs: Sequence[int], records: Sequence[Record | None], shown: dict[str, Any]
) -> list[Shot]:
    from creases.regions import line, plane

    found, regions = [], 0
    for net, epoch, record in zip(nets, epochs, records, strict=True):
        if net.n_in != nets[0].n_in:
            raise InputError(f"networks: expected all to take {nets[0].n_in} numbers, got one that takes {net.n_in}")
        partition: PlanePartition | LinePartition = line(net, **shown) if net.n_in == 1 else plane(net, **shown)
        regions += partition.count
        if regions > MOST_REGIONS:
            raise InputError(
                f"frames: these pictures have more than {MOST_REGIONS:,} regions in all; take fewer of them"
            )
        units, pieces = net.n_units, partition.count
        step = "" if record is None else f"growth step {record.number}: "
        words = f"{step}epoch {epoch:,}, {_many(units, 'unit')}, {_many(pieces, 'region')}"
        found.append(Shot(partition, epoch, record, words))
    return found


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _film(
    shots: Sequence[Shot],
    scene: Scene,
    beside: Sequence[Beside],
    path: str | Path,
    fps: float,
    dpi: int,
    progress: Progress | None,
) -> Path:
    if not 0 < fps <= 100:
        raise InputError(f"fps: expected a number of pictures in a second, above 0 and up to 100, got {fps!r}")
    stage = Stage(shots, scene, beside, check_count(dpi, "dpi"))
    path = check_movie(path, stage.size)

    def frames() -> Iterator[Frame]:
        for number, shot in enumerate(shots, 1):
            seconds = (_LONGER if shot.record is not None else 1) / fps
            yield stage.picture(shot), seconds + (_LAST if number == len(shots) else 0)
            if progress is not None:
                progress(number, len(shots))

    return write_movie(frames(), path)
