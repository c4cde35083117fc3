"""Stages of growth: how long they are, how many there are, and what ends them."""

from __future__ import annotations

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
    else:
        meter.multiply_adds = int(progress * meter.budget.amount)
    return run


def stage(pays: bool, factor: float = 4.0, **widths: int) -> dict:
    losses = {"loss_grown": 0.25, "loss_training_on": 0.5, "error": 0.3, "needed": 0.15}
    before = {name: int(width / factor) for name, width in widths.items()}
    return {"pays": pays, "factor": factor, "widths": widths, "widths_before": before, **losses}


# lengths


def test_growth_has_room_for_every_size_that_the_samples_allow():
    """Of a budget in epochs every network's step takes the same: 4, 16 and 32 units for 120 samples."""
    run = at(budget=100, model=mlp(3, 4, 2))
    assert Stages().race_length(run) == int(stages_.SHARE * 1200 / 3)
    assert Stages().race_length(at(budget=100, model=mlp(3, 4, 2), n=1200)) == stages_.RACE_STEPS


def test_a_network_is_not_trained_for_more_steps_than_say_enough_nor_for_a_large_part_of_the_run():
    wide = {"model": mlp(3, 60, 2), "n": 1000}  # of 60 and 240 units
    assert Stages().race_length(at(budget=1000, **wide)) == int(stages_.RACE_PART * 1000 * 100) > stages_.RACE_STEPS
    assert Stages().race_length(at(budget=50, **wide)) == stages_.RACE_STEPS
    assert Stages().race_length(at(budget=20, **wide)) == stages_.MOST_PART * 20 * 100


def test_in_a_short_run_races_are_shorter_and_in_a_shorter_one_there_is_none():
    model = mlp(3, 4, 2)
    assert Stages(0.25).race_length(at(budget=20, model=model)) == stages_.MIN_STEPS
    assert Stages(0.25).race_length(at(budget=10, model=model)) == 0


def test_a_network_is_looked_at_early_and_late():
    run = at(budget=100)
    assert Stages().looks(run, 320) == [80, 160, 320]
    assert Stages().looks(run, 50) == [25, 50]  # the first would be too early
    assert Stages().looks(run, 8) == [8]
    run.batch_size, run.last_epoch = 0, (12, 0.01)  # in a loop of the user's own: at the ends of epochs
    assert Stages().looks(run, 48) == [12, 24, 48]
    assert Stages().looks(run, 12) == [12]


def test_wider_networks_take_more_of_a_budget_of_multiply_adds():
    run = at(budget="1e8 multiply-adds", model=mlp(3, 4, 2))
    step = 3 * (3 * 4 + 4 * 2) * BATCH
    sizes = 1 + 4 + 8  # one hidden layer: every product has the width once; 64 units are too many for 120 samples
    assert Stages().race_length(run) == min(
        int(stages_.SHARE * 1e8 / step / sizes), int(stages_.RACE_PART * 1e8 / step)
    )


def test_a_network_that_costs_more_than_is_left_is_looked_at_less_often_or_not_at_all():
    history = History(epochs=epochs(1.0), stages=[stage(True)])
    for left, looks in [(0.2, 3), (0.1, 2), (0.05, 1), (0.02, 0)]:
        run = at(stages_.SHARE - left, budget=200, history=history, model=mlp(3, 2, 2))
        assert Stages().count_looks(run, 4.0, 320) == looks  # after 80, 160 and 320 of 2,400 steps


# factors


@pytest.mark.parametrize(
    ("start", "outcomes", "factor"),
    [
        (2, [], 16),  # four units are seldom enough
        (2, [(False, 16)], 64),
        (4, [], 4),
        (4, [(True, 4)], 4),
        (4, [(False, 4)], 16),  # a small network may need several units before any of them helps
        (40, [], 1 / 4),
        (40, [(True, 1 / 4)], 1 / 4),
        (40, [(False, 1 / 4)], 4),
        (8, [(True, 1 / 4)], 2),  # what was narrowed by four needs no more than two
        (40, [(False, 1 / 4), (True, 4)], 4),
        (40, [(False, 1 / 4), (False, 4)], 2),
    ],
)
def test_stages_narrow_a_wide_network_and_widen_by_four_until_one_does_not_pay(start, outcomes, factor):
    history = History(epochs=epochs(1.0), stages=[stage(*outcome) for outcome in outcomes])
    run = at(budget=1000, model=mlp(3, start, start, 2), history=history, n=2000)
    assert Stages().next_factor(run, 100) == factor


def judged(before: int, after: int, pays: bool, gain: float) -> dict:
    widths = {"widths_before": {"0": before}, "widths": {"0": after}}
    return {**widths, "factor": after / before, "pays": pays, "gain": gain}


def test_the_gain_of_a_stage_is_expected_to_fall_in_inverse_proportion_to_the_width():
    """By 1 / width, from 4 to 16 units 3 / 16 is gained, from 16 to 64 3 / 64, from 16 to 8 1 / 16 is lost."""
    stages = [judged(4, 16, True, 3 / 16)]
    for factor, gain in [(4, 3 / 64), (2, 1 / 32), (1 / 2, -1 / 16)]:
        assert Stages().expected_gain(stages, {"0": 16}, factor) == pytest.approx(gain)
    narrowed = [judged(16, 4, False, -3 / 16)]  # was worse: the same is known
    assert Stages().expected_gain(narrowed, {"0": 16}, 4) == pytest.approx(3 / 64)
    for nothing in [[], [judged(16, 64, False, 0.1)], [judged(4, 8, True, 0.1)], [judged(4, 16, True, -0.1)]]:
        assert Stages().expected_gain(nothing, {"0": 16}, 4) == 0.0


@pytest.mark.parametrize(
    ("stages", "factor"),
    [
        ([], None),
        ([judged(1, 16, True, 1.0)], 1 / 4),
        ([judged(4, 16, True, 1.0)], 1 / 2),
        ([judged(1, 16, True, 1.0), judged(16, 4, False, -1.0)], 1 / 2),
        ([judged(8, 16, True, 1.0)], None),
        ([judged(4, 16, True, 1.0), judged(16, 8, False, -1.0)], None),
        ([judged(16, 64, False, 1.0)], None),
    ],
)
def test_a_size_half_way_to_the_next_smaller_one_that_was_worse_is_tried_at_the_end(stages, factor):
    run = at(budget=1000, model=mlp(3, 16, 2), history=History(epochs=epochs(1.0), stages=stages))
    assert Stages().next_halving(run, 100) == (factor and pytest.approx(factor))


def test_a_run_with_room_for_one_race_widens_more():
    assert Stages().next_factor(at(budget=16, model=mlp(3, 2, 2)), 20) == 16
    assert Stages().next_factor(at(budget=16, model=mlp(3, 500, 10)), 20) == 1 / 4


def test_a_stage_widens_by_two_where_four_would_be_too_many_units_for_the_samples():
    """At most one for every three samples: 40."""
    assert Stages().next_factor(at(budget=1000, model=mlp(3, 10, 2)), 100) == 4
    assert Stages().next_factor(at(budget=1000, model=mlp(3, 11, 2)), 100) == 2
    run = at(budget=1000, model=mlp(3, 21, 2), history=History(epochs=epochs(1.0), stages=[stage(False, 0.25)]))
    assert Stages().over(run, 100) == "a wider network would have more than a unit for every 3 samples"


def test_a_network_that_the_rest_of_the_budget_could_not_train_is_not_tried():
    """Six epochs of it, at least; but 16 units are always tried, or the start would be a trap."""
    epoch = 3 * (3 * 8 + 8 * 2) * N
    for epochs_, factor in [(6 * 4 / 0.72 + 1, 4), (6 * 4 / 0.72 - 1, 2)]:
        run = at(budget=f"{epochs_ * epoch} multiply-adds", model=mlp(3, 8, 2))
        assert Stages().next_factor(run, 20) == factor
    for factor, why in [(2, ""), (4, "a wider network could not be trained with the rest of the budget")]:
        assert Stages()._too_large(at(budget=f"{epoch} multiply-adds", model=mlp(3, 8, 2)), factor) == why


def test_a_product_between_two_layers_that_grow_gets_dearer_by_the_square():
    run = at(model=mlp(3, 4, 5, 2))
    before, after = 3 * 4 + 4 * 5 + 5 * 2, 3 * 8 + 8 * 10 + 10 * 2
    assert run.cost_ratio(2.0) == after / before
    uneven = (3 * 6 + 6 * 8 + 8 * 2) / before  # 1.5 * 5 is 8 units
    assert run.cost_ratio(1.5) == uneven


def test_the_first_race_begins_after_a_few_steps():
    run = at(budget=1000, history=History(epochs=epochs(1.0, 1.0, steps=1)))
    assert Stages().steps_left(run) == stages_.FIRST_STEPS
    run.history.epochs = epochs(*[1.0] * 5, steps=1)
    assert Stages().steps_left(run) == stages_.FIRST_STEPS - 3


@pytest.mark.parametrize(("budget", "needed"), [("1e10 multiply-adds", 0.03 + 0.01), ("10 s", 0.01), (100, 0.01)])
def test_a_stage_has_to_take_away_more_of_the_loss_the_more_it_costs(budget, needed):
    """1.5 % for each doubling of a step's cost, 0.5 % for each of the parameters.

    Here the time of a step is that to start it, whatever the size.
    """
    policy, run = Stages(), at(budget=budget)
    flops, parameters = run.flops / 4, run.parameters / 4
    assert policy.least_gain(run, flops, parameters) == pytest.approx(needed, abs=2e-4)
    assert policy.least_gain(run, run.flops, run.parameters) == 0


def test_in_noise_what_was_gained_so_far_counts():
    assert stages_.reducible_loss(0.1, 2.3) == 0.1
    assert stages_.reducible_loss(0.64, 0.69) == pytest.approx(0.05)
    assert stages_.reducible_loss(0.8, 0.7) == 0.8  # nothing was gained


# limits of size


# the end of growth


def test_growth_is_over_when_the_shortest_race_does_not_fit_into_its_share():
    policy = Stages(share=0.25)
    shortest = 2 * stages_.MIN_STEPS / (12 * 100)
    assert policy.over(at(0.25 - shortest - 1e-6)) == ""
    assert policy.over(at(0.25 - shortest + 1e-6)) == "its share (25% of 100 epochs) has no room for another network"


@pytest.mark.parametrize(
    ("score", "validation", "is_over"),
    [
        (1.0, (1.0, 0.001), True),
        (1.0, (1.0, 0.1), False),
        (1.0, (0.99, 0.001), False),
        (0.9, (1.0, 0.001), False),
        (1.0, (None, None), True),
    ],
)
def test_growth_is_over_where_the_network_is_right(score, validation, is_over):
    entries = epochs(1.0, 0.01)
    entries[-1] |= {"score": score, "validation_score": validation[0], "validation_loss": validation[1]}
    run = at(budget=1000, history=History(epochs=entries, stages=[stage(True)]))
    assert Stages().over(run, 100) == ("the network is right on all samples" if is_over else "")


def test_growth_is_over_at_a_limit_of_size_and_says_which():
    run = at(budget=1000, model=mlp(3, 4, 2), limit=SizeLimit(units=4))
    assert Stages().over(run, 100) == "no further unit fits: the network is limited to 4 units (it has 4)"


def test_a_size_that_did_not_pay_is_not_tried_again():
    stages = [stage(False, 4.0, **{"0": 160}), stage(True, 2.0, **{"0": 80})]
    run = at(budget=1000, model=mlp(3, 80, 2), history=History(epochs=epochs(1.0), stages=stages), n=1000)
    assert Stages().over(run, 100) == "a network of 160 units did not pay before"
    stages = [stage(True, 0.25, **{"0": 16}), stage(False, 2.0, **{"0": 32})]
    run = at(budget=1000, model=mlp(3, 16, 2), history=History(epochs=epochs(1.0), stages=stages), n=1000)
    assert Stages().over(run, 100) == "a network of 64 units did not pay before"


def test_after_a_larger_size_that_paid_smaller_ones_that_did_not_end_nothing():
    """Such as eight units of a parity that needs more."""
    stages = [stage(False, 4.0, **{"0": 8}), stage(True, 16.0, **{"0": 32})]
    run = at(budget=1000, model=mlp(3, 32, 2), history=History(epochs=epochs(1.0), stages=stages), n=1000)
    assert Stages().over(run, 100) == ""


def test_failures_in_a_row_are_counted_from_the_end():
    policy = Stages()
    for outcomes, count in [("", 0), ("p", 0), ("f", 1), ("pf", 1), ("fpff", 2), ("ffp", 0)]:
        assert policy.failures([stage(letter == "p") for letter in outcomes]) == count
    said = policy.explain_failure([stage(True), stage(False), stage(False)])
    losses = "0.25 with growth, 0.5 without, 0.15 less needed"
    assert said == f"2 growth stages in a row did not lower the held-out loss enough ({losses})"
    assert policy.explain_failure([stage(False)]).startswith("1 growth stage in a row did not lower the held-out loss")


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


def test_a_slow_first_growth_step_does_not_end_growth_in_a_budget_of_seconds():
    """Otherwise a network of one unit would stay one, with most of its budget left."""
    run = at(budget="10 s")
    run.meter.seconds = 4.0
    assert Stages().has_room(run, 40)
    assert not Stages(0.28).has_room(run, 40)  # a share that was given is kept
    run.history.stages.append(stage(True))
    assert not Stages().has_room(run, 40)
    run = at(budget="10 s")
    run.meter.seconds = 6.0
    assert not Stages().has_room(run, 40)


@pytest.mark.parametrize(("budget", "spare"), [(100, 1), ("1e8 multiply-adds", 0)])
def test_uneven_batches_do_not_end_growth_in_a_budget_of_epochs(budget, spare):
    """They take up to a step more than was planned; of multiply-adds, which growth steps take too, none is spare."""
    for late, fits in ((spare - 0.5, True), (spare + 0.5, False)):
        run = at(budget=budget)
        assert Stages().has_room(at(stages_.SHARE - (40 - late) * run.step_progress, budget=budget), 40) == fits
