"""Kinds of values, each said in words and as a test: of arguments, and of what a file may hold.

A file may be damaged or forged. ``check_entries`` compares the entries of a record that was read with their kinds, and
``expect`` checks what else must hold; both raise ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from operator import index
from typing import Any, NamedTuple

import numpy as np


class Kind(NamedTuple):
    """What values are allowed: in words, and as a test."""

    words: str
    allows: Callable[[Any], bool]


def _is_integer(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and abs(index(value)) < 2**64
    except (TypeError, ValueError, RuntimeError):
        return False


BOOL = Kind("True or False", lambda value: isinstance(value, bool | np.bool_))
INTEGER = Kind("an integer of at most 64 bits", _is_integer)
COUNT = Kind("a count", lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63)
NUMBER = Kind("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool))
STRING = Kind("a string", lambda value: isinstance(value, str))
DICT = Kind("a dict", lambda value: isinstance(value, Mapping))
NONE = Kind("None", lambda value: value is None)


def any_of(*kinds: Kind) -> Kind:
    """Return the kind of values that one of several kinds allows."""
    words = dict.fromkeys(kind.words for kind in kinds)
    return Kind(" or ".join(words), lambda value: any(kind.allows(value) for kind in kinds))


def optional(kind: Kind) -> Kind:
    """Return the kind of values that may also be None."""
    return any_of(kind, NONE)


def instance(name: str) -> Kind:
    """Return the kind of instances of a class, which is known by its name: importing it can take seconds."""
    return Kind(f"a {name}", lambda value: any(base.__name__ == name for base in type(value).__mro__))


def choice(*values: str) -> Kind:
    """Return the kind of texts that are one of several."""
    return Kind(f"one of {', '.join(map(repr, values))}", lambda value: isinstance(value, str) and value in values)


def sequence(entry: Kind | None = None, length: int | None = None) -> Kind:
    """Return the kind of sequences, and of arrays: with entries of a kind, and of a length, if these are given."""
    words = "a sequence" if length is None else f"a sequence of {length}"
    if entry is not None:
        words += f" of entries that are each {entry.words}" if length is None else f", each {entry.words}"

    def allows(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
            return False
        if not hasattr(value, "__len__"):  # an iterator, which can be read only once
            return length is None
        if length is not None and len(value) != length:
            return False
        return entry is None or all(entry.allows(part) for part in value)

    return Kind(words, allows)


def list_of(entry: Kind) -> Kind:
    """Return the kind of lists, as JSON has them, with entries of a kind."""
    words = f"a list of entries that are each {entry.words}"
    return Kind(words, lambda value: isinstance(value, list) and all(map(entry.allows, value)))


def dict_of(entry: Kind) -> Kind:
    """Return the kind of dicts with values of a kind."""
    words = f"a dict of values that are each {entry.words}"
    return Kind(words, lambda value: isinstance(value, dict) and all(map(entry.allows, value.values())))


def finite(*shape: int | None) -> Kind:
    """Return the kind of arrays of finite numbers, of a shape; None stands for any length."""

    def allows(value: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != len(shape) or value.dtype.kind not in "fiu":
            return False
        fits = all(n is None or n == m for n, m in zip(shape, value.shape, strict=True))
        return fits and bool(np.isfinite(value).all())

    return Kind(f"{' x '.join('n' if n is None else str(n) for n in shape)} finite numbers", allows)


def check_entries(record: Any, where: str, **kinds: Kind) -> None:
    """Raise ValueError where an entry of a dict, or an attribute of an object, is missing or not of its kind.

    >>> check_entries({"epoch": 3, "loss": "low"}, "epoch 3", epoch=COUNT, loss=NUMBER)
    Traceback (most recent call last):
    ValueError: the loss of epoch 3 must be a number, got 'low'
    """
    for name, kind in kinds.items():
        try:
            value = record[name] if isinstance(record, Mapping) else getattr(record, name)
        except (KeyError, AttributeError):
            raise ValueError(f"{where} has no {name!r}") from None
        if not kind.allows(value):
            raise ValueError(f"the {name} of {where} must be {kind.words}, got {value!r:.60}")


def expect(holds: bool, otherwise: str) -> None:
    """Raise ValueError unless a fact holds."""
    if not holds:
        raise ValueError(otherwise)


is_number, is_count = NUMBER.allows, COUNT.allows
