"""Checks of arguments that many functions share; each raises :class:`creases.errors.InputError`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from creases._schema import Kind
from creases._typing import Floats
from creases.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_COUNT = 2**63 - 1  #: larger ones do not fit into arrays


def check_numbers(values: Any, name: str) -> Floats:
    """Return ``values`` as an array of float64, whatever its shape."""
    array = as_array(values, name)
    if array.dtype.kind not in "biuf":
        raise InputError(name, "be an array of numbers", f"{type(values).__name__} with entries of type {array.dtype}")
    return array.astype(np.float64, order="C")


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return ``values``, which may be a tensor, as an array of any type."""
    try:
        if hasattr(values, "detach"):  # a torch tensor
            values = values.detach().cpu()
            values = (values.double() if values.is_floating_point() else values).numpy()
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # of torch: a tensor without data
        reason = str(error).split(". ")[0]
        raise InputError(name, "be an array of numbers", f"{type(values).__name__}: {reason}") from None


def check_points(points: Any, k: int, name: str = "points") -> Floats:
    """Return points as (n, k); one point (k,) alone is a batch of one, an empty list a batch of none."""
    array = check_numbers(points, name)
    if array.shape == (0,):
        return array.reshape(0, k)
    if array.shape[-1:] != (k,) or array.ndim > 2:
        raise InputError(name, f"have shape (n, {k})", f"{array.shape}")
    return np.atleast_2d(array)


def check_index(value: Any, count: int, name: str) -> int:
    """Return ``value`` if it is an integer from 0 to ``count - 1``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 0 <= value < count:
        raise InputError(name, f"be an integer from 0 to {count - 1}", repr(value))
    return int(value)


def check_count(value: Any, name: str, *, least: int = 1) -> int:
    """Return ``value`` if it is an integer of at least ``least``."""
    expected = "be a positive integer" if least == 1 else f"be an integer, at least {least}"
    try:
        count = index(value)
    except TypeError:
        raise InputError(name, expected, repr(value)) from None
    if count < least or isinstance(value, bool):
        raise InputError(name, expected, repr(value))
    if count > _MAX_COUNT:
        raise InputError(name, f"be at most {_MAX_COUNT}", f"{count}")
    return count


def check_seed(value: Any, name: str = "seed") -> int:
    """Return ``value`` if it is an integer that random numbers can start from."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= value < 2**64
    if not good:
        raise InputError(name, "be an integer from 0 to 2^64 - 1", repr(value))
    return int(value)


def check_number(
    value: Any, name: str, *, least: float | None = None, above: float | None = None, below: float | None = None
) -> float:
    """Return ``value`` if it is a finite number within limits: at least ``least``, above ``above``, below ``below``."""
    limits = [f"{words} {limit:g}" for words, limit in (("at least", least), ("above", above), ("below", below))
              if limit is not None]  # fmt: skip
    expected = " ".join(["be a finite number", " and ".join(limits)]).strip()
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not all(
        (least is None or value >= least, above is None or value > above, below is None or value < below)
    ):
        raise InputError(name, expected, repr(value))
    return float(value)


def check_choice(value: Any, choices: Iterable[Any], name: str) -> Any:
    """Return ``value`` if it is one of the choices."""
    choices = list(choices)
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        *others, last = map(repr, choices)
        raise InputError(name, f"be {', '.join(others)}{' or ' if others else ''}{last}", repr(value))
    return value


def check_box(box: Any, n: int, name: str = "box") -> Floats:
    """Return a box as an array (n, 2): ``[(lo, hi), ...]``, or one ``(lo, hi)`` for all n inputs; never empty."""
    array = check_numbers(box, name)
    if array.shape == (2,):
        array = np.tile(array, (n, 1))
    if array.shape != (n, 2):
        raise InputError(name, f"be (lo, hi), or {n} pairs of them", f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(name, "have finite bounds", f"{array.tolist()}")
    if not (array[:, 0] < array[:, 1]).all():
        axis = int(np.flatnonzero(array[:, 0] >= array[:, 1])[0])
        raise InputError(name, "have lo < hi on every axis", f"{tuple(array[axis].tolist())} on axis {axis}")
    return array


def check_finite(values: NDArray[Any], name: str) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(values).all():
        raise InputError(name, "be finite", hint="remove NaN and infinite entries, or fill them in")


def check_vector(values: Any, name: str, length: int | None = None) -> Floats:
    """Return ``values`` as a vector of finite float64, of a given length if there is one."""
    array = check_numbers(values, name)
    if array.ndim != 1 or (length is not None and len(array) != length):
        raise InputError(name, f"have shape ({'n' if length is None else length},)", f"{array.shape}")
    if not np.isfinite(array).all():
        raise InputError(name, "be finite", f"{array[~np.isfinite(array)][0]}")
    return array


def check_column(values: Any, name: str) -> Floats:
    """Return ``values`` as a vector (n,) of finite float64; a column (n, 1) is flattened."""
    array = check_numbers(values, name)
    if array.ndim > 1 and array.shape[1:] != (1,):
        raise InputError(name, "have shape (n,) or (n, 1)", f"{array.shape}")
    return check_vector(array[:, 0] if array.ndim == 2 else array, name)


def check_samples(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Return inputs and targets of one dimension as vectors (n,) of finite float64; columns (n, 1) are flattened."""
    x, y = check_column(x, "x"), check_column(y, "y")
    if len(x) != len(y):
        raise InputError("y", "have one target per input", f"{len(y)} for {len(x)} inputs")
    if np.abs(x).max(initial=0.0) > 1e150:  # squares of distances would be infinite
        raise InputError("x", "be at most 1e150 in size", f"{np.abs(x).max():g}")
    return x, y


F = TypeVar("F", bound=Callable[..., Any])


def check_arguments(**kinds: Kind) -> Callable[[F], F]:
    """Return a decorator that checks some arguments of a function; what it checks better by itself need not be named.

    >>> from creases._validation import check_arguments
    >>> from creases._schema import BOOL
    >>> @check_arguments(loud=BOOL)
    ... def say(text: str, loud: bool = False) -> str:
    ...     return text.upper() if loud else text
    >>> say("no", loud="no")
    Traceback (most recent call last):
    creases.errors.InputError: loud must be True or False, got 'no'
    """

    def decorate(function: F) -> F:
        parameters = [*signature(function).parameters]
        assert kinds.keys() <= set(parameters), f"{function.__qualname__} lacks one of {tuple(kinds)}"

        @wraps(function)
        def check_and_call(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(parameters, args, strict=False)) | kwargs
            for name in [name for name in kinds if name in given]:
                check_argument(given[name], kinds[name], name)
            return function(*args, **kwargs)

        return check_and_call  # type: ignore[return-value]

    return decorate


def check_argument(value: Any, kind: Kind, name: str) -> None:
    """Refuse a value that is not of a kind."""
    if not kind.allows(value):
        raise InputError(name, f"be {kind.words}", _describe(value))


def _describe(value: Any) -> str:
    """Return a short text of a value: itself if it is short, else its type and shape."""
    if isinstance(value, str | int | float | None):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:56]} ..."
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {tuple(shape)}"
