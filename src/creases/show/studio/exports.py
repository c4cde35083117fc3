"""What can be taken away from the studio: the network, a report, an animation, the Python code that does the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from creases.errors import InputError
from creases.show.studio.script import script

if TYPE_CHECKING:
    from creases.show.studio.live import Live


class Export(NamedTuple):
    """A file to download."""

    name: str
    media: str  #: its media type
    content: bytes


def export(what: Any, given: Mapping[str, Any], live: Live) -> Export:
    """Make a file of a run on the problem that a page gave."""
    if not isinstance(what, str) or what not in _EXPORTS:
        raise InputError(f"there is no export {str(what)[:40]!r}; there are: {', '.join(_EXPORTS)}")
    ending, media, make = _EXPORTS[what]
    stem = re.sub(r"[^\w-]+", "_", live.data.problem.name).strip("_")[:40] or "run"
    return Export(f"{stem}{ending}", media, make(given, live))


def _model(given: Mapping[str, Any], live: Live) -> bytes:
    return _written("model.safetensors", live.net.save)


def _onnx(given: Mapping[str, Any], live: Live) -> bytes:
    if find_spec("onnx") is None:
        raise InputError("ONNX files need the package onnx where the studio runs: pip install 'creases[onnx]'")
    return _written("model.onnx", live.net.save)


def _code(given: Mapping[str, Any], live: Live) -> bytes:
    return script(given, live).encode()


def _written(name: str, write: Callable[[Path], Any]) -> bytes:
    """What a function writes into a file of this name."""
    with TemporaryDirectory(prefix="creases-studio-") as folder:
        path = Path(folder, name)
        write(path)
        return path.read_bytes()


#: By name: the file's ending, its media type, and what makes it.
_EXPORTS: Mapping[str, tuple[str, str, Callable[[Mapping[str, Any], Live], bytes]]] = {
    "model": (".safetensors", "application/octet-stream", _model),
    "onnx": (".onnx", "application/octet-stream", _onnx),
    "code": (".py", "text/x-python", _code),
}
