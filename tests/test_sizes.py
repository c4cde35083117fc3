"""No room has more lines than the ceiling that ``pyproject.toml`` gives it; ``make lint`` checks it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

spec = importlib.util.spec_from_file_location("sizes", ROOT / "tools" / "sizes.py")
assert spec is not None
assert spec.loader is not None
sizes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sizes)

ROOM = '''"""A room."""


def answer(x):
    """Return the answer,

    which is a number.
    """
    # six times seven
    y = x * 6

    return y * 7
'''


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house of one room with 12 lines, a ground of one and a test of two."""
    for path, text in (
        ("src/creases/room/__init__.py", ROOM),
        ("src/creases/_text.py", "x = 1\n"),
        ("tests/t.py", "\n\n"),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def write_ceilings(house: Path, **ceilings: int) -> None:
    lines = "".join(f"{room} = {lines}\n" for room, lines in ceilings.items())
    (house / "pyproject.toml").write_text(f"[tool.creases.sizes]\n{lines}")


def test_a_room_at_its_ceiling_passes_and_one_line_more_fails(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_ceilings(house, room=12, ground=1, tests=2)
    assert sizes.main(house) == 0
    with (house / "src/creases/room/__init__.py").open("a") as file:
        file.write("x = 1\n")
    capsys.readouterr()
    assert sizes.main(house) == 1
    assert "room: has 13 lines, 1 above its ceiling" in capsys.readouterr().out


def test_rooms_and_ceilings_belong_together(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_ceilings(house, room=12, ground=1)
    assert sizes.main(house) == 1
    assert "tests: has no ceiling" in capsys.readouterr().out
    write_ceilings(house, room=12, ground=1, tests=2, cellar=5)
    assert sizes.main(house) == 1
    assert "cellar: has a ceiling but no files" in capsys.readouterr().out


def test_code_is_neither_blank_nor_comment_nor_docstring() -> None:
    assert sizes.measure(ROOM) == (12, 3, [2])
