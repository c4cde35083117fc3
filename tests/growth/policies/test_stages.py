"""Stages of growth: how long they are, how many there are, and what ends them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases._text import plural
from creases.errors import InputError
from creases.growth import GrowthConfig, History, grow
from creases.growth.policies import SizeLimit, Stages
from creases.growth.policies import _stages as stages_
from growth_runs import classes, epochs, mlp, state

#: Samples, and samples in a batch: 12 steps in an epoch.
N, BATCH = 120, 10


def at(progress: float = 0.0, model=None, *, budget=100, history=None, stops=(), batch=BATCH):
    """The state of a run that has spent this share of its budget."""
    run = state(model, classes(N), history=history, budget=budget, batch_size=batch, stops=stops, metered=True)
    meter = run.meter
    if meter.budget.unit == "epochs":
        meter.epochs = progress * meter.budget.amount
    else:
        meter.multiply_adds = int(progress * meter.budget.amount)
    return run


def stage(pays: bool) -> dict:
    return {"pays": pays, "loss_grown": 0.25, "loss_training_on": 0.5, "error": 0.3, "needed": 0.15}


# lengths


def test_a_stage_takes_an_equal_part_of_what_growth_may_spend():
    """8 stages are trained twice, and the start once: 17 parts."""
    assert Stages(share=0.25).stage_length(at(budget=1000)) == int(0.25 * 1000 * 12 / 17)
    assert Stages(share=0.25).stage_length(at(budget=100)) == stages_.MIN_STEPS > int(0.25 * 100 * 12 / 17)


def test_in_a_short_run_races_are_shorter():
    assert Stages(share=0.25).stage_length(at(budget=20)) == int(0.9 * 0.25 * 20 * 12 / 2) < stages_.MIN_STEPS
    assert Stages(share=0.25).stage_length(at(budget=1)) == stages_.MIN_STEPS  # no race fits


@pytest.mark.parametrize(("budget", "widening"), [(20, 16), (60, 16), (80, 2), (120, 2), (1000, 2)])
def test_where_a_single_stage_fits_it_begins_at_once_and_widens_more(budget, widening):
    """In a quarter of the budget there is time for 1, 1, 2, 3 and many stages."""
    policy, run = Stages(share=0.25), at(budget=budget)
    assert policy.widening(run) == widening
    assert (policy.steps_left(run) == 0) == (widening > 2)


@pytest.mark.parametrize(("units", "widening"), [(2, 16), (4, 8), (6, 4), (16, 2), (500, 2)])
def test_a_short_run_does_not_make_wide_layers_wider_at_once(units, widening):
    run = at(budget=20, model=mlp(3, units, 2))
    assert Stages(share=0.25).widening(run) == widening


@pytest.mark.slow
@given(st.floats(0.05, 0.9), st.floats(0.0, 0.9), st.integers(0, 8), st.integers(50, 10_000))
@settings(max_examples=50, deadline=None)
def test_all_stages_to_come_fit_into_what_is_left(share, done, paid, budget):
    history = History(epochs=epochs(1.0), stages=[stage(True)] * paid)
    run = at(done * share, budget=budget, history=history)
    policy = Stages(share=share)
    length = policy.stage_length(run)
    left = policy.stages_left(run)
    assert left == max(8 - paid, 1)

    def cost(length):
        return (length * (left + (paid == 0)) + policy.race_length(length) * left) / (12 * budget)

    if length > stages_.MIN_STEPS:
        slack = left / (12 * budget)  # races end with a whole step
        assert cost(length) - slack <= share * (1 - done) + 1e-9 < cost(length + 1) + 1e-6


def test_wider_networks_take_more_of_a_budget_of_multiply_adds():
    run = at(budget="1e10 multiply-adds", model=mlp(3, 4, 2))
    policy = Stages(share=0.5)
    ratio = run.cost_ratio(2.0)
    assert ratio == 2.0  # one hidden layer: every product has the width once
    left = policy.stages_left(run)
    cost = sum(ratio ** (k - 1) / 4 + ratio**k for k in range(1, left + 1))  # a race takes a quarter of a long stage
    step = 3 * (3 * 4 + 4 * 2) * BATCH
    assert policy.stage_length(run) == int(0.5 * 1e10 / step / (1 + cost))


def test_a_product_between_two_layers_that_grow_gets_dearer_by_the_square():
    run = at(model=mlp(3, 4, 5, 2))
    before, after = 3 * 4 + 4 * 5 + 5 * 2, 3 * 8 + 8 * 10 + 10 * 2
    assert run.cost_ratio(2.0) == after / before
    uneven = (3 * 6 + 6 * 8 + 8 * 2) / before  # 1.5 * 5 is 8 units
    assert run.cost_ratio(1.5) == uneven


def test_the_first_stage_is_planned_once_and_counted_down():
    run = at(budget=1000, history=History(epochs=epochs(1.0, 1.0, steps=12)))
    policy = Stages(share=0.25)
    length = policy.stage_length(run)
    assert policy.steps_left(run) == length
    run.history.epochs = epochs(*[1.0] * 5, steps=12)
    assert policy.steps_left(run) == length - 3 * 12
    assert not policy(run)
    run.history.epochs = epochs(*[1.0] * 50, steps=12)
    assert policy(run)


@pytest.mark.parametrize(("budget", "share"), [(20, 0.2), (300, 0.2), (500, 0.1), (10_000, 0.1)])
def test_growth_has_a_tenth_of_the_budget_or_a_fifth_where_four_stages_do_not_fit_into_a_tenth(budget, share):
    """Four stages and the start take 9 x 50 steps: a tenth of 375 epochs of 12 steps."""
    run = at(budget=budget)
    assert Stages().share_of(run) == share
    assert run.history.growth_share == share


def test_where_a_limit_of_size_leaves_two_stages_a_tenth_has_to_have_room_for_two():
    """Two stages and the start take 5 x 50 steps: a tenth of 209 epochs."""
    for budget, share in ((200, 0.2), (210, 0.1)):
        run = at(budget=budget, model=mlp(3, 4, 2), stops=[SizeLimit(units=16)])
        assert Stages().share_of(run) == share


def test_the_share_is_chosen_once_and_stays_as_the_network_grows():
    history = History(epochs=epochs(1.0), growth_share=0.1)
    assert Stages().share_of(at(budget=20, history=history)) == 0.1
    assert History.from_json(history.to_json()).growth_share == 0.1
    assert Stages(share=0.3).share_of(at(budget=20, history=history)) == 0.3


@pytest.mark.parametrize(("budget", "needed"), [("1e10 multiply-adds", 0.03), ("10 s", 0.0), (100, 0.0)])
def test_a_stage_has_to_take_away_more_of_the_loss_the_more_it_costs(budget, needed):
    """1.5 % for each doubling of a step's cost. Here the time of a step is that to start it, whatever the size."""
    policy, run = Stages(), at(budget=budget)
    assert policy.least_gain(run, run.flops // 4) == pytest.approx(needed, abs=1e-4)
    assert policy.least_gain(run, 2 * run.flops) == 0


# limits of size


@pytest.mark.parametrize(
    ("units", "doublings", "quadruplings"),
    [(4, 1, 1), (5, 1, 1), (8, 1, 1), (9, 2, 1), (16, 2, 1), (17, 3, 2), (64, 4, 2), (65, 5, 3), (10**6, 8, 8)],
)
def test_no_more_stages_are_planned_than_a_limit_of_size_has_room_for(units, doublings, quadruplings):
    run = at(model=mlp(3, 4, 2), stops=[SizeLimit(units=units)])
    assert Stages(factor=2).stages_left(run) == doublings
    assert Stages(factor=4).stages_left(run) == quadruplings


def test_the_smallest_limit_counts():
    model = mlp(3, 4, 2)
    run = at(model=model, stops=[SizeLimit(units=1000, parameters=60), SizeLimit(flops=10**6)])
    assert run.parameters == 26
    assert Stages().stages_left(run) == 2


@pytest.mark.slow
@pytest.mark.thorough
@given(st.integers(1, 20), st.sampled_from(["random", "fold", "tiny"]), st.booleans())
@settings(max_examples=8, deadline=None)
def test_stages_grow_up_to_a_limit_of_units_and_no_further(limit, how, validated):
    options = {"how": how, "growth_share": 0.9, "batch_size": 10, "max_units": limit, "growth_patience": None}
    options |= {"budget": 150, "progress": False}
    held = classes(20, seed=3) if validated else None
    _, history = grow(mlp(3, 1, 2), classes(40), "classification", validation=held, **options)
    widths = [epoch["widths"]["0"] for epoch in history.epochs]
    assert max(widths) <= max(limit, 1)
    for record in history.records:
        if record.action == "grow":
            assert record.width[1] in {min(2**k * record.width[0], limit) for k in range(1, 6)}
    if widths[-1] == limit and "share" not in history.growth_ended:
        assert (
            history.growth_ended
            == f"no further unit fits: the network is limited to {plural(limit, 'unit')} (it has {limit})"
        )
    assert history.ended.startswith("the budget of 150 epochs is spent")


# the end of growth


def test_growth_is_over_when_the_shortest_stage_does_not_fit_into_its_share():
    policy = Stages(share=0.25)
    shortest = 2 * stages_.MIN_STEPS / (12 * 100)
    assert policy.over(at(0.25 - shortest - 1e-6)) == ""
    assert policy.over(at(0.25 - shortest + 1e-6)) == "its share of the budget (25% of 100 epochs) is spent"


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
        ({"growth_factor": 1}, "growth_factor must be a finite number above 1"),
        ({"growth_patience": 0}, "growth_patience must be a positive integer"),
    ],
)
def test_stages_that_cannot_be_are_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        GrowthConfig(**wrong)


def test_the_options_of_a_run_are_those_of_its_stages():
    config = GrowthConfig(growth_share=0.4, growth_factor=3.0, growth_patience=5)
    assert config.resolve_when() == Stages(0.4, 3.0, 5)
    assert GrowthConfig(growth_patience=None).resolve_when().patience > 10**6
