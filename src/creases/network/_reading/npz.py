"""Reading weights from an ``.npz`` file: W0, b0, W1, b1, ..., and optionally a number ``leak``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from creases._array_files import open_npz
from creases.errors import FileError
from creases.network._network import Network
from creases.network._reading.arrays import from_arrays


def read_npz(path: Path) -> Network:
    """Read a network of the layers ``(W0, b0), (W1, b1), ...``, with bends between them."""
    try:
        with open_npz(path) as arrays:
            content = dict(arrays)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as an .npz file of weights: {error}") from None
    layers: list[tuple[Any, Any]] = []
    while f"W{len(layers)}" in content:
        bias = f"b{len(layers)}"
        if bias not in content:
            raise FileError(f"cannot read {path}: it has W{len(layers)} but no {bias}")
        layers.append((content[f"W{len(layers)}"], content[bias]))
    if not layers:
        raise FileError(
            f"cannot read {path}: it must hold W0, b0, W1, b1, ...; it holds {', '.join(content) or 'nothing'}"
        )
    leak = content.get("leak", np.zeros(()))
    if leak.ndim or leak.dtype.kind not in "biuf":
        raise FileError(f"cannot read {path}: its leak must be one number, got shape {leak.shape} of {leak.dtype}")
    return from_arrays(layers, leak=float(leak))
