"""Places where creases runs: no home, a plain locale, another user, pools of processes, several threads."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import creases
from creases.growth import grow
from growth_runs import classes, mlp, same_tensors, timeless

SOURCE = Path(creases.__file__).parents[1]

#: A user's first minutes: a table with names that are not English, a network, a map.
COMMANDS = """
import creases, sys
from pathlib import Path
from creases.cli import app
rows = "".join(f"{k % 7},{'grün' if k % 7 > k % 5 else 'gelb'},{k % 5}\\n" for k in range(60))
Path("Äpfel.csv").write_text("Größe,Farbe,Süße\\n" + rows, encoding="utf-8")
def run(*words):
    try:
        app(list(words), standalone_mode=False)
    except SystemExit as end:
        assert not end.code, words
growth = ["--budget", "3", "--when", "1", "--how", "random"]
run("grow", "Äpfel.csv", "--target", "Farbe", "--out", "run", *growth)
run("predict", "run", "Äpfel.csv", "--out", "found.csv")
run("map", "run/model.safetensors", "--out", "map.png")
"""

POOL = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import numpy as np
import torch
import creases

def count(seed):
    torch.set_num_threads(2)
    rng = np.random.default_rng(seed)
    shapes = [(30, 2), (30, 30), (3, 30)]
    return creases.plane(creases.read([(rng.normal(size=s), rng.normal(size=s[0])) for s in shapes]), (-1, 1)).count

if __name__ == "__main__":
    expected = [count(seed) for seed in range(4)]  # the kernels have had threads here before the processes start
    with ProcessPoolExecutor(2, mp_context=get_context(sys.argv[1])) as pool:
        assert list(pool.map(count, range(4))) == expected
"""


def run_python(arguments, folder, environment, **more):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"LC_ALL": "C"}, id="no HOME, the C locale"),
        pytest.param(
            {"HOME": "/dev/null", "LANG": "C.UTF-8"}, id="a HOME that cannot be written", marks=pytest.mark.thorough
        ),
        pytest.param(
            {"HOME": "/nowhere", "LANG": "de_DE.ISO-8859-1"}, id="an unknown locale", marks=pytest.mark.thorough
        ),
    ],
)
def test_a_table_with_names_that_are_not_english_is_learnt_and_mapped(environment, tmp_path):
    done = run_python(["-c", COMMANDS], tmp_path, environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "grün" in (tmp_path / "found.csv").read_text(encoding="utf-8")
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.thorough
def test_another_user_can_run_it(tmp_path):
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can run something as another user")
    folder = tmp_path / "home"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        able = run_python(["-c", "import torch"], folder, {}, **nobody).returncode == 0
    except PermissionError:
        able = False
    if not able:
        pytest.skip("another user cannot start this Python")
    done = run_python(["-c", COMMANDS], folder, {"NUMBA_CACHE_DIR": str(folder / "cache")}, **nobody)
    assert done.returncode == 0, done.stderr
    assert (folder / "run" / "model.safetensors").stat().st_uid == 65534


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_pools_of_processes_count_the_same_regions(method, tmp_path):
    (tmp_path / "pool.py").write_text(POOL)
    done = run_python(["pool.py", method], tmp_path, {"OMP_NUM_THREADS": "2"})
    assert done.returncode == 0, done.stderr


def test_two_threads_at_once_find_what_each_finds_alone():
    nets = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        nets.append(creases.read([(rng.normal(size=s), rng.normal(size=s[0])) for s in [(30, 2), (30, 30), (3, 30)]]))
    alone = [creases.plane(net, (-1, 1)) for net in nets]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda net: creases.plane(net, (-1, 1)), nets))
    for one, other in zip(alone, both, strict=True):
        assert np.array_equal(one.vertices, other.vertices)
        assert np.array_equal(one.patterns, other.patterns)


@pytest.mark.slow
def test_two_threads_at_once_grow_what_each_grows_alone():
    """Without dropout: torch draws for that from numbers that all threads share."""

    def run(seed, model):
        options = {"how": "random", "when": 2, "budget": 6, "seed": seed, "batch_size": 20, "progress": False}
        return grow(model, classes(60, seed=seed), "classification", **options)

    models = [[mlp(3, 2, 2, seed=seed) for seed in range(4)] for _ in range(2)]
    alone = list(map(run, range(4), models[0]))
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(run, range(4), models[1]))
    for one, other in zip(alone, both, strict=True):
        assert same_tensors(one.model, other.model)
        assert timeless(one.history) == timeless(other.history)
