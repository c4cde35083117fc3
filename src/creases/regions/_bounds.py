"""Bounds on the number of regions of a ReLU network of given widths, as exact integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod

import numpy as np

from creases.errors import InputError


@dataclass(frozen=True)
class Bounds:
    """Bounds on the largest number of regions over all weights of a fully connected ReLU network."""

    d: int  #: number of inputs
    widths: tuple[int, ...]  #: of the hidden layers
    zaslavsky: int  #: regions of the first layer alone: exact for one hidden layer
    product: int  #: upper bound, eq. 2.26 of the dissertation with k = d
    lower: int | None  #: lower bound, eq. 2.27; None when a layer is narrower than the input
    montufar_2014: int  #: upper bound: two sides for every unit
    montufar_2017: int  #: upper bound: a layer's input has no more dimensions than the narrowest layer before it
    #: upper bound: ... nor more than the active units; not for a leaky ReLU, which never loses a dimension
    serra_2018: int

    @property
    def upper(self) -> int:
        """The least upper bound, for ReLUs; with a leak ``montufar_2017`` is the least that holds."""
        return min(self.product, self.montufar_2014, self.montufar_2017, self.serra_2018)


def bounds(widths: Sequence[int], d: int | None = None) -> Bounds:
    """Bound the number of regions of a fully connected ReLU network.

    Parameters
    ----------
    widths
        Widths of the hidden layers; without ``d`` those of all layers, input and output included.
    d
        Number of inputs.

    Notes
    -----
    With hidden widths n_1 .. n_L and n_0 = d:

    - Zaslavsky (1975): n hyperplanes in d dimensions make at most ``sum_{j <= d} C(n, j)`` regions.
    - The dissertation, eq. 2.26 [1]_: ``prod_l sum_{i <= k} C(n_l, i)``. The text requires k to be at most every width;
      it is a bound when k is the input dimension, the dimension of what a layer can cut (with k = 1, d = 3 and widths
      5, 1 it would be 12, and the first layer alone makes 26).
    - Eq. 2.27, Montufar et al. 2014: some weights reach
      ``prod_{l < L} floor(n_l / d)^d  sum_{j <= d} C(n_L, j)``, for widths of at least d.
    - Montufar et al. 2014: at most ``2^(n_1 + ... + n_L)``; Montufar 2017: ``prod_l sum_{j <= d_l} C(n_l, j)`` with
      ``d_l = min(n_0, ..., n_(l-1))``.
    - Serra, Tjandraatmadja & Ramalingam 2018, theorem 1: the sum over all j_1 .. j_L of ``prod_l C(n_l, j_l)`` with
      ``j_l <= min(n_0, n_1 - j_1, ..., n_(l-1) - j_(l-1), n_l)``.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.

    Examples
    --------
    >>> from creases.regions import bounds
    >>> bounds([16, 16], d=2).serra_2018
    18769
    """
    hidden, n_in = _check_widths(widths, d)
    enough = all(n >= n_in for n in hidden)
    folds = prod((n // n_in) ** n_in for n in hidden[:-1]) if enough else 0
    dims = [min((n_in, *hidden[:i])) for i in range(len(hidden))]
    return Bounds(
        d=n_in,
        widths=hidden,
        zaslavsky=_arrangement(hidden[0], n_in) if hidden else 1,
        product=prod(_arrangement(n, n_in) for n in hidden),
        lower=folds * (_arrangement(hidden[-1], n_in) if hidden else 1) if enough else None,
        montufar_2014=2 ** sum(hidden),
        montufar_2017=prod(_arrangement(n, dim) for n, dim in zip(hidden, dims, strict=True)),
        serra_2018=_serra(hidden, n_in),
    )


def _arrangement(n: int, d: int) -> int:
    """Return the most regions that n hyperplanes make in d dimensions."""
    return sum(comb(n, j) for j in range(min(n, d) + 1))


def _serra(widths: tuple[int, ...], d: int) -> int:
    @cache
    def count(layer: int, dims: int) -> int:
        if layer == len(widths):
            return 1
        n = widths[layer]
        return sum(comb(n, j) * count(layer + 1, min(dims, n - j)) for j in range(min(dims, n) + 1))

    return count(0, d)


def _check_widths(widths: Sequence[int], d: int | None) -> tuple[tuple[int, ...], int]:
    if not isinstance(widths, Iterable) or getattr(widths, "ndim", 1) == 0:
        raise InputError("widths", "be a list of positive integers", repr(widths))
    numbers = tuple(widths) if d is None else (d, *widths)
    if not all(isinstance(n, int | np.integer) and n >= 1 for n in numbers):
        raise InputError("widths", "be a list of positive integers", f"{list(widths)} with d = {d}")
    if d is None and len(numbers) < 2:
        raise InputError(
            "widths", "be the input, hidden and output widths, at least two numbers, without d", f"{list(widths)}"
        )
    first, *rest = (int(n) for n in numbers)
    return tuple(rest[:-1] if d is None else rest), first
