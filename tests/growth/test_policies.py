"""Where, when, stop: each is a function of the run's state, and a user's own function does as well."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from creases.errors import InputError
from creases.growth import History
from creases.growth._state import SizeLimit
from creases.growth.policies import At, Target
from creases.growth.policies._policies import no_improvement, nothing_to_add, resolve_when
from growth_runs import classes, epochs, mlp, record, round_robin, state

losses = st.lists(st.floats(-10, 10), min_size=1, max_size=30)


def names(places) -> list[str]:
    return [place.name for place in places]


# where


def test_one_place_or_some_in_their_order_and_no_other():
    run = state(mlp(3, 2, 2, 2, 2))
    assert names(At("2")(run)) == ["2"]
    assert names(At(("4", "0"))(run)) == ["4", "0"]
    with pytest.raises(
        InputError, match="where must be a place of the model that can grow, one of \\['0', '2', '4'\\], got '6'"
    ):
        At("6")(run)


# when


def test_a_number_is_that_of_epochs_since_the_last_growth_step():
    every = resolve_when(3)
    due = [every(state(history=History(epochs=epochs(*[1.0] * n), records=[record(2)]))) for n in range(2, 7)]
    assert due == [False, False, False, True, True]


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


def test_without_a_limit_there_is_room_for_any_unit():
    run = state()
    assert SizeLimit().reached(run) == ""
    assert SizeLimit(units=9).available_units(run, run.places[0]) == 5
    assert SizeLimit(parameters=1).reached(run) == (
        "no further unit fits: the network is limited to 1 parameter (it has 20)"
    )


def test_a_limit_of_parameters_leaves_room_for_whole_units():
    run = state(mlp(3, 2, 2, 2), where="0")
    place = run.places[0]
    assert (place.cost, run.parameters) == (6, 20)
    assert [SizeLimit(parameters=n).available_units(run, place) for n in (20, 25, 26, 31, 32, 19)] == [0, 0, 1, 1, 2, 0]
    assert SizeLimit(parameters=25).reached(run)
    assert not SizeLimit(parameters=26).reached(run)


def test_a_limit_of_size_asks_for_room_where_the_run_grows():
    run = state(mlp(3, 2, 20, 2), where="0")  # one unit at "0" costs 24, at "2" 5
    assert SizeLimit(parameters=run.parameters + 10).reached(run)
    assert not SizeLimit(parameters=run.parameters + 24).reached(run)


def test_operations_are_counted_by_hand_for_a_linear_network():
    run = state(mlp(3, 2, 5, 2))
    assert run.flops == 2 * (3 * 2 + 2 * 5 + 5 * 2)


def test_no_improvement_counts_growth_steps_in_a_row():
    held = [0.5, 0.4, 0.4, 0.4, 0.41, 0.39, 0.39]
    for steps, wanted in [([2], ""), ([2, 3], "2 growth steps"), ([2, 3, 5], "")]:
        stop = max(steps) + 1
        history = History(epochs=epochs(*[1.0] * stop, validation=held[:stop]), records=[record(k) for k in steps])
        assert no_improvement(state(history=history), 2).startswith(wanted)
        assert bool(no_improvement(state(history=history), 2)) == bool(wanted)


@given(losses)
def test_no_improvement_never_stops_a_loss_that_falls_whatever_its_sign(given_losses):
    falling = [loss - 30.0 * k for k, loss in enumerate(given_losses)]
    history = History(epochs=epochs(*falling), records=[record(k) for k in range(1, len(falling))])
    assert no_improvement(state(history=history), 1) == ""


def test_nothing_to_add_says_why_for_every_place():
    x, y = classes()
    run = state(mlp(3, 2, 2, 2), (x, y), how=lambda model, place, evidence: _none(model, place), where=round_robin)
    run.history = History(epochs=epochs(0.5), idle=2)
    assert nothing_to_add(run) == "no unit is worth adding ('0': for a test; '2': for a test)"


def test_one_refusal_may_be_chance_and_three_in_a_row_are_not():
    run = state(mlp(3, 2, 2), classes(), how=lambda model, place, evidence: _none(model, place))
    for idle, wanted in ((0, ""), (1, ""), (2, "no unit is worth adding ('0': for a test)")):
        run.history = History(epochs=epochs(0.5), idle=idle)
        assert nothing_to_add(run) == wanted


# names, and functions in their place


def _none(model, place):
    from creases.growth import Proposal

    reason = {"method": "mine", "place": place.name, "reason": "for a test"}
    return Proposal("mine", place, torch.zeros(0, 3), torch.zeros(0), {}, 0.0, reason)
