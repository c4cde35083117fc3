"""Stages of growth: how long they are, how wide the networks, and what ends them."""

from __future__ import annotations

import math

import pytest

from creases.errors import InputError
from creases.growth import GrowthConfig, History, grow
from creases.growth._state import SizeLimit
from creases.growth.policies import At, Stages
from creases.growth.policies import _stages as stages_
from growth_runs import classes, epochs, mlp, state

#: Samples, and samples in a batch: 12 steps in an epoch.
N, BATCH = 120, 10


def at(progress: float = 0.0, model=None, *, budget=100, history=None, limit=None, batch=BATCH, n=N):
    """The state of a run that has spent this share of its budget."""
    run = state(
        model, classes(n), history=history, budget=budget, batch_size=batch, limit=limit or SizeLimit(), metered=True
    )
    run.where = At()
    meter = run.meter
    if meter.budget.unit == "epochs":
        meter.epochs = progress * meter.budget.amount
    elif meter.budget.unit == "seconds":
        meter.seconds = progress * meter.budget.amount
    else:
        meter.multiply_adds = int(progress * meter.budget.amount)
    return run


def stage(pays: bool, **more) -> dict:
    return {"pays": pays, "loss_grown": 0.25, "loss_training_on": 0.5, "error": 0.3, "needed": 0.15, **more}


# lengths


def test_growth_has_room_for_ten_networks_none_of_which_takes_a_large_part_of_the_run():
    assert Stages().count_steps(at(budget=100)) == int(stages_.SHARE * 100 * 12 / 10)
    assert Stages().count_steps(at(budget=1000)) == stages_.STEPS
    assert Stages(0.9).count_steps(at(budget=100)) == int(0.9 * 100 * 12 / 10)


def test_in_a_short_run_networks_are_trained_for_the_fewest_steps_and_in_a_shorter_one_nothing_grows():
    assert Stages(0.25).count_steps(at(budget=20)) == stages_.MIN_STEPS
    assert Stages(0.25).count_steps(at(budget=10)) == 0


def test_in_a_loop_of_the_users_own_networks_are_trained_for_whole_epochs():
    run = at(budget=200, n=600, batch=10)
    run.metered, run.epoch_steps = False, 60
    assert Stages().count_steps(run) == 300
    run.epoch_steps = 50_000
    assert Stages().count_steps(run) == 0  # two epochs are more than growth's share


def test_the_first_stage_begins_after_a_few_steps():
    run = at(budget=1000, history=History(epochs=epochs(1.0, 1.0, steps=1)))
    assert Stages().steps_left(run) == stages_.FIRST_STEPS
    run.history.epochs = epochs(*[1.0] * 5, steps=1)
    assert Stages().steps_left(run) == stages_.FIRST_STEPS - 3


# widths


@pytest.mark.parametrize(
    ("start", "tried", "factor"),
    [
        (2, {}, 8),  # few units are seldom enough
        (8, {}, 4),
        (40, {}, 4),
        (2, {8: True}, 32),
        (2, {8: False}, 2),
        (8, {4: True, 16: False}, 8),
        (8, {4: True, 16: False, 8: True}, 16),  # which did not pay before
        (8, {4: False, 2: False}, 16),  # with more patience
    ],
)
def test_networks_widen_by_four_until_one_does_not_pay_and_then_by_two(start, tried, factor):
    assert Stages().next_factor(at(n=20_000), {"0": start, "2": start}, tried) == factor


def test_a_stage_widens_by_less_where_there_would_be_too_many_units_for_the_samples():
    run = at()
    assert [Stages().next_factor(run, {"0": width}, {}) for width in (2, 10, 11, 40)] == [8, 4, 2, 2]


# obstacles


def test_a_network_with_more_than_a_unit_for_every_three_samples_is_not_tried():
    run = at(budget=1000, model=mlp(3, 4, 2))
    assert Stages().obstacle(run, {"0": 4}, 10.0, 100) == ""
    why = "a wider network would have more than a unit for every 3 samples"
    assert Stages().obstacle(run, {"0": 4}, 10.1, 100) == why
    assert Stages().obstacle(at(budget=1000, n=9), {"0": 4}, 4.0, 100) == ""  # 16 units may always be tried


def test_growth_is_over_when_no_network_fits_into_its_share():
    steps = 100 / (12 * 100)
    assert Stages(0.25).obstacle(at(0.25 - steps - 1e-6), {"0": 2}, 2.0, 100) == ""
    why = "its share (25% of 100 epochs) has no room for another network"
    assert Stages(0.25).obstacle(at(0.25 - steps + 1e-6), {"0": 2}, 2.0, 100) == why


def test_a_wider_network_takes_more_of_a_budget_of_multiply_adds():
    model = mlp(3, 4, 5, 2)
    run = at(budget="1e8 multiply-adds", model=model)
    before, after = 3 * 4 + 4 * 5 + 5 * 2, 3 * 8 + 8 * 10 + 10 * 2
    assert Stages()._step_share(run, {"0": 4, "2": 5}, 2.0) == pytest.approx(run.step_share * after / before)


def test_a_network_that_the_rest_of_the_budget_could_not_train_is_not_tried():
    """Six epochs of it, at least; but 16 units are always tried, or the start would be a trap."""
    epoch = 3 * (3 * 8 + 8 * 2) * N
    why = "a wider network could not be trained with the rest of the budget"
    for epochs_, reason in [(6 * 4 / 0.72 + 1, ""), (6 * 4 / 0.72 - 1, why)]:
        run = at(budget=f"{epochs_ * epoch} multiply-adds", model=mlp(3, 8, 2))
        assert Stages().obstacle(run, {"0": 8}, 4.0, 1) == reason
        assert Stages().obstacle(run, {"0": 8}, 2.0, 1) == ""


def test_growth_is_over_at_a_limit_of_size_and_says_which():
    run = at(budget=1000, model=mlp(3, 4, 2), limit=SizeLimit(units=4))
    why = "no further unit fits: the network is limited to 4 units (it has 4)"
    assert Stages().obstacle(run, {"0": 4}, 2.0, 10) == why


def test_a_slow_first_growth_step_does_not_end_growth_in_a_budget_of_seconds():
    """Otherwise a network of one unit would stay one, with most of its budget left."""
    assert Stages().has_room(at(0.4, budget="10 s"), 40)
    assert not Stages(0.28).has_room(at(0.4, budget="10 s"), 40)  # a share that was given is kept
    assert not Stages().has_room(at(0.4, budget="10 s", history=History(stages=[stage(True)])), 40)
    assert not Stages().has_room(at(0.6, budget="10 s"), 40)


def test_a_network_whose_steps_turn_out_to_be_slow_has_no_room():
    run = at(0.1, budget="10 s", history=History(stages=[stage(True)]))
    assert Stages().has_room(run, 40)
    run.measured_share = 0.01
    assert not Stages().has_room(run, 40)


# what a larger network must gain, and the end


def test_a_stage_has_to_take_away_a_hundredth_of_the_loss_for_each_doubling_of_the_parameters():
    run = at(model=mlp(3, 8, 2))
    assert stages_.least_gain(run, run.parameters / 4) == pytest.approx(2 * stages_.GAIN)
    assert stages_.least_gain(run, run.parameters) == 0
    assert math.isfinite(stages_.least_gain(run, 0))


def test_in_noise_what_was_gained_so_far_counts():
    assert stages_.reducible_loss(0.1, 2.3) == 0.1
    assert stages_.reducible_loss(0.64, 0.69) == pytest.approx(0.05)
    assert stages_.reducible_loss(0.8, 0.7) == 0.8  # nothing was gained


@pytest.mark.parametrize(
    ("score", "validation", "is_right"),
    [
        (1.0, (1.0, 0.001), True),
        (1.0, (1.0, 0.1), False),
        (1.0, (0.99, 0.001), False),
        (0.9, (1.0, 0.001), False),
        (1.0, (None, None), True),
        (None, (None, None), False),
    ],
)
def test_a_network_is_right_with_all_samples_predicted_and_hardly_any_loss(score, validation, is_right):
    last = {"score": score, "validation_score": validation[0], "validation_loss": validation[1]}
    assert stages_.is_right(last, 1.0) == is_right


def test_failures_in_a_row_are_counted_from_the_end():
    for outcomes, count in [("", 0), ("p", 0), ("f", 1), ("pf", 1), ("fpff", 2), ("ffp", 0)]:
        assert stages_.count_failures([stage(letter == "p") for letter in outcomes]) == count
    said = Stages().explain_failure([stage(True), stage(False), stage(False)])
    losses = "0.25 with growth, 0.5 without, 0.15 less needed"
    assert said == f"2 growth stages in a row did not lower the held-out loss enough ({losses})"
    assert Stages().explain_failure([stage(False)]).startswith("1 growth stage in a row did not lower the held-out")


@pytest.mark.parametrize("budget", [1, 3, "1000 multiply-adds"])
def test_a_run_too_short_for_a_stage_is_trained_without_growth(budget):
    model = mlp(3, 2, 2)
    _, history = grow(model, classes(30), "classification", budget=budget, batch_size=10, progress=False)
    assert history.records == []
    assert history.stages == []
    assert model[0].out_features == 2


# settings


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"growth_share": 0}, "growth_share must be 'auto' or a number above 0"),
        ({"growth_share": 1}, "growth_share must be 'auto' or a number above 0 and below 1"),
        ({"growth_patience": 0}, "growth_patience must be a positive integer"),
    ],
)
def test_stages_that_cannot_be_are_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        GrowthConfig(**wrong)


def test_the_options_of_a_run_are_those_of_its_stages():
    config = GrowthConfig(growth_share=0.4, growth_patience=5)
    assert config.stages() == Stages(0.4, 5)
    assert GrowthConfig(growth_patience=None).stages().patience > 10**6
