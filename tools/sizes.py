"""Check that no room has more lines than its ceiling in ``pyproject.toml``.

    python tools/sizes.py [ROOT]

``[tool.creases.sizes]`` names for each room of ``src/creases``, for ``tests`` and for ``ground`` (what lies in
``src/creases`` outside the rooms) the most lines of Python that it may have. Ceilings only go down: the commit that
makes a room smaller lowers its ceiling. Printed beside the lines are lines of code (neither blank, comment nor
docstring), functions, and the median number of lines in a function's body.
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

#: Tokens that do not make a line a line of code.
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    """What a file holds."""

    lines: int
    code: int
    bodies: list[int]  # lines of code of each function's body


def measure(text: str) -> Size:
    """Return the size of a Python file's text."""
    tree = ast.parse(text)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTION, ast.ClassDef, ast.Module)) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    code -= docstrings
    bodies = [
        len(code.intersection(range(node.body[0].lineno, (node.end_lineno or 0) + 1)))
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION)
    ]
    return Size(text.count("\n"), len(code), bodies)


def rooms(root: Path) -> dict[str, list[Path]]:
    """Return the Python files of each room, of the ground and of the tests."""
    package = root / "src" / "creases"
    files: dict[str, list[Path]] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        files.setdefault("ground" if len(parts) == 1 or parts[0].startswith("_") else parts[0], []).append(path)
    return {**files, "tests": sorted((root / "tests").rglob("*.py"))}


def main(root: Path) -> int:
    """Print the size of every room; 1 if one is above its ceiling or has none, or a ceiling has no room."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    ceilings: dict[str, int] = pyproject["tool"]["creases"]["sizes"]
    files = rooms(root)
    problems = [f"{room}: has a ceiling but no files" for room in sorted(ceilings.keys() - files.keys())]
    print(f"{'room':10} {'lines':>7} {'ceiling':>7} {'code':>7} {'functions':>9} {'median body':>11}")
    for room, paths in files.items():
        sizes = [measure(path.read_text(encoding="utf-8")) for path in paths]
        lines, ceiling = sum(size.lines for size in sizes), ceilings.get(room)
        bodies = [body for size in sizes for body in size.bodies]
        median = statistics.median(bodies) if bodies else 0
        code = sum(size.code for size in sizes)
        print(f"{room:10} {lines:7,} {ceiling or 0:7,} {code:7,} {len(bodies):9,} {median:11g}")
        if ceiling is None:
            problems.append(f"{room}: has no ceiling in [tool.creases.sizes] of pyproject.toml; its size is {lines}")
        elif lines > ceiling:
            problems.append(f"{room}: has {lines:,} lines, {lines - ceiling:,} above its ceiling; make it smaller")
    print("\n".join(problems) or "no room is above its ceiling")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT))
