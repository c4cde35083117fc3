from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch

import creases
from creases.regions._resources import map_in_threads
from reference import load_case

split = import_module("creases.regions._plane.split")


@pytest.fixture(autouse=True)
def keep_thread_count() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def on_threads(threads: int, net: creases.Network) -> creases.regions.PlanePartition:
    torch.set_num_threads(threads)
    return creases.plane(net, (-1, 1))


def assert_equal(a: Any, b: Any) -> None:
    if isinstance(a, Sequence):
        arrays = list(zip(a, b, strict=True))
    else:
        arrays = [(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.name != "net"]
    for one, other in arrays:
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m2_16x2", "m2_32x3"])
def test_planes_are_bit_equal_on_any_number_of_threads(name: str, monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    monkeypatch.setattr(split, "STEP", 7)
    net = creases.read(load_case(name))
    for threads in (2, 3):
        assert_equal(on_threads(threads, net), on_threads(1, net))


def degenerate_network() -> creases.Network:
    """Units that are equal, opposite, zero, or meet in one point."""
    rng = np.random.default_rng(0)
    W = rng.integers(-2, 3, (12, 2)).astype(float)
    V = rng.integers(-1, 2, (12, 12)).astype(float)
    return creases.read([(W, np.zeros(12)), (V, rng.integers(-1, 2, 12) / 2), (np.ones((1, 12)), np.zeros(1))])


@pytest.mark.slow
def test_degenerate_planes_are_bit_equal_on_any_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    net = degenerate_network()
    for threads in (2, 5):
        assert_equal(on_threads(threads, net), on_threads(1, net))


@pytest.mark.slow
def test_regions_that_matter_to_each_other_are_split_in_sequence(monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    net = creases.read(load_case("m2_16x2"))
    expected = on_threads(1, net)
    in_ranges = split._split_range

    def demoted(*arguments):
        return in_ranges(*arguments)._replace(demoted=True)

    monkeypatch.setattr(split, "_split_range", demoted)
    assert_equal(on_threads(2, net), expected)


@pytest.mark.slow
def test_memory_limits_do_not_depend_on_the_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    net = creases.read(load_case("m2_32x3"))
    monkeypatch.setattr(import_module("creases.regions._plane.plane"), "MEMORY", 2**17)
    assert_equal(on_threads(2, net), on_threads(1, net))


def test_an_exception_drops_work_that_has_not_begun() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        sleep(0.05)
        return item

    results = map_in_threads(work, range(1000), 2)
    assert next(results) == 0
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert len(begun) < 1000


def test_progress_is_reported_within_a_bend(monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    monkeypatch.setattr(split, "STEP", 50)
    net = creases.read(load_case("m2_32x3"))
    for threads in (1, 2):
        torch.set_num_threads(threads)
        counts: list[int] = []
        creases.plane(net, (-1, 1), progress=lambda what, done, total, counts=counts: counts.append(done))
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
