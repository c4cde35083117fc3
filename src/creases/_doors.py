"""Doors whose names are imported on first use: torch, numba, scikit-learn and matplotlib take seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def open_on_use(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, which imports a name from the module in it that has it.

    Parameters
    ----------
    package
        Name of the package.
    homes
        The names that each module provides; modules by their names in the package.
    """
    home_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(home_of[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
