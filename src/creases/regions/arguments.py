"""What users hand to the geometry, checked: errors name the argument, what was given and what to do."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from creases.errors import InputError
from creases.network.network import Network


def check_network(net: Any) -> Network:
    """``net`` when it is a network."""
    if not isinstance(net, Network):
        raise InputError(f"net: expected a Network (creases.read makes one), got {type(net).__name__}")
    return net


def check_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """``values`` as an array of float64, whatever its shape."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"entries are {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: expected an array of numbers, got {type(values).__name__}: {error}") from None


def check_points(points: Any, k: int, name: str = "points") -> NDArray[np.float64]:
    """Points (n, k); one point (k,) alone is a batch of one, an empty list a batch of none."""
    array = check_numbers(points, name)
    if array.shape == (0,):
        return array.reshape(0, k)
    if array.shape[-1:] != (k,) or array.ndim > 2:
        raise InputError(f"{name}: expected shape (n, {k}), got {array.shape}")
    return np.atleast_2d(array)


def check_index(value: Any, count: int, name: str) -> int:
    """A number in 0, ..., count - 1."""
    if not isinstance(value, int | np.integer) or not 0 <= value < count:
        raise InputError(f"{name}: expected a number from 0 to {count - 1}, got {value!r}")
    return int(value)


def check_count(value: Any, name: str) -> int:
    """A whole number of at least 1."""
    try:
        count = index(value)
    except TypeError:
        raise InputError(f"{name}: expected a positive whole number, got {value!r}") from None
    if count < 1:
        raise InputError(f"{name}: expected a positive whole number, got {value!r}")
    return count
