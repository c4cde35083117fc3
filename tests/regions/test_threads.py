from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from time import sleep

import numpy as np
import pytest
import torch

import creases
from creases.regions._threads import map_in_threads
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


def assert_equal(a: object, b: object) -> None:
    for field in fields(a):  # type: ignore[arg-type]
        if field.name != "net":
            np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name), strict=True)


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


def test_degenerate_planes_are_bit_equal_on_any_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    net = degenerate_network()
    for threads in (2, 5):
        assert_equal(on_threads(threads, net), on_threads(1, net))


def test_regions_that_matter_to_each_other_are_split_in_sequence(monkeypatch) -> None:
    monkeypatch.setattr(split, "SMALL", 1)
    net = creases.read(load_case("m2_16x2"))
    expected = on_threads(1, net)
    in_ranges = split._split_range

    def demoted(*arguments):
        return in_ranges(*arguments)._replace(demoted=True)

    monkeypatch.setattr(split, "_split_range", demoted)
    assert_equal(on_threads(2, net), expected)


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


def test_spaces_are_bit_equal_on_any_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr(import_module("creases.regions._space.lattice.faces"), "THREADED", 1)
    net = creases.read(load_case("m4_12x2"))
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(creases.space(net))
    for part in found[1:]:
        assert_equal(part, found[0])
