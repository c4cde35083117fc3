"""Growth over several processes: what one process with all samples proposes, on every rank."""

from __future__ import annotations

import pytest
import torch
import torch.multiprocessing as mp

import ranked
from creases.growth._integrations import _ranks as ranks


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What two processes found, and what one finds."""
    folder = tmp_path_factory.mktemp("ranks")
    mp.spawn(ranked.work, (str(folder),), nprocs=ranked.WORLD)
    return [torch.load(folder / f"{rank}.pt") for rank in range(ranked.WORLD)], ranked.alone()


def test_one_process_sums_nothing_and_fails_by_itself():
    x = torch.ones(3)
    ranks.sum_over_ranks([x])
    ranks.broadcast([x])
    assert (ranks.rank(), ranks.world_size(), ranks.from_first("a"), x.tolist()) == (0, 1, "a", [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="mine"), ranks.fail_together():
        raise ValueError("mine")


@pytest.mark.thorough
def test_sums_and_broadcasts_reach_every_rank(found):
    for rank, one in enumerate(found[0]):
        assert (one["rank"], one["world"]) == (rank, 2)
        assert [t.tolist() for t in one["total"]] == [[3.0], [[2.0, 2.0]] * 3]
        assert one["same"].tolist() == [0.0, 0.0]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["tiny", "tiny relu", "tiny conv", "tiny second", "gradmax", "random"])
def test_every_rank_proposes_what_one_process_with_all_samples_does(found, name):
    both, alone = found
    fan_in, bias, fan_out, gain, explanation = alone[name]
    for one in both:
        other = one["cases"][name]
        for mine, theirs in ((fan_in, other[0]), (bias, other[1]), *((fan_out[p], other[2][p]) for p in fan_out)):
            assert torch.allclose(mine, theirs, rtol=1e-9, atol=1e-11 * float(mine.abs().max()))
        assert other[3] == pytest.approx(gain, rel=1e-11)
        assert other[4].keys() == explanation.keys()
        for key in ("samples", "units", "loss", "bottleneck", "bottleneck_after", "gradient", "line_search"):
            if key in explanation:
                assert other[4][key] == pytest.approx(explanation[key], rel=1e-10)
    assert all(torch.equal(a, b) for a, b in zip(both[0]["cases"][name][:2], both[1]["cases"][name][:2], strict=True))


@pytest.mark.thorough
def test_in_float32_ranks_agree_exactly_and_one_process_closely(found):
    both, alone = found
    first, second = (one["cases"]["tiny float32"] for one in both)
    assert torch.equal(first[0], second[0])
    assert torch.allclose(first[0], alone["tiny float32"][0], rtol=1e-4, atol=1e-4)
    spectrum = alone["tiny float32"][4]["lambda"]
    assert first[4]["lambda"] == pytest.approx(spectrum, abs=1e-6 * spectrum[0])


@pytest.mark.slow
def test_statistics_are_sums_over_the_ranks(found):
    both, alone = found
    for one in both:
        for mine, theirs in zip(one["cases"]["sums"], alone["sums"], strict=True):
            assert torch.allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_what_one_rank_refuses_is_refused_by_all(found):
    first, second = (one["refusals"] for one in found[0])
    assert len(first) == len(second) == 6
    assert all("another rank refused its share" in message for message in first)
    assert all("batches must have at least one sample" in message for message in second[:3])
    assert all("loss must be finite" in message for message in second[3:])
