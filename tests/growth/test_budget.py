"""One budget for a run, in epochs, seconds or multiply-adds: as users write it, metered, and never exceeded."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from creases.errors import InputError
from creases.growth import Grower, GrowthConfig, grow
from creases.growth import _budget as budgets
from creases.growth._budget import Budget, Meter, count_cost
from creases.growth._config import AUTO_STEPS, MAX_EPOCHS, MIN_EPOCHS
from growth_runs import adam, classes, conv, mlp, round_robin, same_tensors

amounts = st.floats(1e-3, 1e15)


# as users write it


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        (20, 20, "epochs"),
        (2.5, 2.5, "epochs"),
        ("20", 20, "epochs"),
        ("1 epoch", 1, "epochs"),
        ("60 s", 60, "seconds"),
        ("60s", 60, "seconds"),
        ("1 second", 1, "seconds"),
        ("90 seconds", 90, "seconds"),
        ("5 min", 300, "seconds"),
        ("2 Minutes", 120, "seconds"),
        ("0.5 h", 1800, "seconds"),
        ("2 hours", 7200, "seconds"),
        ("2e12 multiply-adds", 2e12, "multiply-adds"),
        (" 3E+9 MACs ", 3e9, "multiply-adds"),
    ],
)
def test_a_budget_is_a_number_of_epochs_or_a_number_with_its_unit(text, amount, unit):
    assert Budget.parse(text) == Budget(amount, unit)


@given(amounts, st.sampled_from(["epochs", "seconds", "multiply-adds"]))
def test_a_budget_is_read_back_as_it_is_written(amount, unit):
    again = Budget.parse(str(Budget(amount, unit)))
    assert again.unit == unit
    assert again.amount == pytest.approx(amount, rel=1e-5)


@pytest.mark.parametrize(
    "wrong", ["soon", "", "5 parsecs", "-3", "1.2.3 s", "5 ms", "0 s", "inf", "nan", None, True, [20], "20 epochs more"]
)
def test_what_is_no_budget_is_refused_with_examples(wrong):
    with pytest.raises(InputError, match="budget must be 'auto', a number of epochs, or a text such as '30 epochs'"):
        GrowthConfig(budget=wrong)


@pytest.mark.parametrize("wrong", [0, -2, math.inf, math.nan])
def test_a_budget_is_positive_and_finite(wrong):
    with pytest.raises(InputError, match="budget must be positive and finite"):
        GrowthConfig(budget=wrong)


def test_the_automatic_budget_has_enough_epochs_and_enough_steps():
    config = GrowthConfig()
    for steps in (1, 7, 199, 200, 201, 10_000):
        budget = config.resolve_budget(steps)
        assert budget.unit == "epochs"
        assert MIN_EPOCHS <= budget.amount <= MAX_EPOCHS
        assert budget.amount == MAX_EPOCHS or budget.amount * steps >= AUTO_STEPS
        assert budget.amount == MIN_EPOCHS or (budget.amount - 1) * steps < AUTO_STEPS
    assert config.resolve_budget(None) == Budget(MIN_EPOCHS)


# the meter


@given(amounts, st.lists(st.integers(1, 10), min_size=1, max_size=20))
@example(1.0, [1] * 10)
def test_the_meter_counts_epochs_and_multiply_adds_side_by_side(amount, batches):
    meter = Meter(Budget(amount, "multiply-adds"), 10)
    for batch in batches:
        meter.train(batch, 7)
    assert meter.epochs == pytest.approx(sum(batches) / 10)
    assert meter.multiply_adds == meter.spent == 3 * 7 * sum(batches)
    assert meter.progress == pytest.approx(min(3 * 7 * sum(batches) / amount, 1), rel=1e-8)


@given(st.integers(1, 200), st.integers(1, 5))
def test_an_epoch_in_parts_is_a_whole_one(n, amount):
    meter = Meter(Budget(amount), n)
    for _ in range(n * amount):
        assert meter.progress < 1
        meter.train(1, 0)
    assert meter.progress == 1


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    time = {"now": 0.0}
    monkeypatch.setattr(budgets.time, "monotonic", lambda: time["now"])
    return time


def test_seconds_go_on_from_where_a_run_was_stopped(clock):
    meter = Meter(Budget(10, "seconds"), 5)
    clock["now"] += 4
    meter.read_clock()
    assert meter.progress == pytest.approx(0.4)
    numbers = meter.numbers
    clock["now"] += 1000  # the run is stopped
    again = Meter(Budget(10, "seconds"), 5)
    again.resume(numbers)
    clock["now"] += 1
    again.read_clock()
    assert again.seconds == pytest.approx(5)
    assert again.progress == pytest.approx(0.5)


def test_the_time_between_the_end_of_a_run_and_its_extension_does_not_count(clock):
    model = mlp(3, 2, 2)
    grower = Grower(model, adam(model), classes(20), "classification", how="random", budget="2 s")
    clock["now"] += 3
    grower.step()
    assert grower.history.ended == "the budget of 2 seconds is spent"
    clock["now"] += 1000
    grower.extend("10 s")
    clock["now"] += 1
    grower.step()
    assert grower.history.last["seconds"] == pytest.approx(4)
    assert not grower.history.ended


# runs


def spent(history) -> list[float]:
    return [epoch["progress"] for epoch in history.epochs]


@pytest.mark.slow
@given(
    st.floats(0.05, 6), st.integers(1, 40), st.one_of(st.none(), st.integers(1, 50)), st.sampled_from(["stages", 1, 3])
)
@settings(max_examples=15, deadline=None)
def test_epochs_are_not_exceeded_by_more_than_a_step(amount, n, batch, when):
    options = {"how": "random", "when": when, "budget": amount, "batch_size": batch, "progress": False}
    _, history = grow(mlp(3, 2, 2), classes(n), "classification", **options)
    steps_per_epoch = 1 if batch is None else -(-n // batch)
    assert history.last["steps"] == max(math.ceil(amount * steps_per_epoch - 1e-6), 1)
    assert history.ended == f"the budget of {Budget(amount)} is spent"
    assert amount <= history.last["epochs"] * (1 + 1e-8) < amount + -(-n // steps_per_epoch) / n + 1e-9
    assert spent(history) == sorted(spent(history))


def count_by_torch(make, data, **options) -> tuple[int, int]:
    """Multiply-adds of a run by its own count, and as torch counts them, without those of measurements."""
    model = make()
    forward = []

    def counted(module, inputs):
        forward.append((len(inputs[0]), module.training))

    model.register_forward_pre_hook(counted)
    _, history = grow(model, data, "classification", progress=False, **options)
    with count_cost() as cost:
        make()(data[0][:1])
    trained_on = sum(n for n, training in forward if training)
    return history.last["multiply_adds"], 3 * cost.multiply_adds * trained_on


@pytest.mark.parametrize(("make", "shape"), [(lambda: mlp(3, 4, 5, 2), (3,)), (conv, (1, 6, 6))])
def test_a_training_step_costs_three_forward_passes(make, shape):
    options = {"how": "random", "when": lambda state: False, "budget": 3, "batch_size": 20}
    ours, torchs = count_by_torch(make, classes(50, shape), **options)
    assert ours == torchs > 0


def test_growth_steps_are_charged():
    data = classes(60)
    options = {"how": "gradmax", "when": 2, "where": round_robin, "budget": 5, "progress": False}
    model, history = grow(mlp(3, 2, 2), data, "classification", **options)
    training = {True: 0, False: 0}
    for epoch, before in zip(history.epochs, [{"multiply_adds": 0}, *history.epochs], strict=False):
        width = epoch["widths"]["0"]
        step = 3 * 60 * (3 * width + width * 2)
        after_growth = any(record.epoch == epoch["epoch"] - 1 for record in history.records)
        extra = epoch["multiply_adds"] - before["multiply_adds"] - step
        assert (extra > 0) == after_growth
        training[after_growth] += 1
    assert training == {True: 2, False: 3}
    assert model[0].out_features == 4


def test_a_run_within_seconds_ends_when_they_are_over(clock):
    steps = []

    class Slow(torch.optim.SGD):
        def step(self, *args):
            clock["now"] += 0.25  # of a computer that does nothing else
            steps.append(clock["now"])
            return super().step(*args)

    options = {"optimizer": lambda parameters: Slow(parameters, lr=0.1), "batch_size": 20, "progress": False}
    _, history = grow(mlp(3, 2, 2), classes(60), "classification", when=10**6, budget="2 s", **options)
    assert len(steps) == 8
    assert history.ended == "the budget of 2 seconds is spent"
    assert history.last["seconds"] == 2.0


# loaders


class Stream(IterableDataset):
    """Samples that come one by one, nobody says how many."""

    def __iter__(self):
        return iter(list(zip(*classes(45), strict=True)))


def test_a_loader_that_does_not_say_its_length_counts_whole_epochs():
    loader = DataLoader(Stream(), batch_size=10)
    options = {"how": "random", "budget": 8, "growth_share": 0.7, "progress": False}
    _, history = grow(mlp(3, 2, 2), loader, "classification", **options)
    assert history.stages
    assert [epoch["steps"] - 5 * k for k, epoch in enumerate(history.epochs, 1)] == [0] * len(history.epochs)
    races = sum(stage["steps"] - history.epochs[stage["epoch"] - 1]["steps"] for stage in history.stages)
    assert history.last["epochs"] == 8 == len(history.epochs) + races // 5
    assert history.ended == "the budget of 8 epochs is spent"


def test_a_loader_that_does_not_say_its_length_is_metered_in_multiply_adds():
    loader = DataLoader(Stream(), batch_size=10)
    options = {"when": lambda state: False, "schedule": "constant", "progress": False}
    step = 3 * 10 * 10  # of ten samples
    _, history = grow(mlp(3, 2, 2), loader, "classification", budget=f"{11 * step} multiply-adds", **options)
    assert [epoch["multiply_adds"] for epoch in history.epochs] == [4.5 * step, 9 * step, 11 * step]
    grower = Grower(mlp(3, 2, 2), None, loader, "classification", budget="4000 multiply-adds")
    with pytest.raises(InputError, match="budget must be epochs or seconds for a loader that does not say how many"):
        grower.step()


def test_a_loader_counts_the_samples_it_gives():
    data = TensorDataset(*classes(45))
    for drop, steps in ((True, 4), (False, 5)):
        loader = DataLoader(data, batch_size=10, drop_last=drop)
        options = {"when": lambda state: False, "budget": 3, "progress": False}
        _, history = grow(mlp(3, 2, 2), loader, "classification", **options)
        assert [epoch["steps"] for epoch in history.epochs] == [steps, 2 * steps, 3 * steps]
        assert [epoch["epochs"] for epoch in history.epochs] == pytest.approx([1, 2, 3])


# a loop of the user's own


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("validated", [True, False])
def test_a_budget_of_one_epoch_is_enough_for_a_run(n, validated):
    data = classes(n)
    start, model = mlp(3, 1, 1, 2), mlp(3, 1, 1, 2)
    validation = classes(1, seed=2) if validated else None
    _, history = grow(model, data, "classification", budget=1, validation=validation, progress=False)
    assert (len(history.epochs), history.kept) == (1, 1)
    assert history.ended == "the budget of 1 epoch is spent"
    assert not same_tensors(start, model)
