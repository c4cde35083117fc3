"""Whether an estimator's parameters are what they can be: asked in fitting, as scikit-learn wants it."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from creases.errors import InputError
from creases.growth.methods._registry import resolve_method


def check_parameters(given: Mapping[str, Any]) -> None:
    """Refuse parameters (those of ``get_params``) that make no sense; the message names the first."""
    resolve_method(given["how"])
    hidden_widths(given["hidden"], 1)
    for name in ("max_epochs", "patience", "growth_patience"):
        _check(name, given[name], _whole(given[name]), "a whole number, at least 1")
    for name in ("max_units", "max_parameters"):
        _check(name, given[name], given[name] is None or _whole(given[name]), "None or a whole number, at least 1")
    size = given["batch_size"]
    good = size is None or (isinstance(size, str) and size == "auto") or _whole(size)
    _check("batch_size", size, good, "'auto', None (all rows) or a whole number, at least 1")
    infinity = float("inf")
    decay = given["weight_decay"]
    _check("weight_decay", decay, _real(decay) and 0 <= decay < infinity, "a number, at least 0")
    _check("lr", given["lr"], _real(given["lr"]) and 0 < given["lr"] < infinity, "a number above 0")
    share = given["validation_fraction"]
    _check("validation_fraction", share, _real(share) and 0 < share < 1, "a share between 0 and 1")


def hidden_widths(hidden: Any, outputs: int) -> tuple[int, ...]:
    """Widths of the hidden layers; "auto" is two units for each output, so that any linear map fits."""
    if isinstance(hidden, str) and hidden == "auto":
        return (2 * outputs,)
    try:
        found = (hidden,) if isinstance(hidden, Integral) else tuple(hidden)
    except TypeError:
        found = ()
    good = bool(found) and all(map(_whole, found))
    _check("hidden", hidden, good, "'auto', or widths of hidden layers such as (2,), each at least 1")
    return tuple(map(int, found))


def _check(name: str, value: Any, good: bool, expected: str) -> None:
    if not good:
        raise InputError(f"{name}: expected {expected}, got {value!r}")


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
