"""Check that rooms are entered through their doors only.

    python tools/check_doors.py [FOLDER ...]

A room is a package right below ``creases``. Its door is its ``__init__``; packages in it whose names have no leading
underscore are sub-doors. A module or package with a leading underscore is private to the room: only files of the same
room may import it; tests and benchmarks may look inside. What is right below ``creases`` and starts with an underscore
(``_typing``, ``_validation``, ``_program``, ...) is shared by all rooms. Also refused inside the package: ``import
creases`` (a circle) and the reproduction; and a name of a door that shadows a module, and a module of a room that is
neither private nor a door; and a private attribute of another room's classes.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "creases"
FOLDERS = ("src/creases", "reproduction/creases_reproduction", "docs")

#: Rooms whose modules need not be private: each command is a module, and `console` is for commands of other packages.
OPEN = ("cli",)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything a file imports; for ``from a import b`` the name is ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "creases":
                yield node.lineno, "creases"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def room_of(path: Path) -> str | None:
    """Return the room a file is in, ``""`` for the ground, None for a file outside the package."""
    if not path.is_relative_to(PACKAGE):
        return None
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def violations_of_imports(path: Path) -> Iterator[str]:
    """Yield every import of a file that does not go through a door."""
    room = room_of(path)
    for line, name in imported(parse(path)):
        parts = name.split(".")
        if parts[0] == "creases_reproduction" and room is not None:
            yield f"{path}:{line}: imports {name}; the package knows nothing of the reproduction"
        if parts[0] != "creases":
            continue
        if parts == ["creases"] and room is not None:
            yield f"{path}:{line}: imports creases itself from inside the package; import the room's door"
        private = [k for k, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
        if private and private[0] >= 2 and parts[1] != room:
            yield f"{path}:{line}: imports {name}, which is private to {parts[1]}; export it from a door"


def violations_of_layout() -> Iterator[str]:
    """Yield every module that is neither private nor a door, and every door's name that shadows a module."""
    for room in sorted(path for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()):
        if room.name in OPEN:
            continue
        for path in sorted(room.rglob("*.py")):
            inside = path.relative_to(room).parts
            if not any(part.startswith("_") for part in inside):
                yield f"{path}: is neither private (a leading underscore) nor a package's door"
        for door in sorted(room.rglob("__init__.py")):
            beside = {path.stem for path in door.parent.iterdir() if path.suffix == ".py" or path.is_dir()}
            for name in sorted(exported(door) & beside):
                if not (door.parent / name).is_dir() or imports_function(door, name):
                    yield f"{door}: exports {name}, which shadows the module of that name"


def violations_of_attributes() -> Iterator[str]:
    """Yield every private attribute that a room reads, and that only classes of other rooms have."""
    homes: dict[str, set[str]] = {}
    read: list[tuple[Path, ast.Attribute]] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                    homes.setdefault(node.attr, set()).add(str(room_of(path)))
                else:
                    read.append((path, node))
            elif isinstance(node, ast.ClassDef):
                fields = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
                names = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
                for name in [*names, *(each.id for each in fields if isinstance(each, ast.Name))]:
                    homes.setdefault(name, set()).add(str(room_of(path)))
    for path, node in read:
        rooms = homes.get(node.attr, set())
        if rooms and room_of(path) not in rooms:
            yield f"{path}:{node.lineno}: reads {node.attr}, which is private to {', '.join(sorted(rooms))}"


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def exported(door: Path) -> set[str]:
    """Return the names in a door's ``__all__``, or those that it imports on first use: ``from a import b as b``."""
    for node in parse(door).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return set(ast.literal_eval(node.value))
    imports = [node for node in ast.walk(parse(door)) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in imports for alias in node.names if alias.asname == alias.name}


def imports_function(door: Path, name: str) -> bool:
    """Return whether a door has a name from one of its modules, rather than the sub-door of that name."""
    package = ".".join(door.parent.relative_to(PACKAGE.parent).parts)
    return any(
        isinstance(node, ast.ImportFrom) and node.module != package and any(alias.name == name for alias in node.names)
        for node in parse(door).body
    )


def main(folders: list[str]) -> int:
    """Print every violation; 1 if there is one."""
    found = [*violations_of_layout(), *violations_of_attributes()]
    for folder in folders or FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found += violations_of_imports(path)
    print("\n".join(found) or "every import goes through a door, and no room reads what is private to another")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
