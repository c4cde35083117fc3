"""Exports of the studio: the network, a report, an animation, a Python script that repeats the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from creases.errors import RequestError
from creases.show.studio._limits import scratch_folder

if TYPE_CHECKING:
    from creases.show.studio._live_run import LiveRun


#: Pictures of an animation.
PICTURES = 80


class Export(NamedTuple):
    """A file to download."""

    name: str
    media: str  #: its media type
    content: bytes


class ExportRequest(NamedTuple):
    """The run to export."""

    spec: Mapping[str, Any]  #: the problem, as the page specified it
    live: LiveRun
    stem: str  #: name of the files, without their suffixes
    sign: Callable[[], None]  #: called regularly meanwhile


def export(what: Any, spec: Mapping[str, Any], live: LiveRun, sign: Callable[[], None] = lambda: None) -> Export:
    """Export a run on the problem that a page specified; ``sign`` is called regularly meanwhile."""
    if not isinstance(what, str) or what not in _EXPORTS:
        raise RequestError(f"unknown export {str(what)[:40]!r}; choose one of: {', '.join(_EXPORTS)}")
    suffix, media, make = _EXPORTS[what]
    stem = re.sub(r"[^\w-]+", "_", live.data.problem.name).strip("_")[:40] or "run"
    return Export(f"{stem}{suffix}", media, make(ExportRequest(spec, live, stem, sign)))


def _export_model(request: ExportRequest) -> bytes:
    return _read_written("model.safetensors", request.live.net.save)


def _export_onnx(request: ExportRequest) -> bytes:
    if find_spec("onnx") is None:
        raise RequestError(
            "ONNX export needs the onnx package; on the machine that runs the studio: pip install 'creases[onnx]'"
        )
    return _read_written("model.onnx", request.live.net.save)


def _export_code(request: ExportRequest) -> bytes:
    from creases.show.studio._script import script

    return script(request.spec, request.live).encode()


def _export_report(request: ExportRequest) -> bytes:
    """Return the report that ``creases report`` writes, as HTML."""
    from creases.show.report._growth import write_run_report
    from creases.show.studio._script import script
    from creases.tables import SavedRun

    live = request.live
    run = SavedRun(live.settings, live.data, live.history, tuple(live.snapshots), "")
    model, again = f"{request.stem}.safetensors", script(request.spec, live)
    return _read_written(
        "report.html",
        lambda path: write_run_report(run, path, model=model, again=again, progress=lambda *_: request.sign()),
    )


def _export_animation(request: ExportRequest) -> bytes:
    """Return the animation of the run on the first slice, with its curves and the network."""
    from creases.show import animate_growth
    from creases.tables import data_box

    live = request.live
    problem = live.data.problem
    options: dict[str, Any] = {"box": data_box(problem.X), "X": problem.X}
    if problem.classes is not None or problem.X.shape[1] == 1:  # a plane does not show values
        options["y"] = problem.y
    options["features"] = problem.features
    if problem.X.shape[1] > 2:
        cut = live.slices[0]
        options = {"box": cut.box, "origin": cut.origin, "basis": cut.basis, "features": cut.axes}
    options |= {"classes": problem.classes, "scaling": live.data.scaling, "names": live.data.names}
    return _read_written(
        "growth.gif",
        lambda path: animate_growth(
            list(live.snapshots),
            path,
            history=live.history,
            frames=PICTURES,
            progress=lambda *_: request.sign(),
            **options,
        ),
    )


def _read_written(name: str, write: Callable[[Path], Any]) -> bytes:
    """Return the bytes that a function writes to a file of this name."""
    with scratch_folder() as folder:
        path = folder / name
        write(path)
        return path.read_bytes()


#: By name: the suffix of the file, its media type, and the function that makes it.
_EXPORTS: Mapping[str, tuple[str, str, Callable[[ExportRequest], bytes]]] = {
    "model": (".safetensors", "application/octet-stream", _export_model),
    "onnx": (".onnx", "application/octet-stream", _export_onnx),
    "report": (".html", "text/html", _export_report),
    "animation": (".gif", "image/gif", _export_animation),
    "code": (".py", "text/x-python", _export_code),
}
