"""Wrong values of arguments: of other types and shapes, not finite, empty, huge, and views with negative strides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

WRONG: dict[str, Any] = {
    "None": None,
    "a word": "no such thing",
    "an object": object(),
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a negative number": -1,
    "zero": 0,
    "a half": 0.5,
    "a huge number": 1e300,
    "more than 64 bits": 2**70,
    "true": True,
    "an empty list": [],
    "a list of none": [None],
    "a dict": {},
    "a ragged list": [[1.0], [1.0, 2.0]],
    "no rows": np.zeros((0, 2)),
    "words": np.array(["a", "b"]),
    "complex numbers": np.ones((2, 2)) * 1j,
    "objects": np.array([[None, {}]], dtype=object),
    "three axes": np.ones((2, 2, 2)),
    "a scalar array": np.array(1.0),
    "NaNs": np.full((3, 2), np.nan),
    "dates": np.array(["2024-01-01"], "datetime64[D]"),
    "a tensor on no device": torch.empty((3, 2), device="meta"),
}


def wrong_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield values to pass instead of a correct one, each with its name."""
    yield from WRONG.items()
    if isinstance(value, torch.Tensor):
        for name, changed in _changed(value.numpy()):
            yield name, torch.from_numpy(np.ascontiguousarray(changed))
        return
    try:
        array = np.asarray(value)
    except ValueError:
        return
    if array.ndim and array.size and array.dtype.kind in "biuf":
        yield from _changed(array)


def _changed(array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Yield damaged copies of an array."""
    yield "one entry fewer", array[:-1]
    yield "one entry more", np.concatenate([array, array[-1:]])
    yield "another axis", array[..., None]
    yield "nothing", array[:0]
    yield "negative strides", array[::-1]
    yield "transposed", array.T
    yield "other numbers", array.astype(np.float32)
    for name, number in (("a NaN", np.nan), ("an infinity", np.inf), ("1e300", 1e300), ("a negative one", -1.0)):
        changed = array.astype(np.float64)
        changed.flat[0] = number
        yield f"{name} inside", changed
