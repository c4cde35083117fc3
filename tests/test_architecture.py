"""ARCHITECTURE.md and CONTRIBUTING.md name what is there: the tree is the folders, and every file named exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "creases"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
TREE = ARCHITECTURE.split("```")[1]
ENGINE = ARCHITECTURE.split("## The engine of growth")[1].split("## Invariants")[0]


def folders(path: Path) -> set[str]:
    """Return the names of the packages in a folder."""
    return {child.name for child in path.iterdir() if (child / "__init__.py").exists()}


def rooms() -> dict[str, str]:
    """Return the tree's text for each room."""
    lines = [line.split(maxsplit=1) for line in TREE.splitlines() if re.match(r"  \w+/ ", line)]
    return {name.rstrip("/"): text for name, text in lines}


def test_the_tree_has_every_room_and_no_other():
    assert set(rooms()) == folders(PACKAGE)


@pytest.mark.parametrize("room", sorted(folders(PACKAGE)))
def test_the_tree_has_every_folder_of_a_room_and_no_other(room):
    assert set(re.findall(r"\b(\w+)/", rooms()[room])) == folders(PACKAGE / room)


def test_the_tree_has_every_module_beside_the_rooms():
    line = next(line for line in TREE.splitlines() if line.startswith("  errors.py"))
    there = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert set(re.findall(r"\w+\.py", line)) == there


def test_the_engine_of_growth_names_files_that_exist_and_leaves_none_out():
    cells = re.findall(r"^\| (`.*?) \|", ENGINE, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`([\w/.]+)`", cell)]
    growth, paths, folder = PACKAGE / "growth", set(), ""
    for name in named:
        folder = name.rpartition("/")[0] or folder  # `methods/_tiny`, `_gradmax.py`: the second is beside the first
        options = [PACKAGE / name, growth / name, growth / folder / name]
        there = [path for path in options if path.exists()]
        assert there, name
        paths |= {path for option in there for path in ([option] if option.is_file() else option.rglob("*.py"))}
    left_out = set(growth.rglob("*.py")) - paths
    assert {path.relative_to(growth).as_posix() for path in left_out if path.name != "__init__.py"} == set()


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_a_page_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    bases = (ROOT, ROOT / "src", PACKAGE, PACKAGE / "growth", ROOT / "reproduction")
    for name in set(re.findall(r"`((?:\w+/)+[\w.]+\.(?:py|md|json))`", text)):
        assert any((base / name).exists() for base in bases), name
