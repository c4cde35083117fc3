"""Judges of the slides on several inputs."""

from __future__ import annotations

from altered_numbers import judge_altered


def test_a_function_that_is_not_rebuilt_disagrees():
    assert judge_altered("splines/radon", {}).verdict == "agrees in kind"
    assert judge_altered("splines/radon", {"errors": {"round": 1e-7, "oblique": 0.1}}).verdict == "disagrees"
    assert judge_altered("splines/radon", {"distribution": {"2": 0.2}}).verdict == "disagrees"


def test_directions_that_do_not_come_apart_disagree():
    assert judge_altered("splines/directions", {}).verdict == "agrees in kind"
    same = {"random": [[9.0, 9.0], [8.0, 8.0]], "adversarial": [[12.0, 12.0], [10.0, 10.0]]}
    assert judge_altered("splines/directions", same).verdict == "disagrees"
