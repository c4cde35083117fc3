"""Results in ``.npz`` files: flat arrays, and the network they are about; nothing pickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases.errors import FileError
from creases.files import replacing
from creases.network.files import from_bytes, to_bytes
from creases.network.network import Network


def write(path: str | Path, kind: str, net: Network, **arrays: NDArray[Any]) -> Path:
    """Write arrays and the network to a ``.npz`` file, whole or not at all; ``kind`` names what they are."""
    path = Path(path)
    model = np.frombuffer(to_bytes(net), np.uint8)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, kind=np.array(kind), network=model, **arrays)  # type: ignore[arg-type]
    return path


def read(path: str | Path, kind: str) -> tuple[Network, dict[str, NDArray[Any]]]:
    """Read back what :func:`write` wrote."""
    try:
        with np.load(Path(path), allow_pickle=False) as data:
            arrays = {key: data[key] for key in data.files}
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: not an .npz file that creases wrote, or damaged: {error}") from None
    found = str(arrays.pop("kind", ""))
    if found != kind:
        raise FileError(f"{path}: expected a saved {kind}, found {found or 'something else'}")
    return from_bytes(arrays.pop("network").tobytes(), str(path)), arrays
