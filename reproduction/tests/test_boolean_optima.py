"""Where gradient descent on XOR ends (Table 3.2)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from creases.errors import InputError
from creases_reproduction.linearity import xor
from creases_reproduction.linearity.boolean_optima import EPOCHS, PRINTED, RATES, table_3_2


@pytest.fixture(scope="module")
def result():
    return table_3_2("quick")


def test_frequencies_agree_with_those_of_100_000_runs_up_to_chance(result):
    """.424, .384, .192 on the mean; .172, .475, .353 on the sum."""
    frame = result.frequencies()
    known = [0.424, 0.384, 0.192, 0.172, 0.475, 0.353]
    error = np.sqrt(np.array(known) * (1 - np.array(known)) / len(result.runs["mean"].ends.loss))
    assert (np.abs(frame["share"] - known) < 4 * error).all()
    assert frame["count"].sum() == 2 * len(result.runs["mean"].ends.loss)
    assert (frame["low"] < frame["share"]).all()
    assert (frame["high"] > frame["share"]).all()


def test_losses_have_no_other_level_than_those_of_steady_states(result):
    for run in result.runs.values():
        levels = np.array(xor.LOSSES, np.float64)[run.ends.level]
        assert np.abs(run.ends.loss - levels).max() < 0.3


def test_nearly_all_networks_are_in_a_family_of_steady_states(result):
    for loss in ("mean", "sum"):
        frame = result.solutions(loss)
        assert len(frame) == 33
        assert frame["count"].sum() == len(result.runs[loss].ends.loss)
        assert frame.loc[frame["region"] == "any", "count"].item() < 10
        assert frame["printed"].count() == len(PRINTED) == 14


def test_printed_counts_are_of_the_families_with_the_printed_losses():
    losses = {one.sides: one.loss for one in xor.REGIONS}
    assert sum(count for sides, count in PRINTED.items() if losses[sides] == xor.LOSSES[1]) == 389
    assert sum(count for sides, count in PRINTED.items() if losses[sides] == 4) == 149


def test_training_is_plain_gradient_descent_on_the_sum_as_torch_does_it(result):
    """Rate 0.4 on the lab's mean is 0.1 on the sum."""
    from creases import lab

    start = lab.Batch.initial(len(result.runs["sum"].ends.loss), [1, 2, 1], seed=0, init="he")
    model = start.module(5)
    x, y = torch.tensor([[-1.0], [0], [0], [1]]).double(), torch.tensor([[-1.0], [1], [1], [-1]]).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        ((model(x) - y) ** 2).sum().backward()
        optimizer.step()
    assert RATES["sum"] == 0.4
    np.testing.assert_allclose(xor.classify(model).values[0], result.runs["sum"].ends.values[5], atol=1e-4)


def test_an_unknown_scale_is_refused():
    with pytest.raises(InputError, match="scale must be 'quick' or 'full', got 'huge'"):
        table_3_2("huge")
