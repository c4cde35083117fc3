"""Rooms are entered through their doors; the check that says so fails when one is passed by."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Names of all doors together; to add one, take another away.
MOST_NAMES = 426


def check(root):
    """Run the check in a copy of the repository; its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, str(root / "tools" / "check_doors.py")], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


@pytest.fixture
def copy(tmp_path):
    """One room and the check, to break it."""
    for name in ("src/creases/prune", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.thorough  # make lint runs the same check
def test_every_import_of_the_repository_goes_through_a_door():
    code, output = check(ROOT)
    assert code == 0, output


def test_a_deep_import_from_another_room_is_refused(copy):
    module = copy / "src" / "creases" / "prune" / "_deep_import.py"
    module.write_text("from creases.network._network import Network\n")
    code, output = check(copy)
    assert code == 1
    assert "creases.network._network.Network, which is private to network" in output


def test_a_deep_import_inside_a_function_is_refused(copy):
    module = copy / "src" / "creases" / "prune" / "_deep_import.py"
    module.write_text("def f():\n    import creases.regions._cell\n")
    assert check(copy)[0] == 1


def test_a_private_attribute_of_another_rooms_class_is_refused(copy):
    other = copy / "src" / "creases" / "other"
    other.mkdir()
    (other / "__init__.py").write_text("class Model:\n    def _outputs(self):\n        return self._outputs\n")
    module = copy / "src" / "creases" / "prune" / "_reader.py"
    module.write_text("def f(model):\n    return model._outputs()\n")
    code, output = check(copy)
    assert code == 1
    assert "_reader.py:2: reads _outputs, which is private to other" in output
    assert output.count("reads _outputs") == 1


def test_a_rooms_own_modules_may_be_imported_inside_it(copy):
    module = copy / "src" / "creases" / "prune" / "_shallow_import.py"
    module.write_text("from creases.network import Network\nfrom creases.prune import _exact\n")
    assert check(copy)[0] == 0


@pytest.mark.parametrize("line", ["import creases", "from creases import problems", "from creases import read"])
def test_importing_the_package_inside_itself_is_refused(copy, line):
    (copy / "src" / "creases" / "prune" / "_circle.py").write_text(f"{line}\n")
    code, output = check(copy)
    assert code == 1
    assert "imports creases itself" in output


def test_importing_the_reproduction_inside_the_package_is_refused(copy):
    (copy / "src" / "creases" / "prune" / "_upward.py").write_text("from creases_reproduction import claim\n")
    code, output = check(copy)
    assert code == 1
    assert "knows nothing of the reproduction" in output


def test_a_function_that_shadows_its_module_is_refused(copy):
    room = copy / "src" / "creases" / "shadow"
    room.mkdir()
    (room / "bend.py").write_text("def bend():\n    pass\n")
    (room / "__init__.py").write_text('from creases.shadow.bend import bend\n\n__all__ = ["bend"]\n')
    code, output = check(copy)
    assert code == 1
    assert "exports bend, which shadows the module of that name" in output
    assert "neither private" in output


def public_names() -> dict[str, list[str]]:
    """Return the names of every door: of each package whose path has no part that is private."""
    doors = {}
    for path in sorted((ROOT / "src" / "creases").rglob("__init__.py")):
        parts = path.parent.relative_to(ROOT / "src").parts
        if not any(part.startswith("_") for part in parts):
            doors[".".join(parts)] = getattr(import_module(".".join(parts)), "__all__", [])
    return doors


def test_public_names_are_few():
    doors = public_names()
    counts = {name: len(names) for name, names in doors.items()}
    assert sum(counts.values()) <= MOST_NAMES, counts
