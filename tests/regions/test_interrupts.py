"""Long work reports progress, and Ctrl-C keeps what is done where a result can say that it is incomplete."""

from __future__ import annotations

from importlib import import_module

import pytest

import creases
from reference import load_case

space_vertices = import_module("creases.regions._space.vertices")


def press_ctrl_c_at(count: int):
    def progress(what: str, done: int, total: int | None) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_traversal_keeps_its_regions() -> None:
    net = creases.read(load_case("m3_16x2"))
    found = creases.space(net, method="lp", progress=press_ctrl_c_at(5))
    assert (found.count, found.complete, found.ended) == (5, False, "interrupted")


def test_an_interrupted_subdivision_keeps_its_finished_blocks(monkeypatch) -> None:
    monkeypatch.setattr(space_vertices, "BLOCK", 50)
    net = creases.read(load_case("m3_16x2"))
    found = creases.space(net, progress=press_ctrl_c_at(400))
    assert 0 < found.count < 400
    assert (found.complete, found.ended) == (False, "interrupted")
    assert {p.tobytes() for p in found.patterns} < {p.tobytes() for p in creases.space(net).patterns}


def test_with_nothing_done_ctrl_c_is_passed_on() -> None:
    net = creases.read(load_case("m3_16x2"))
    with pytest.raises(KeyboardInterrupt):
        creases.space(net, progress=press_ctrl_c_at(0))


@pytest.mark.parametrize("infinite", [False, True])
def test_a_line_tells_its_breakpoints_after_every_bend(infinite: bool, monkeypatch) -> None:
    net = creases.read(load_case("m2_32x3"))
    counts: list[int] = []
    found = creases.line(
        net, [-1, -1], [1, 0.9], infinite=infinite, progress=lambda what, done, total: counts.append(done)
    )
    assert len(counts) == 3
    assert counts == sorted(counts)
    assert counts[-1] == len(found.breakpoints)


def test_progress_can_end_a_line() -> None:
    net = creases.read(load_case("m2_32x3"))
    with pytest.raises(KeyboardInterrupt):
        creases.line(net, [-1, -1], [1, 0.9], progress=press_ctrl_c_at(1))
