"""What can be taken away from the studio: the network, a report, an animation, the Python code that does the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from creases.errors import RequestError
from creases.show.studio._script import script

if TYPE_CHECKING:
    from creases.show.studio._live_run import LiveRun


#: Pictures of an animation.
PICTURES = 80


class Export(NamedTuple):
    """A file to download."""

    name: str
    media: str  #: its media type
    content: bytes


class Asked(NamedTuple):
    """What a file is made of."""

    given: Mapping[str, Any]  #: the problem, as the page gave it
    live: LiveRun
    stem: str  #: what files are called, without their endings
    sign: Callable[[], None]  #: called now and then on the way


def export(what: Any, given: Mapping[str, Any], live: LiveRun, sign: Callable[[], None] = lambda: None) -> Export:
    """Make a file of a run on the problem that a page gave; ``sign`` is called now and then on the way."""
    if not isinstance(what, str) or what not in _EXPORTS:
        raise RequestError(f"there is no export {str(what)[:40]!r}; there are: {', '.join(_EXPORTS)}")
    ending, media, make = _EXPORTS[what]
    stem = re.sub(r"[^\w-]+", "_", live.data.problem.name).strip("_")[:40] or "run"
    return Export(f"{stem}{ending}", media, make(Asked(given, live, stem, sign)))


def _model(asked: Asked) -> bytes:
    return _written("model.safetensors", asked.live.net.save)


def _onnx(asked: Asked) -> bytes:
    if find_spec("onnx") is None:
        raise RequestError("ONNX files need the package onnx where the studio runs: pip install 'creases[onnx]'")
    return _written("model.onnx", asked.live.net.save)


def _code(asked: Asked) -> bytes:
    return script(asked.given, asked.live).encode()


def _report(asked: Asked) -> bytes:
    """Return the report that ``creases report`` writes."""
    from creases.growth.experiment import SavedRun
    from creases.show.report._growth import write_run_report

    live = asked.live
    run = SavedRun(live.settings, live.data, live.history, tuple(live.snapshots), "")
    model, again = f"{asked.stem}.safetensors", script(asked.given, live)
    return _written(
        "report.html",
        lambda path: write_run_report(run, path, model=model, again=again, progress=lambda *_: asked.sign()),
    )


def _animation(asked: Asked) -> bytes:
    """Return the animation of the run on the first slice, with its curves and the network."""
    from creases.growth.experiment import data_box
    from creases.show import animate_growth

    live = asked.live
    problem = live.data.problem
    shown: dict[str, Any] = {"box": data_box(problem.X), "X": problem.X}
    if problem.classes is not None or problem.X.shape[1] == 1:  # a plane does not show values
        shown["y"] = problem.y
    shown["features"] = problem.features
    if problem.X.shape[1] > 2:
        cut = live.slices[0]
        shown = {"box": cut.box, "origin": cut.origin, "basis": cut.basis, "features": cut.name.split(" × ")}
    shown |= {"classes": problem.classes, "scaling": live.data.scaling, "names": live.data.names}
    return _written(
        "growth.gif",
        lambda path: animate_growth(
            list(live.snapshots),
            path,
            history=live.history,
            frames=PICTURES,
            progress=lambda *_: asked.sign(),
            **shown,
        ),
    )


def _written(name: str, write: Callable[[Path], Any]) -> bytes:
    """Return what a function writes into a file of this name."""
    with TemporaryDirectory(prefix="creases-studio-") as folder:
        path = Path(folder, name)
        write(path)
        return path.read_bytes()


#: By name: the file's ending, its media type, and what makes it.
_EXPORTS: Mapping[str, tuple[str, str, Callable[[Asked], bytes]]] = {
    "model": (".safetensors", "application/octet-stream", _model),
    "onnx": (".onnx", "application/octet-stream", _onnx),
    "report": (".html", "text/html", _report),
    "animation": (".gif", "image/gif", _animation),
    "code": (".py", "text/x-python", _code),
}
