"""Fingerprints of claims: digests of the code and tables that results depend on, so that outdated ones are noticed."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import creases
from creases_reproduction.catalogue import module_of
from creases_reproduction.claim import Claim

PACKAGE = "creases_reproduction"
ROOT = Path(__file__).parent

#: Rooms of the library that print and draw: no result depends on them.
DISPLAY = ("cli", "show")


def fingerprint(claim: Claim) -> str:
    """Return a digest of the modules that measure a claim, of the tables they name, and of the library."""
    measure: Any = claim.measure
    starts = {module_of(claim.id), getattr(measure, "func", measure).__module__ if measure else ""}
    files = {path for name in starts if name.startswith(f"{PACKAGE}.") for path in imported_files(name, ROOT)}
    return digest([*sorted(files), *named_tables(files, ROOT / "results")]) + _library()


@cache
def imported_files(module: str, root: Path) -> frozenset[Path]:
    """Return the files of a module of the package at ``root`` and of all modules of the package it imports."""
    files: set[Path] = set()
    waiting = [module]
    while waiting:
        path = _file(waiting.pop(), root)
        if path is not None and path not in files:
            files.add(path)
            waiting += _imports(path.read_text(encoding="utf-8"))
    return frozenset(files)


def named_tables(files: set[Path], folder: Path) -> list[Path]:
    """Return the tables of a folder whose names, without what follows the dot, are in the text of some files."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return sorted(path for path in folder.iterdir() if path.is_file() and path.stem in text)


def digest(files: list[Path]) -> str:
    """Return a digest of the names and contents of files."""
    state = blake2b(digest_size=8)
    for path in files:
        state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()


@cache
def _library() -> str:
    root = Path(creases.__file__).parent
    return digest(sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in DISPLAY))


def _file(module: str, root: Path) -> Path | None:
    """Return the file of a module by its full name; None for a name that is no module of the package."""
    package, *parts = module.split(".")
    if package != PACKAGE:
        return None
    path = root.joinpath(*parts)
    return next((item for item in (path.with_suffix(".py"), path / "__init__.py") if item.is_file()), None)


def _imports(source: str) -> list[str]:
    """Return the names that a source may import as modules, also inside functions."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{item.name}" for item in node.names)]
    return names
