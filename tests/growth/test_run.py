"""A growth run an epoch at a time: growth at will, and the way back."""

from __future__ import annotations

import pytest
import torch

from creases.growth import GrowthConfig, Run, grow
from growth_runs import classes, mlp, same_tensors, timeless

OPTIONS = {"how": "fold", "when": 4, "budget": 14, "lr": 0.1, "batch_size": 20, "validation": 0.2}


def begun(**options) -> Run:
    given = {**OPTIONS, **options}
    validation = given.pop("validation")
    run = Run(mlp(3, 2, 2, seed=1), classes(), "classification", GrowthConfig(**given), validation=validation)
    run.start()
    return run


def model(run: Run) -> torch.nn.Module:
    return run.state.model


def epochs(run: Run, count: int) -> None:
    for _ in range(count):
        run.epoch()


@pytest.mark.slow
def test_epochs_by_hand_are_those_of_grow():
    run = begun()
    while not run.history.ended:
        run.epoch()
    run.finish()
    whole = grow(mlp(3, 2, 2, seed=1), classes(), "classification", **OPTIONS)
    assert same_tensors(model(run), whole.model)
    assert timeless(run.history) == timeless(whole.history)


@pytest.mark.parametrize("how", ["fold", "tiny", "gradmax", "random", "split"])
def test_grow_now_adds_units_before_it_is_time(how):
    run = begun(how=how, when=100)
    epochs(run, 10)
    before = dict(run.widths)
    record = run.grow_now()
    assert record is not None
    assert record.epoch == 10
    assert run.history.records == [record]
    assert sum(run.widths.values()) == sum(before.values()) + len(record.units)
    run.epoch()
    assert len(run.history.epochs) == 11


def test_grow_now_works_before_the_first_epoch():
    run = begun(how="tiny")
    assert run.grow_now() is not None
    run.epoch()
    assert run.history.records[0].epoch == 0


def test_grow_now_keeps_to_a_budget():
    run = begun(max_units=2, when=100)
    run.epoch()
    assert run.grow_now() is None
    assert run.history.records == []


def test_grow_now_tells_what_became_of_the_step_before():
    run = begun(when=100)
    epochs(run, 10)
    first = run.grow_now()
    epochs(run, 3)
    run.grow_now()
    assert first.later["epoch"] == 13


@pytest.mark.parametrize("how", ["fold", "tiny", "split"])
def test_a_run_goes_on_from_a_mark_as_if_nothing_had_been_and_again(how):
    straight, turned = begun(how=how, when=100), begun(how=how, when=100)
    epochs(straight, 6)
    epochs(turned, 3)
    mark = turned.snapshot()
    for _ in range(2):
        turned.grow_now()
        epochs(turned, 2)
        turned.restore(mark)
        epochs(turned, 3)
        assert same_tensors(model(turned), model(straight))
        assert timeless(turned.history) == timeless(straight.history)
        assert turned.best[0] == straight.best[0]
        turned.restore(mark)


@pytest.mark.slow
def test_back_from_the_end_leaves_a_run_that_goes_on():
    run = begun(when=3)
    mark = None
    while not run.history.ended:
        run.epoch()
        mark = mark or run.snapshot()
    run.finish()
    run.restore(mark)
    assert run.history.ended == ""
    assert len(run.history.epochs) == 1
    run.epoch()
