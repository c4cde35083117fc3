"""Slices: planes ``x = origin + basis t`` through input space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from creases._text import plural
from creases._typing import Floats
from creases._validation import check_finite, check_number, check_numbers
from creases.errors import InputError
from creases.network import Network
from creases.regions._polytope import check_point


def check_slice(net: Network, origin: Any, basis: Any) -> tuple[Floats, Floats]:
    """Return the origin (n_in,) and basis (n_in, 2) of a plane; for networks of two inputs both may be None."""
    if basis is None:
        if net.n_in != 2:
            raise InputError(
                "basis",
                f"be given for a network of {plural(net.n_in, 'input')}",
                "None",
                f"pass origin ({net.n_in},) and basis ({net.n_in}, 2), or use plane_through(net, a, b, c)",
            )
        directions = np.eye(2)
    else:
        directions = check_numbers(basis, "basis")
        if directions.shape == (2, *net.input_shape):
            directions = directions.reshape(2, -1).T
        if directions.shape != (net.n_in, 2):
            raise InputError("basis", f"have shape ({net.n_in}, 2), two columns", f"{directions.shape}")
        check_finite(directions, "basis")
        if np.linalg.matrix_rank(directions) < 2:
            raise InputError("basis", "have two columns that span a plane", "parallel or zero ones")
    start = np.zeros(net.n_in) if origin is None else check_point(net, origin, "origin")
    return start, directions


def slice_through(net: Network, points: Sequence[Any]) -> tuple[Floats, Floats, Floats]:
    """Return the plane through three points: origin a, an orthonormal basis, and the points' coordinates (3, 2).

    Gram-Schmidt, as in eq. 6.2 of the dissertation (Ben Sattelberg, "Local Linearity of ReLU Neural Networks", 2026).
    """
    a, b, c = (check_point(net, point, name) for point, name in zip(points, "abc", strict=True))
    first = float(np.linalg.norm(b - a))
    if first == 0:
        raise InputError("b", "differ from a", "the same point", "give three points that are not on one line")
    e1 = (b - a) / first
    along = (c - a) @ e1
    rest = c - a - along * e1
    rest -= (rest @ e1) * e1  # once more: Gram-Schmidt loses digits on nearly parallel vectors
    height = float(np.linalg.norm(rest))
    if height <= 1e-12 * max(first, float(np.linalg.norm(c - a))):
        raise InputError(
            "c",
            "not be on the line through a and b",
            "three points on one line, which span no plane",
            "use line(net, a, b), or another third point",
        )
    coordinates = np.array([[0.0, 0.0], [first, 0.0], [along, height]])
    return a, np.stack([e1, rest / height], axis=1), coordinates


def box_around(t: Floats, margin: float) -> Floats:
    """Return the bounds (2, 2) of points (n, 2) and of this fraction of their extent around them."""
    low, high = t.min(axis=0), t.max(axis=0)
    pad = check_number(margin, "margin") * (high - low)
    return np.stack([low - pad, high + pad], axis=1)
