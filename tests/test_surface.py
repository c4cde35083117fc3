"""The public surface as users and their tools meet it: typed, picklable, quick to import, without the reproduction."""

import importlib
import inspect
import pickle
import subprocess
import sys
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
import torch

import creases
from creases import tables
from creases._text import OneLine

ROOT = Path(__file__).parents[1]

USER = """
import torch
import creases

model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
X, y = torch.randn(100, 2), torch.randint(2, (100,))
result = creases.grow(model, (X, y), "classification", how="fold", budget=3)
grown: torch.nn.Module = result.model
print(result.history.explain(), creases.plane(model, box=(-1, 1)).count, creases.__version__.upper())
estimator = creases.TableClassifier(random_state=0).fit(X.numpy(), y.numpy())
print(estimator.predict(X.numpy()))
"""


def loaded_by(*words):
    """Modules that a fresh interpreter has loaded after some words of the command line, or ``-c CODE``."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


HEAVY = {"torch", "numba", "sklearn", "scipy", "pandas", "matplotlib", "numpy"}


def test_grow_is_an_ordinary_function_with_a_signature_that_can_be_pickled():
    assert inspect.isfunction(creases.grow)
    assert list(inspect.signature(creases.grow).parameters)[:2] == ["model", "data"]
    assert not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(creases.grow).parameters.values())
    assert pickle.loads(pickle.dumps(creases.grow)) is creases.grow


@pytest.mark.thorough
def test_a_users_file_passes_mypy(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "/dev/null", "--follow-imports", "silent"]
    done = subprocess.run([*command, "user.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_importing_creases_imports_nothing_heavy():
    assert not loaded_by("-c", "import creases") & HEAVY


def test_the_overview_of_the_command_line_imports_nothing_heavy():
    assert not loaded_by("-m", "creases", "--help") & HEAVY


@pytest.mark.slow
@pytest.mark.parametrize("command", ["studio", "report", "animate"])
def test_the_help_of_a_command_imports_no_torch(command):
    assert not loaded_by("-m", "creases", command, "--help") & {"torch", "numba", "sklearn", "matplotlib"}


@pytest.mark.thorough
def test_the_wheel_has_no_reproduction_in_it(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("creases-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name == "creases/py.typed" for name in names)
    assert not [name for name in names if "reproduc" in name or "/results/" in name]


@pytest.mark.parametrize(("kind", "most"), [(tables.TableModel, 23), (tables.GrownModel, 25)])
def test_a_model_of_a_table_has_few_public_names(kind, most):
    names = {*dir(kind), *(each.name for each in fields(kind))}
    public = sorted(name for name in names if not name.startswith("_"))
    assert len(public) <= most, public


def _public_results():
    """Data classes behind all doors that hold arrays or long lists, but for options and running states."""
    doors = [creases.__name__ + "." + ".".join(path.parent.relative_to(ROOT / "src/creases").parts)
             for path in sorted((ROOT / "src/creases").glob("[a-z]*/**/__init__.py"))]  # fmt: skip
    doors = [door for door in doors if "._" not in door and ".cli" not in door]
    for door in doors:
        module = importlib.import_module(door)
        for name in getattr(module, "__all__", ()):
            kind = getattr(module, name)
            if (
                inspect.isclass(kind)
                and is_dataclass(kind)
                and not name.endswith(("Config", "Settings", "State", "Evidence"))
            ) and any(
                word in str(each.type) for each in fields(kind) for word in ("Floats", "Ints", "NDArray", "Tensor")
            ):
                yield kind


def test_every_result_with_arrays_prints_in_one_line():
    for kind in set(_public_results()):
        is_own = issubclass(kind, OneLine) or "def __repr__" in "".join(
            inspect.getsource(base) for base in kind.__mro__[:-1]
        )
        assert is_own, f"print({kind.__name__}(...)) writes out every number: derive it from OneLine"
    cell = creases.cell(
        torch.nn.Sequential(torch.nn.Linear(2, 40), torch.nn.ReLU(), torch.nn.Linear(40, 2)), [0.0, 0.0]
    )
    assert str(cell) == repr(cell)
    assert "\n" not in repr(cell)
    assert len(repr(cell)) < 250
