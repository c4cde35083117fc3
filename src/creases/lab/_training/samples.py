"""Checks of the samples and targets that a batch of networks is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from creases._validation import as_array, check_choice
from creases.errors import InputError

Array = NDArray[Any]

Loss = Literal["cross_entropy", "binary_cross_entropy", "squared_error"]

#: What the targets of each loss are.
TARGETS = {"cross_entropy": "class numbers", "binary_cross_entropy": "zeros and ones", "squared_error": "numbers"}


def check_samples(count: int, widths: Sequence[int], X: Any, y: Any, loss: str, dtype: Any) -> tuple[Array, Array]:
    """Return inputs (1, n, d) or (B, n, d) and targets (1, n, K) or (B, n, K) in the precision ``dtype``.

    ``count`` is the number of networks, B, and ``widths`` are their layers'. K is the number of outputs for
    "squared_error", else 1.
    """
    d, C = widths[0], widths[-1]
    check_choice(loss, TARGETS, "loss")
    if loss == "binary_cross_entropy" and C != 1:
        raise InputError(
            "loss",
            f"fit the networks, which have {C} outputs",
            repr(loss),
            "that is for a single output; use {0}",
            [("loss", "cross_entropy")],
        )
    X, y = as_array(X, "X"), as_array(y, "y")
    if X.dtype.kind not in "biuf":
        raise InputError("X", "be an array of numbers", f"entries of type {X.dtype}")
    if X.ndim not in (2, 3) or X.shape[-1] != d or (X.ndim == 3 and len(X) != count) or not X.shape[-2]:
        raise InputError("X", f"have shape (n, {d}) or ({count}, n, {d})", f"shape {X.shape}")
    n = X.shape[-2]
    X = X.reshape(-1, n, d) if X.ndim == 2 else X
    return _cast("X", X, dtype), _cast("y", _check_targets(y, count, n, C, loss), dtype)


def _cast(name: str, values: Array, dtype: Any) -> Array:
    """Return finite values in another precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.ascontiguousarray(values, dtype)
    if not np.isfinite(cast).all():
        raise InputError(
            name,
            f"be finite in {np.dtype(dtype).name}",
            "NaN, infinite or too large entries",
            "remove these samples, or fill them in",
        )
    return cast


def _check_targets(y: Array, B: int, n: int, C: int, loss: str) -> Array:
    """Return targets (1, n, K) or (B, n, K) from all shapes that are allowed."""
    flat = [(n,), (B, n)] if loss != "squared_error" or C == 1 else []
    full = [(n, C), (B, n, C)] if loss == "squared_error" else []
    what = TARGETS[loss]
    if y.shape not in flat + full:
        raise InputError("y", f"be {what} of shape {' or '.join(map(str, flat + full))}", f"shape {y.shape}")
    y = y[..., None] if y.shape in flat else y
    y = y[None] if y.ndim == 2 else y
    if not (np.issubdtype(y.dtype, np.number) or y.dtype == bool) or np.iscomplexobj(y):
        raise InputError("y", f"be {what}", f"entries of type {y.dtype}")
    if loss == "binary_cross_entropy" and not ((y == 0) | (y == 1)).all():
        raise InputError("y", "be zeros and ones", f"{y.dtype} from {y.min()} to {y.max()}")
    if loss == "cross_entropy" and y.size and (y.dtype.kind not in "iub" or y.min() < 0 or y.max() >= C):
        raise InputError("y", f"be whole class numbers from 0 to {C - 1}", f"{y.dtype} from {y.min()} to {y.max()}")
    return y
