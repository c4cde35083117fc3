"""Where, when, stop: each is a function of the run's state, and a user's own function does as well."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from creases.errors import InputError
from creases.growth import History
from creases.growth.methods._random import Random
from creases.growth.methods._registry import resolve_method
from creases.growth.methods.expressivity import bottleneck, statistics
from creases.growth.policies import (
    At,
    Every,
    NoImprovement,
    NothingToAdd,
    Plateau,
    SizeLimit,
    Target,
    largest_bottleneck,
)
from creases.growth.policies._stop import resolve_stops
from creases.growth.policies._when import resolve_when
from creases.growth.policies._where import resolve_where
from growth_runs import classes, epochs, mlp, record, round_robin, state, values

losses = st.lists(st.floats(-10, 10), min_size=1, max_size=30)


def names(places) -> list[str]:
    return [place.name for place in places]


# where


def test_the_largest_bottleneck_comes_first():
    run = state(mlp(3, 2, 4, 2))
    batches, _ = run.evidence.draw(1000)
    lack = {one.name: bottleneck(statistics(run.model, one, batches, run.objective.loss)) for one in run.places}
    assert set(lack) == {"0", "2"}
    assert names(largest_bottleneck(run)) == sorted(lack, key=lambda name: -lack[name])


def test_one_place_or_some_in_their_order_and_no_other():
    run = state(mlp(3, 2, 2, 2, 2))
    assert names(At("2")(run)) == ["2"]
    assert names(At(("4", "0"))(run)) == ["4", "0"]
    with pytest.raises(
        InputError, match="where must be a place of the model that can grow, one of \\['0', '2', '4'\\], got '6'"
    ):
        At("6")(run)


@pytest.mark.parametrize("policy", [largest_bottleneck, At(("2", "0"))])
def test_the_same_state_gives_the_same_places(policy):
    run = state(how="tiny")
    assert names(policy(run)) == names(policy(run)) == names(policy(state(how="tiny")))


# when


def test_a_plateau_is_some_epochs_without_a_new_best():
    for count, due in [(3, False), (4, True), (9, True)]:
        history = History(epochs=epochs(1.0, 0.5, *[0.5] * count))
        assert Plateau(patience=4, threshold=0.01)(state(history=history)) is due


def test_a_plateau_counts_from_the_last_growth_step():
    history = History(epochs=epochs(*[0.5] * 9), records=[record(6)])
    assert not Plateau(patience=4)(state(history=history))


@pytest.mark.slow
@given(losses, st.integers(1, 5))
def test_a_falling_loss_is_no_plateau_whatever_its_sign(given_losses, patience):
    falling = [loss - 30.0 * k for k, loss in enumerate(given_losses)]
    assert not Plateau(patience=patience)(state(history=History(epochs=epochs(*falling))))
    rising = sorted(given_losses) + [max(given_losses)] * patience
    assert Plateau(patience=patience)(state(history=History(epochs=epochs(*rising))))


def test_every_n_epochs_and_every_n_steps():
    due = [Every(epochs=3)(state(history=History(epochs=epochs(*[1.0] * n), records=[record(2)]))) for n in range(2, 7)]
    assert due == [False, False, False, True, True]
    for n, wanted in [(4, False), (5, True), (6, True)]:
        history = History(epochs=epochs(*[1.0] * n, steps=7), records=[record(2, steps=14)])
        assert Every(steps=20)(state(history=history)) is wanted


# stop


def test_a_target_is_reached_on_validation_data_where_there_are_any():
    history = History(epochs=epochs(0.05, validation=[0.2]))
    run = state(history=history, due=False)
    assert Target(score=0.9)(run) == ""
    assert Target(score=0.9, on="training")(run) == "the training score reached 0.95 (target 0.9)"
    assert Target(score=0.8)(run) == "the validation score reached 0.8 (target 0.8)"
    assert Target(loss=0.2)(run) == "the validation loss reached 0.2 (target 0.2)"
    assert Target(loss=0.19)(run) == ""


def test_targets_that_can_never_be_reached_are_refused():
    run = state(history=History(epochs=epochs(0.5)))
    with pytest.raises(InputError, match="validation must be given for Target"):
        Target(loss=0.1, on="validation")(run)
    run.history.epochs[0]["score"] = None
    with pytest.raises(InputError, match=r"as this loss has no score; use Target\(loss=...\)"):
        Target(score=0.9)(run)
    with pytest.raises(InputError, match="Target must have a score or a loss to reach"):
        Target()
    with pytest.raises(InputError, match="on must be 'validation', 'training' or None, got 'test'"):
        Target(loss=0.1, on="test")


def test_a_limit_of_size_is_asked_when_it_is_time_to_grow_only():
    run = state(due=False)
    assert SizeLimit(parameters=1)(run) == ""
    run.due = True
    assert SizeLimit(parameters=1)(run) == "no further unit fits: the network is limited to 1 parameter (it has 20)"


def test_a_limit_of_parameters_leaves_room_for_whole_units():
    run = state(mlp(3, 2, 2, 2), where="0")
    place = run.places[0]
    assert (place.cost, run.parameters) == (6, 20)
    assert [SizeLimit(parameters=n).available_units(run, place) for n in (20, 25, 26, 31, 32, 19)] == [0, 0, 1, 1, 2, 0]
    assert SizeLimit(parameters=25)(run)
    assert not SizeLimit(parameters=26)(run)


def test_a_limit_of_size_asks_for_room_where_the_run_grows():
    run = state(mlp(3, 2, 20, 2), where="0")  # one unit at "0" costs 24, at "2" 5
    assert SizeLimit(parameters=run.parameters + 10)(run)
    assert not SizeLimit(parameters=run.parameters + 24)(run)


def test_operations_are_counted_by_hand_for_a_linear_network():
    run = state(mlp(3, 2, 5, 2))
    assert run.flops == 2 * (3 * 2 + 2 * 5 + 5 * 2)
    assert [run.flops_per_unit(place) for place in run.places] == [2 * (3 + 5), 2 * (2 + 2)]
    limits = [SizeLimit(flops=run.flops + more) for more in (0, 15, 16, 33)]
    assert [limit.available_units(run, run.places[0]) for limit in limits] == [0, 0, 1, 2]
    assert "operations" in SizeLimit(flops=run.flops)(run)


def test_a_limit_of_growth_steps_counts_those_that_grow():
    history = History(epochs=epochs(1.0), records=[record(0, action="revive"), record(1), record(1, action="narrow")])
    assert SizeLimit(growth_steps=2)(state(history=history)) == "reached the limit of 2 growth steps"
    assert SizeLimit(growth_steps=3)(state(history=history)) == ""


@pytest.mark.parametrize("wrong", [{}, {"parameters": -1}])
def test_limits_of_nothing_are_refused(wrong):
    with pytest.raises(InputError, match="SizeLimit must have parameters, flops, units or growth_steps"):
        SizeLimit(**wrong)


def test_no_improvement_counts_growth_steps_in_a_row():
    held = [0.5, 0.4, 0.4, 0.4, 0.41, 0.39, 0.39]
    for steps, wanted in [([2], ""), ([2, 3], "2 growth steps"), ([2, 3, 5], "")]:
        stop = max(steps) + 1
        history = History(epochs=epochs(*[1.0] * stop, validation=held[:stop]), records=[record(k) for k in steps])
        assert NoImprovement(patience=2)(state(history=history)).startswith(wanted)
        assert bool(NoImprovement(patience=2)(state(history=history))) == bool(wanted)


@given(losses)
def test_no_improvement_never_stops_a_loss_that_falls_whatever_its_sign(given_losses):
    falling = [loss - 30.0 * k for k, loss in enumerate(given_losses)]
    history = History(epochs=epochs(*falling), records=[record(k) for k in range(1, len(falling))])
    assert NoImprovement(patience=1)(state(history=history)) == ""


def test_no_improvement_goes_by_the_score_where_that_is_asked_for():
    history = History(epochs=epochs(0.5, 0.4, 0.4, 0.4), records=[record(2), record(3)])
    history.epochs[-1]["score"] = 0.9
    assert NoImprovement(patience=1, by="loss")(state(history=history))
    assert not NoImprovement(patience=1, by="score")(state(history=history))
    history.epochs[-1]["score"] = None
    with pytest.raises(InputError, match="this loss has no score, got by='score'"):
        NoImprovement(by="score")(state(history=history))
    with pytest.raises(InputError, match="by must be 'loss' or 'score', got 'accuracy'"):
        NoImprovement(by="accuracy")


def test_nothing_to_add_says_why_for_every_place():
    x, y = classes()
    run = state(mlp(3, 2, 2, 2), (x, y), how=lambda model, place, evidence: _none(model, place), where=round_robin)
    run.history.epochs = epochs(0.5)
    assert NothingToAdd(patience=1)(run) == "no unit is worth adding ('0': for a test; '2': for a test)"


def test_one_refusal_may_be_chance_and_three_in_a_row_are_not():
    run = state(mlp(3, 2, 2), classes(), how=lambda model, place, evidence: _none(model, place))
    for idle, wanted in ((0, ""), (1, ""), (2, "no unit is worth adding ('0': for a test)")):
        run.history = History(epochs=epochs(0.5), idle=idle)
        assert NothingToAdd()(run) == wanted


def test_nothing_to_add_looks_at_the_gain_beside_the_loss():
    run = state(how="tiny", history=History(epochs=epochs(0.5)))
    gain = max(run.propose(place).gain for place in run.places)
    assert NothingToAdd(tau=0.9 * gain / 0.5)(run) == ""
    assert "is too small" in NothingToAdd(tau=1.1 * gain / 0.5, patience=1)(run)


def test_growth_always_ends_where_nothing_can_be_added():
    mine = lambda state: ""  # noqa: E731
    assert resolve_stops(mine) == [mine, NothingToAdd()]
    assert resolve_stops([NothingToAdd(0.1)]) == [NothingToAdd(0.1)]


# names, and functions in their place


def test_functions_of_the_state_take_the_place_of_every_policy():
    def mine(state):
        return None

    assert resolve_when(mine) is resolve_where(mine) is resolve_method(mine) is resolve_stops(mine)[0] is mine


@pytest.mark.parametrize(
    ("make", "wrong", "says"),
    [
        (resolve_when, "sometimes", "when must be a number of epochs, a function, 'stages' or 'plateau'"),
        (resolve_when, 2.5, "when must be a number of epochs"),
        (resolve_when, True, "when must be a number of epochs"),
        (resolve_when, 0, "Every must have either epochs or steps, a positive integer"),
        (resolve_when, Plateau, "when must be a number of epochs"),
        (resolve_where, ["0", "2"], r"where must be one of .* At\(\('0', '2'\)\)"),
        (resolve_where, At, "where must be one of"),
        (resolve_method, "magic", "how must be a function or one of 'auto', 'tiny', 'fold'.*got 'magic'"),
        (resolve_method, ["tiny"], "how must be a function"),
        (resolve_method, Random, "how must be a function"),
        (resolve_stops, None, "stop must be a policy"),
        (resolve_stops, ["enough"], "stop must be a policy"),
        (resolve_stops, Target, "stop must be a policy"),
    ],
)
def test_what_is_no_policy_is_refused_with_what_to_give(make, wrong, says):
    with pytest.raises(InputError, match=says):
        make(wrong)


def test_policies_leave_the_model_and_the_random_numbers_alone():
    run = state(mlp(1, 2, 2, 1), values(), how="tiny", history=History(epochs=epochs(0.5)))
    before = [tensor.clone() for tensor in run.model.state_dict().values()]
    numbers = torch.random.get_rng_state()
    for policy in (largest_bottleneck, NothingToAdd(1e-3), SizeLimit(flops=10**6)):
        policy(run)
    assert torch.equal(numbers, torch.random.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(before, run.model.state_dict().values(), strict=True))


def _none(model, place):
    from creases.growth import Proposal

    reason = {"method": "mine", "place": place.name, "reason": "for a test"}
    return Proposal("mine", place, torch.zeros(0, 3), torch.zeros(0), {}, 0.0, reason)
