"""Checks of arguments by the annotations of a public function, for those that it would use without looking at them."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from inspect import signature, unwrap
from numbers import Real
from operator import index
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from creases.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])


class Kind(NamedTuple):
    """What values an annotation allows: in words, and as a test."""

    words: str
    allows: Callable[[Any], bool]


def check_arguments(*names: str) -> Callable[[F], F]:
    """Return a decorator that checks some arguments of a function by their annotations.

    ``bool``, ``int`` (of 64 bits), ``float``, ``str``, paths, literals (by type), classes, callables, mappings,
    sequences and unions of these are checked; what a function checks better by itself need not be named.

    >>> from creases._arguments import check_arguments
    >>> @check_arguments("loud")
    ... def say(text: str, loud: bool = False) -> str:
    ...     return text.upper() if loud else text
    >>> say("no", loud="no")
    Traceback (most recent call last):
    creases.errors.InputError: loud must be True or False, got 'no'
    """

    def decorate(function: F) -> F:
        parameters = signature(function).parameters
        positions = {name: i for i, name in enumerate(parameters) if name in names}
        assert positions.keys() == set(names), f"{function.__qualname__} lacks one of {names}"

        @cache  # on the first call: annotations may name classes that are defined below
        def kinds() -> dict[str, Kind | None]:
            inner = unwrap(function)
            part = SimpleNamespace(__annotations__={name: inner.__annotations__[name] for name in names})
            hints = get_type_hints(part, localns=_Names(vars(builtins) | inner.__globals__))
            return {name: _kind(hint) for name, hint in hints.items()}

        @wraps(function)
        def check_and_call(*args: Any, **kwargs: Any) -> Any:
            for name, kind in kinds().items():
                at = positions[name]
                if at < len(args):
                    _check(args[at], kind, name)
                elif name in kwargs:
                    _check(kwargs[name], kind, name)
            return function(*args, **kwargs)

        return check_and_call  # type: ignore[return-value]

    return decorate


def _check(value: Any, kind: Kind | None, name: str) -> None:
    if kind is not None and not kind.allows(value):
        raise InputError(name, f"be {kind.words}", _describe(value))


def _describe(value: Any) -> str:
    """Return a short text of a value: itself if it is short, else its type and shape."""
    if isinstance(value, str | int | float | None):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:56]} ..."
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {tuple(shape)}"


# -- annotations ------------------------------------------------------------------------------------------------------


class _ByName(type):
    """The type of stand-ins for classes that a module imports for type checkers only: they are known by their names."""

    def __instancecheck__(cls, value: Any) -> bool:
        return any(base.__name__ == cls.__name__ for base in type(value).__mro__)


class _Names(dict[str, Any]):
    """The names of a module, with a stand-in for each that it does not have while it runs."""

    def __missing__(self, name: str) -> Any:
        return _ByName(name, (), {})


def _kind(annotation: Any) -> Kind | None:
    """Return what an annotation allows, None if it says nothing that can be checked."""
    if annotation is None or annotation is type(None):
        return Kind("None", lambda value: value is None)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        kinds = [_kind(part) for part in parts]
        return None if None in kinds else _any_of([kind for kind in kinds if kind is not None])
    if origin is Literal:
        return _any_of(list({type(part): _kind(type(part)) for part in parts}.values()))  # type: ignore[arg-type]
    if origin is Callable or annotation is Callable:
        return Kind("a function", callable)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Kind("a dict", lambda value: isinstance(value, Mapping))
    if _is_sequence(annotation):
        return _sequence(parts)
    if isinstance(annotation, type) and not getattr(annotation, "_is_protocol", False):
        return Kind(f"a {annotation.__name__}", lambda value: isinstance(value, annotation))
    return None


def _is_sequence(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Iterable) and origin is not np.ndarray


def _sequence(parts: tuple[Any, ...]) -> Kind:
    """Return the kind of sequences with entries as given: of one kind, or of a kind for each."""
    fixed = None if len(parts) < 2 or parts[-1] is Ellipsis else len(parts)
    same = parts[:1] if fixed is None or len(set(parts)) == 1 else ()
    entry = next((_kind(part) for part in same if part in (int, float) or _is_sequence(part)), None)
    words = "a sequence" if fixed is None else f"a sequence of {fixed}"
    if entry is not None:
        words += f" of entries that are each {entry.words}" if fixed is None else f", each {entry.words}"

    def allows(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
            return False
        if not hasattr(value, "__len__"):  # an iterator, which can be read only once
            return fixed is None
        if fixed is not None and len(value) != fixed:
            return False
        return entry is None or all(entry.allows(part) for part in value)

    return Kind(words, allows)


def _any_of(kinds: list[Kind]) -> Kind:
    words = [kind.words for kind in kinds]
    return Kind(" or ".join(dict.fromkeys(words)), lambda value: any(kind.allows(value) for kind in kinds))


def _is_integer(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and abs(index(value)) < 2**64
    except (TypeError, ValueError, RuntimeError):
        return False


_PLAIN: dict[Any, Kind | None] = {
    Any: None,
    object: None,
    bool: Kind("True or False", lambda value: isinstance(value, bool | np.bool_)),
    int: Kind("an integer of at most 64 bits", _is_integer),
    float: Kind("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    str: Kind("a string", lambda value: isinstance(value, str)),
    Path: Kind("a path", lambda value: isinstance(value, PathLike)),
}
