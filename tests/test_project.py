"""Facts about the package as a whole: its names, its layering, what importing it costs."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path

import pytest

import creases
from creases import certify
from creases.certify import proofs

ROOT = Path(__file__).parents[1]


def loaded_by(code):
    """Modules that are loaded after running code in a fresh interpreter."""
    code += "\nimport json, sys; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_every_exported_name_exists_and_is_documented():
    assert len(set(creases.__all__)) == len(creases.__all__)
    for name in creases.__all__:
        assert getattr(creases, name).__doc__, name


@pytest.mark.parametrize(
    "room", ["boolean", "compare", "explain", "growth", "lab", "network", "problems", "prune", "regions", "splines"]
)
def test_every_name_of_a_room_exists_and_is_documented(room):
    module = import_module(f"creases.{room}")
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for value in (getattr(module, name) for name in module.__all__):
        assert value.__doc__ or not (isclass(value) or isfunction(value)), value


def test_importing_creases_loads_no_compiler_and_no_plotting():
    loaded = loaded_by("import creases")
    assert not loaded & {"numba", "llvmlite", "matplotlib", "networkx.classes", "onnx", "typer", "rich", "sklearn"}


@pytest.mark.slow
def test_verifying_begins_without_a_solver():
    assert "scipy" not in loaded_by("import creases.certify.properties")


def test_a_proof_is_checked_without_a_solver_or_tables(tmp_path):
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])
    net.save(tmp_path / "net.onnx")
    proofs.save_proof(certify.holds(net, (-0.5, 0.75), never=1).proof, tmp_path / "proof.json")
    code = "from typer.testing import CliRunner\nfrom creases.cli import app\n"
    code += f"assert CliRunner().invoke(app, ['check', {str(tmp_path / 'proof.json')!r}, "
    code += f"{str(tmp_path / 'net.onnx')!r}]).exit_code == 0"
    assert not loaded_by(code) & {"scipy", "sklearn", "pandas"}


@pytest.mark.thorough
def test_growth_does_not_load_the_compiler_of_torch():
    code = "from creases import problems, tables\nfrom creases.growth import GrowthConfig\n"
    code += "tables.Experiment.from_problem(problems.get('moons', n=40), GrowthConfig(budget=12, when=4)).run()"
    loaded = loaded_by(code)
    assert "torch" in loaded
    assert not loaded & {"torch._dynamo", "sympy"}


def test_the_process_that_serves_the_studio_loads_no_torch_and_no_plotting():
    pytest.importorskip("uvicorn")
    assert not loaded_by("import creases.show.studio") & {"torch", "sklearn", "matplotlib", "pandas", "numba"}


def test_help_loads_no_library_that_it_does_not_show():
    code = "from typer.testing import CliRunner\nfrom creases.cli import app\n"
    code += "assert CliRunner().invoke(app, ['grow', '--help']).exit_code == 0"
    assert not loaded_by(code) & {"torch", "sklearn", "pandas", "pydantic.main", "rich.progress"}


@pytest.mark.slow
def test_creases_can_be_imported_and_read_without_numba():
    code = "import sys; sys.modules['numba'] = None\nimport creases\ncreases.read([([[1.0]], [0.0])])"
    assert "creases" in loaded_by(code)


@pytest.mark.slow
def test_importing_creases_prints_nothing_and_leaves_the_random_state_alone():
    code = (
        "import torch, numpy as np\n"
        "before = torch.random.get_rng_state(), np.random.get_state()[1].tolist()\n"
        "import creases, creases.cli, creases.show\n"
        "assert torch.equal(before[0], torch.random.get_rng_state())\n"
        "assert before[1] == np.random.get_state()[1].tolist()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_arrows_between_the_rooms_go_one_way():
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_the_layout_is_typed():
    assert (ROOT / "src" / "creases" / "py.typed").is_file()


@pytest.mark.thorough
def test_kernels_are_cached_for_the_user_where_the_package_is_read_only(tmp_path):
    """numba caches beside the source; where it may not write there, it takes the user's cache folder."""
    package = tmp_path / "site" / "creases"
    shutil.copytree(ROOT / "src" / "creases", package, ignore=shutil.ignore_patterns("__pycache__"))
    (
        package / "regions" / "_plane" / "__pycache__"
    ).touch()  # a file in its place: no one may write there, not even root
    code = (
        "import creases\n"
        "net = creases.read([([[1.0, 0.0], [0.0, 1.0]] * 200, [k / 200 for k in range(400)]), "
        "([[1.0] * 400], [0.0])])\n"
        "assert creases.plane(net, [(-2, 2), (-2, 2)]).count == 201**2  # too many for plain Python\n"
        f"assert creases.__file__.startswith({str(package)!r})"
    )
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(cache.rglob("kernel.*.nbi"))


@pytest.mark.slow
def test_every_package_that_is_imported_is_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *declared["dependencies"],
        *(word for words in declared["optional-dependencies"].values() for word in words),
    ]
    known = {re.split(r"[\[<>=!~ ]", word)[0].lower().replace("_", "-") for word in wanted}
    names = {"sklearn": "scikit-learn", "mpl_toolkits": "matplotlib", "imageio_ffmpeg": "imageio-ffmpeg"}
    names |= {"PIL": "matplotlib", "llvmlite": "numba", "triton": "torch", "h11": "uvicorn"}
    found = set()
    for path in (ROOT / "src" / "creases").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    found -= {"creases", *sys.stdlib_module_names}
    assert {name for name in found if names.get(name, name) not in known} == set()
