"""The modules of a room import each other in one direction only, lazy and type-checking imports included."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = (
    "_engines", "_program", "boolean", "certify", "cli", "compare", "explain", "growth", "lab", "network", "problems",
    "prune", "regions", "show", "splines", "tables",
)  # fmt: skip


def room_modules(room: str) -> dict[str, Path]:
    """Return the modules of a room by dotted name."""
    modules = {}
    for path in sorted((SOURCE / "creases" / room).rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imported_modules(path: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules of the same room that a file imports, anywhere in it."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported |= {name if name in modules else node.module for name in names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & set(modules)


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_the_modules_of_a_room_form_no_cycle(room: str) -> None:
    modules = room_modules(room)
    graph = {name: imported_modules(path, modules) for name, path in modules.items()}
    assert sum(map(len, graph.values())) >= len(modules) - 1  # the imports were found
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))
