from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import creases
from reference import load_case


def assert_equal(a: Any, b: Any) -> None:
    if isinstance(a, Sequence):
        arrays = list(zip(a, b, strict=True))
    else:
        arrays = [(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.name != "net"]
    for one, other in arrays:
        np.testing.assert_array_equal(one, other, strict=True)


def test_progress_is_reported_within_a_bend(monkeypatch) -> None:
    monkeypatch.setattr(import_module("creases.regions._plane.perceptron"), "ROOM", 1)
    monkeypatch.setattr(import_module("creases.regions._plane.complex"), "STEP", 50)
    counts: list[int] = []
    creases.plane(creases.read(load_case("m2_32x3")), (-1, 1), progress=lambda what, done, total: counts.append(done))
    assert len(counts) > 6
    assert counts[-1] == 788


def wide_network(n_in: int) -> creases.Network:
    """Layers whose matrix products a BLAS divides by the number of threads."""
    rng = np.random.default_rng(n_in)
    shapes = [(500, n_in), (500, 500), (2, 500)]
    return creases.read([(rng.normal(size=shape) / shape[1] ** 0.5, rng.normal(size=shape[0])) for shape in shapes])


def wide_convolution() -> creases.Network:
    """A convolution of 60 channels: of a single image, a BLAS divides its products."""
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(60, 40, 3, padding=1, dtype=torch.float64)
    return creases.read(torch.nn.Sequential(conv, torch.nn.ReLU()), input_shape=(60, 8, 8))


WIDE: dict[str, Callable[[], Any]] = {
    "line": lambda: creases.line(wide_network(20), np.zeros(20), np.ones(20)),
    "lines": lambda: creases.regions.lines(wide_network(20), np.zeros((2, 20)), np.eye(20)[:2]),
    "cell": lambda: creases.cell(wide_network(20), np.ones(20)),
    "pieces": lambda: wide_network(20).piece(np.eye(20)),
    "plane": lambda: creases.plane(wide_network(2), (-0.06, 0.06)),
    "space": lambda: creases.space(wide_network(3), (-0.005, 0.005)),
    "convolution": lambda: [wide_convolution()(np.linspace(-1, 1, 60 * 64).reshape(1, 60, 8, 8))],
}


def differing() -> list[str]:
    """Return which of them differ between one thread and two."""
    found = []
    for name, find in WIDE.items():
        torch.set_num_threads(1)
        expected = find()
        torch.set_num_threads(2)
        try:
            assert_equal(find(), expected)
        except AssertionError:
            found.append(name)
    return found


@pytest.mark.thorough
def test_wide_networks_are_bit_equal_on_any_number_of_threads() -> None:
    # In a process of its own: started with OMP_NUM_THREADS=1, a BLAS remains on one thread.
    environment = os.environ | {
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "passive",
        "MKL_CBWR": "AVX2,STRICT",  # without it MKL's products depend on its threads (docs/limits.md)
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    code = "import test_threads; print(*test_threads.differing(), sep=', ')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
