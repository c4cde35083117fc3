"""Results in ``.npz`` files: flat arrays and the network they belong to, without pickling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np

from creases._array_files import open_npz
from creases._display import to_html
from creases._files import write_atomically
from creases.errors import FileError
from creases.network import Network
from creases.regions._archive_checks import check_arrays


class Result(Protocol):
    """A dataclass of a network, ``net``, and arrays or plain numbers and strings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def net(self) -> Network: ...


R = TypeVar("R", bound=Result)


def save(result: Result, path: str | Path) -> Path:
    """Write a result to a ``.npz`` file, atomically."""
    path = Path(path)
    arrays = {f.name: np.asarray(getattr(result, f.name)) for f in fields(result) if f.name != "net"}
    arrays |= {"kind": np.array(type(result).__name__), "network": np.frombuffer(result.net.to_bytes(), np.uint8)}
    # As np.savez_compressed, in less time: patterns shrink as well at the lowest level.
    with write_atomically(path) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return path


def load(kind: type[R], path: str | Path) -> R:
    """Read a result of a class that :func:`save` wrote."""
    try:
        with open_npz(path) as data:
            arrays = {key: data[key] for key in data.files}
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: not an .npz file that creases wrote, or damaged: {error}") from None
    name = str(arrays.pop("kind", ""))
    if name != kind.__name__:
        raise FileError(f"{path}: expected a saved {kind.__name__}, got {name or 'something else'}")
    missing = {"network", *(f.name for f in fields(kind) if f.name != "net")} - arrays.keys()
    if missing:
        raise FileError(f"{path}: damaged, or written by another version: it has no {', '.join(sorted(missing))}")
    net = Network.from_bytes(arrays.pop("network").tobytes(), str(path))
    try:
        valid = check_arrays(name, arrays, net)
    except ValueError as problem:
        raise FileError(f"{path}: damaged: {problem}") from None
    build: Callable[..., R] = kind
    return build(net=net, **{name: array if array.ndim else array.item() for name, array in valid.items()})


class Archived:
    """A result that is kept in a ``.npz`` file with its network, and drawn by notebooks."""

    def save(self, path: str | Path) -> Path:
        """Write the result to a ``.npz`` file, with its network."""
        return save(cast(Result, self), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that :meth:`save` wrote."""
        return cast(Self, load(cast(type[Result], cls), path))

    def _repr_html_(self) -> str:
        return to_html(self)
