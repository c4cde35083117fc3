"""Checks of arguments of public functions, for those that a function would use without looking at them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from creases._schema import Kind
from creases.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])


def check_arguments(**kinds: Kind) -> Callable[[F], F]:
    """Return a decorator that checks some arguments of a function; what it checks better by itself need not be named.

    >>> from creases._arguments import check_arguments
    >>> from creases._schema import BOOL
    >>> @check_arguments(loud=BOOL)
    ... def say(text: str, loud: bool = False) -> str:
    ...     return text.upper() if loud else text
    >>> say("no", loud="no")
    Traceback (most recent call last):
    creases.errors.InputError: loud must be True or False, got 'no'
    """

    def decorate(function: F) -> F:
        positions = {name: i for i, name in enumerate(signature(function).parameters) if name in kinds}
        assert positions.keys() == kinds.keys(), f"{function.__qualname__} lacks one of {tuple(kinds)}"

        @wraps(function)
        def check_and_call(*args: Any, **kwargs: Any) -> Any:
            for name, at in positions.items():
                if at < len(args):
                    _check(args[at], kinds[name], name)
                elif name in kwargs:
                    _check(kwargs[name], kinds[name], name)
            return function(*args, **kwargs)

        return check_and_call  # type: ignore[return-value]

    return decorate


def _check(value: Any, kind: Kind, name: str) -> None:
    if not kind.allows(value):
        raise InputError(name, f"be {kind.words}", _describe(value))


def _describe(value: Any) -> str:
    """Return a short text of a value: itself if it is short, else its type and shape."""
    if isinstance(value, str | int | float | None):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:56]} ..."
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {tuple(shape)}"
