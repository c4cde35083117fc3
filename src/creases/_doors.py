"""Doors whose names are imported on first use: torch, numba, scikit-learn and matplotlib take seconds."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def open_on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, by the list of names that type checkers read.

    That list is the imports below ``if TYPE_CHECKING:`` in its ``__init__``, the only place where names are listed.
    """
    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_bytes())
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    home_of = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(home_of[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(home_of), sorted(home_of)
