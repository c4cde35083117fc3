"""Checks of the classes of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from creases._typing import Ints
from creases._validation import as_array
from creases.errors import InputError


def check_classes(y: Any, count: int) -> Ints:
    """Return the classes of ``count`` samples as integers (p,)."""
    classes = as_array(y, "y")
    if classes.shape != (count,) or classes.dtype.kind not in "iub":
        raise InputError(
            "y", f"be {count} whole class numbers, one for each sample", f"{classes.dtype} of shape {classes.shape}"
        )
    return classes.astype(np.int64)
