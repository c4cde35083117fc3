"""Two processes under torchrun grow the network that one does."""

from __future__ import annotations

import pytest
import torch

import torchrun_runs
from torchrun import run_ranks

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without torch.distributed"),
]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What each of two processes has after all runs."""
    return run_ranks(tmp_path_factory, "torchrun_runs.py")


def assert_alike(one: dict, two: dict, rtol: float = 1e-5, atol: float = 1e-7) -> None:
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=rtol, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize("name", torchrun_runs.CASES)
def test_two_ranks_grow_the_network_of_one(both, name):
    alone = torchrun_runs.outcome(torchrun_runs.CASES[name]())
    for rank in both:
        assert rank[name]["records"] == alone["records"]
        assert_alike(rank[name]["model"], alone["model"])
        ours, theirs = rank[name]["history"], alone["history"]
        assert (ours["ended"], ours["setting"]) == (theirs["ended"], theirs["setting"])
        assert [stage["pays"] for stage in ours["stages"]] == [stage["pays"] for stage in theirs["stages"]]
        for epoch, other in zip(ours["epochs"], theirs["epochs"], strict=True):
            assert epoch["widths"] == other["widths"]
            for number in ("loss", "score", "validation_loss", "validation_score"):
                assert (epoch[number] or 0) == pytest.approx(other[number] or 0, rel=1e-5)
    assert alone["records"]


LIMITED = ["seconds", "multiply-adds"]  # budgets that the ranks must spend together


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*torchrun_runs.CASES, "own share", "uneven share", "interrupted", *LIMITED, "other start"]
)
def test_the_ranks_have_the_same_network_bit_by_bit(both, name):
    first, second = (rank[name] for rank in both)
    assert first["records"] == second["records"]
    assert_alike(first["model"], second["model"], rtol=0, atol=0)
    assert first["history"] == second["history"]


def test_a_run_goes_on_from_the_file_of_the_first_rank(both):
    for rank in both:
        assert_alike(rank["interrupted"]["model"], rank["tiny"]["model"], rtol=0, atol=0)
        assert rank["interrupted"]["records"] == rank["tiny"]["records"]


def test_all_ranks_start_from_the_network_of_the_first(both):
    assert_alike(both[1]["other start"]["model"], both[0]["tiny"]["model"], rtol=0, atol=0)


@pytest.mark.slow
def test_data_that_differ_between_ranks_are_refused_by_both(both):
    assert "another rank refused" in both[0]["other data"]
    assert "data must be the same in every process, got 100 samples" in both[1]["other data"]
    assert "on rank 1 and 100 samples" in both[1]["other data"]


def test_the_checkpoint_of_another_run_is_refused_by_both(both):
    for rank in both:
        assert "checkpoint must come from a run with the same settings" in rank["bad checkpoint"]
        assert "repeat the original call, or pass another file" in rank["bad checkpoint"]
