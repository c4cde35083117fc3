"""A limit on memory ends work in words, or keeps what is done where a result can say that it is incomplete."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch

import creases
from creases.errors import InputError, LimitError
from reference import load_case

space_module = import_module("creases.regions._space.space")


def wide_network() -> creases.Network:
    """A layer of 300 units, with about 30,000 regions in the box [-1, 1]."""
    rng = np.random.default_rng(0)
    return creases.read([(rng.normal(size=(300, 2)), 0.3 * rng.normal(size=300)), (np.ones((1, 300)), np.zeros(1))])


def test_a_plane_beyond_the_limit_says_how_far_it_was_and_what_to_do() -> None:
    with pytest.raises(LimitError) as caught:
        creases.plane(wide_network(), max_memory=2e6)
    assert str(caught.value).startswith("max_memory=2e+06 reached with ")
    assert str(caught.value).endswith(
        "regions so far; choose a smaller box, or use plane_tiles, whose memory is bounded by one tile"
    )


def test_a_plane_through_points_has_the_same_limit() -> None:
    with pytest.raises(LimitError, match="max_memory=2e\\+06 reached"):
        creases.plane_through(wide_network(), [-1, -1], [1, -1], [0, 1], max_memory=2e6)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    net = creases.read(load_case("m2_32x3"))
    with_limit, without = creases.plane(net, max_memory=1e9), creases.plane(net)
    np.testing.assert_array_equal(with_limit.vertices, without.vertices)
    np.testing.assert_array_equal(with_limit.patterns, without.patterns)
    one, other = (creases.space(creases.read(load_case("m3_16x2")), max_memory=limit) for limit in (1e9, None))
    np.testing.assert_array_equal(one.patterns, other.patterns)
    assert one.complete


def test_exact_planes_have_no_limit() -> None:
    net = creases.read(load_case("m2_16x2"))
    with pytest.raises(InputError, match="max_memory must be left out in exact arithmetic and on a GPU, got 1000"):
        creases.plane(net, exact=True, max_memory=1000)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vertices", "lp"])
def test_a_space_at_the_limit_keeps_what_is_finished(method: str, monkeypatch) -> None:
    monkeypatch.setattr(space_module.space_vertices, "BLOCK", 50)
    net = creases.read(load_case("m3_16x2"))
    whole = creases.space(net)
    limit = 2e6 if method == "vertices" else 2e4
    part = creases.space(net, method=method, max_memory=limit)
    assert 0 < part.count < whole.count
    assert not part.complete
    assert part.ended == f"max_memory={limit:g} reached"
    assert {p.tobytes() for p in part.patterns} < {p.tobytes() for p in whole.patterns}


@pytest.mark.thorough
def test_processes_have_the_same_limit() -> None:
    net = creases.read(load_case("m3_16x2"))
    part = creases.space(net, n_jobs=2, max_memory=5e5)
    assert part.count < creases.space(net).count
    assert part.ended == "max_memory=500000 reached"


def test_a_line_beyond_the_limit_says_how_far_it_was() -> None:
    net = creases.read(load_case("m2_128x3"))
    with pytest.raises(LimitError, match=r"max_memory=100000 reached with \d+ breakpoints so far; choose points that"):
        creases.line(net, [-1, -1], [1, 0.9], max_memory=1e5)
    whole, limited = (creases.line(net, [-1, -1], [1, 0.9], max_memory=limit) for limit in (None, 1e9))
    np.testing.assert_array_equal(whole.breakpoints, limited.breakpoints)


def test_lines_beyond_the_limit_say_how_far_they_were() -> None:
    net = creases.read(load_case("m2_128x3"))
    A, B = np.tile([[-1.0, -1.0]], (600, 1)), np.tile([[1.0, 0.9]], (600, 1))
    with pytest.raises(LimitError, match=r"max_memory=100000 reached with \d+ breakpoints so far; pass fewer segments"):
        creases.regions.lines(net, A[:1], B[:1], max_memory=1e5)
    affine = creases.read([([[1.0, 0.0]], [9.0]), ([[1.0]], [0.0])])  # between these points
    with pytest.raises(LimitError, match="max_memory=55000 reached with 512 segments so far; pass fewer segments"):
        creases.regions.lines(affine, A, B, max_memory=55_000)
    whole, limited = (creases.regions.lines(net, A[:1], B[:1], max_memory=limit) for limit in (None, 1e9))
    np.testing.assert_array_equal(whole.t, limited.t)


def image_network() -> creases.Network:
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 2)
    return creases.read(torch.nn.Sequential(*layers), input_shape=(3, 8, 8))


def test_a_cell_beyond_the_limit_is_refused_before_it_is_computed() -> None:
    counts: list[int] = []
    with pytest.raises(LimitError) as caught:
        creases.cell(
            image_network(), np.ones(192), max_memory=1e5, progress=lambda what, done, total: counts.append(done)
        )
    assert str(caught.value) == (
        "max_memory=100000 is less than the 6.7e+05 bytes that a region of 144 units and 192 inputs needs; "
        "use a network of fewer units"
    )
    assert not counts


@pytest.mark.parametrize(("inputs", "total"), [(192, 192), (2000, 33)])
def test_a_cell_tells_how_far_it_is_and_can_be_ended(inputs: int, total: int) -> None:
    rng = np.random.default_rng(0)
    net = image_network() if inputs == 192 else creases.read(
        [(rng.normal(size=(32, inputs)), np.zeros(32)), (np.ones((1, 32)), np.zeros(1))]
    )  # fmt: skip
    seen: list[tuple[int, int | None]] = []
    x = rng.normal(size=inputs)
    whole = creases.cell(net, x)
    region = creases.cell(net, x, max_memory=1e7, progress=lambda what, done, total: seen.append((done, total)))
    assert [n for n, _ in seen] == sorted(n for n, _ in seen)
    assert seen[-1] == (total, total)
    np.testing.assert_allclose(region.Q, whole.Q, rtol=1e-12, atol=1e-12)

    def stop(what: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        creases.cell(net, x, progress=stop)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "1 GB"])
def test_limits_are_positive_numbers(limit: object) -> None:
    net = creases.read(load_case("m2_16x2"))
    for find in (creases.plane, creases.space, lambda net, **o: creases.cell(net, [0, 0], **o)):
        with pytest.raises(InputError, match="max_memory must be a finite number above 0"):
            find(net, max_memory=limit)  # type: ignore[arg-type]
