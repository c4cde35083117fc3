"""Samples and targets as the lab takes them, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from creases.errors import InputError
from creases.lab._training.task import Array

if TYPE_CHECKING:
    from creases.lab._training.batch import Batch

LOSSES = ("ce", "bce", "mse")


def check_samples(batch: Batch, X: Any, y: Any, loss: str, dtype: Any) -> tuple[Array, Array]:
    """Inputs (1, n, d) or (B, n, d) and targets (1, n, K) or (B, n, K), in the precision given.

    K is the number of outputs for "mse"; else 1.
    """
    B, d, C = batch.count, batch.widths[0], batch.widths[-1]
    if loss not in LOSSES:
        raise InputError(f"loss: expected one of {', '.join(map(repr, LOSSES))}, got {loss!r}")
    if loss == "bce" and C != 1:
        raise InputError(f"loss: 'bce' is for networks with one output, these have {C}; use 'ce' for classes")
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim not in (2, 3) or X.shape[-1] != d or (X.ndim == 3 and len(X) != B) or not X.shape[-2]:
        raise InputError(f"X: expected inputs (n, {d}) or ({B}, n, {d}), got shape {X.shape}")
    n = X.shape[-2]
    X = X.reshape(-1, n, d) if X.ndim == 2 else X
    return _finite("X", X, dtype), _finite("y", _targets(y, B, n, C, loss), dtype)


def _finite(name: str, values: Array, dtype: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.ascontiguousarray(values, dtype)
    if not np.isfinite(cast).all():
        raise InputError(f"{name}: has NaN or infinite entries, or some too large for {np.dtype(dtype).name}")
    return cast


def _targets(y: Array, B: int, n: int, C: int, loss: str) -> Array:
    """Targets (1, n, K) or (B, n, K) from all shapes that are taken."""
    flat = [(n,), (B, n)] if loss != "mse" or C == 1 else []
    full = [(n, C), (B, n, C)] if loss == "mse" else []
    what = {"ce": "classes", "bce": "zeros and ones", "mse": "numbers"}[loss]
    if y.shape not in flat + full:
        raise InputError(f"y: expected {what} {' or '.join(map(str, flat + full))}, got shape {y.shape}")
    y = y[..., None] if y.shape in flat else y
    y = y[None] if y.ndim == 2 else y
    if not (np.issubdtype(y.dtype, np.number) or y.dtype == bool) or np.iscomplexobj(y):
        raise InputError(f"y: expected {what}, got {y.dtype}")
    if loss == "bce" and not ((y == 0) | (y == 1)).all():
        raise InputError(f"y: expected zeros and ones, got {y.dtype} {y.min()} to {y.max()}")
    if loss == "ce" and y.size and (y.dtype.kind not in "iub" or y.min() < 0 or y.max() >= C):
        raise InputError(f"y: expected whole class numbers from 0 to {C - 1}, got {y.dtype} {y.min()} to {y.max()}")
    return y
