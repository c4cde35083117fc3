"""The learning rate over a run: annealed over the budget, constant, or as a torch scheduler says."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts, LambdaLR, OneCycleLR, StepLR

import creases.growth._sized as racing
from creases.errors import InputError
from creases.growth import Grower, GrowthConfig
from growth_runs import adam, classes, grow_and_save, mlp, same_tensors, trained

#: Growth in stages that one of 90 epochs of 3 steps has time for.
STAGES = {"when": "stages", "how": "random", "growth_share": 0.8, "budget": 90, "batch_size": 20}


class Watched(torch.optim.SGD):
    """An optimizer that notes the learning rates of its steps, by group."""

    def step(self, *args):
        self.rates = [*getattr(self, "rates", []), [float(group["lr"]) for group in self.param_groups]]
        return super().step(*args)


def groups(model) -> Watched:
    first, *rest = model.parameters()
    return Watched([{"params": [first], "lr": 0.3}, {"params": rest, "lr": 0.1}], momentum=0.5)


def run(model, optimizer, n=60, **options):
    return grow_and_save(model, classes(n), "classification", optimizer=optimizer, progress=False, **options)


@pytest.mark.slow
@given(st.integers(1, 12), st.sampled_from([7, 20, 60]), st.sampled_from([1, 3, 10**6]))
@settings(max_examples=6, deadline=None)
def test_the_cosine_falls_from_the_optimizers_own_rates_to_zero_over_the_budget(epochs, batch, when):
    model = mlp(3, 2, 2)
    optimizer = groups(model)
    run(model, optimizer, budget=epochs, batch_size=batch, when=when, how="random")
    sizes = [len(part) for part in torch.tensor_split(torch.arange(60), -(-60 // batch))] * epochs
    done = 0
    for size, rates in zip(sizes, optimizer.rates, strict=True):
        factor = 0.5 * (1 + math.cos(math.pi * done / (60 * epochs)))
        assert rates == pytest.approx([0.3 * factor, 0.1 * factor], rel=1e-6, abs=1e-9)  # progress is to 1e-9
        done += size
    assert 0.5 * (1 + math.cos(math.pi * done / (60 * epochs))) == 0


@pytest.mark.slow
def test_the_cosine_goes_by_what_is_spent_in_stages_too():
    """Both networks of a stage are paid for: the rate never rises, and ends close to zero."""
    model = mlp(3, 2, 2)
    optimizer = groups(model)
    history = run(model, optimizer, **STAGES).history
    assert history.stages
    rates = [first for first, _ in optimizer.rates]
    assert len(rates) == 90 * 3
    assert rates == pytest.approx([0.3 * 0.5 * (1 + math.cos(math.pi * k / 270)) for k in range(270)], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"when": 2, "budget": 6, "how": "random"}, STAGES])
def test_a_constant_rate_stays(options):
    model = mlp(3, 2, 2)
    optimizer = groups(model)
    history = run(model, optimizer, schedule="constant", **options).history
    assert history.records
    assert {tuple(rates) for rates in optimizer.rates} == {(0.3, 0.1)}


SCHEDULERS = [
    lambda optimizer: StepLR(optimizer, 7, gamma=0.9),
    lambda optimizer: LambdaLR(optimizer, [lambda k: 1 / (1 + k), lambda k: 0.99**k]),
    lambda optimizer: OneCycleLR(optimizer, [0.5, 0.2], total_steps=400),
    lambda optimizer: CosineAnnealingWarmRestarts(optimizer, 10),
]


@pytest.mark.thorough
@pytest.mark.parametrize("make", SCHEDULERS)
@pytest.mark.parametrize("options", [{"when": 2, "budget": 8, "how": "random", "batch_size": 20}, STAGES])
@pytest.mark.parametrize("given_as", ["function", "scheduler"])
def test_a_torch_scheduler_is_stepped_with_the_optimizer_and_keeps_its_sequence_through_growth(make, options, given_as):
    model = mlp(3, 2, 2)
    optimizer = groups(model)
    history = run(model, optimizer, schedule=make if given_as == "function" else make(optimizer), **options).history
    assert history.records
    alone = groups(mlp(3, 2, 2))
    scheduler, expected = make(alone), []
    for _ in optimizer.rates:
        expected.append([group["lr"] for group in alone.param_groups])
        alone.step()
        scheduler.step()
    assert len(expected) == options["budget"] * 3
    assert optimizer.rates == expected


def test_groups_stay_the_same_dicts_when_a_stage_is_undone(monkeypatch):
    monkeypatch.setattr(racing, "compare_losses", lambda *losses: (0.0, 1.0))
    model, data = mlp(3, 2, 2, seed=1), classes(30)
    x, y = data[0], torch.randint(0, 2, (30,), generator=torch.Generator().manual_seed(0))
    optimizer = adam(model)
    group, scheduler = optimizer.param_groups[0], StepLR(optimizer, 5, gamma=0.5)
    grower = Grower(model, optimizer, (x, y), "classification", how="random", budget=60, validation=(x, y))
    rates = []
    while not grower.history.ended:
        rates.append(group["lr"])
        trained(grower, (x, y), 1)
        scheduler.step()
    assert any(record.undone for record in grower.history.records)
    assert optimizer.param_groups[0] is group
    assert rates == pytest.approx([0.02 * 0.5 ** (k // 5) for k in range(60)])


def test_a_grower_never_touches_the_learning_rate():
    model, data = mlp(3, 2, 2), classes(40)
    optimizer = adam(model, 0.07)
    trained(Grower(model, optimizer, data, "classification", how="random", budget=30), data, 30)
    assert optimizer.param_groups[0]["lr"] == 0.07


def test_a_second_run_with_the_same_optimizer_begins_with_its_own_rate_again():
    model = mlp(3, 2, 2)
    optimizer = groups(model)
    for _ in range(2):
        optimizer.rates = []
        run(model, optimizer, budget=3, when=10**6)
        assert optimizer.rates[0] == [0.3, 0.1]


class Stopped(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["cosine", "constant", SCHEDULERS[2]])
@pytest.mark.parametrize("at", [1, 3, 4])
def test_a_run_that_is_resumed_has_the_rates_of_the_one_that_was_left_alone(schedule, at, tmp_path):
    def strike(state):
        if len(state.history.epochs) > at:
            raise Stopped

    options = {"schedule": schedule, "when": 2, "how": "random", "batch_size": 20, "budget": 6}
    models, optimizers = zip(*((model, groups(model)) for model in (mlp(3, 2, 2) for _ in range(3))), strict=True)
    run(models[0], optimizers[0], **options)
    checkpoint = {"checkpoint": tmp_path / "run.pt"}
    with pytest.raises(Stopped):
        run(models[1], optimizers[1], callbacks=[strike], **checkpoint, **options)
    run(models[2], optimizers[2], **checkpoint, **options)
    assert optimizers[2].rates == optimizers[0].rates[3 * at :]
    assert same_tensors(models[0], models[2])


@pytest.mark.parametrize("wrong", ["linear", None, 0.1, ["cosine"]])
def test_what_is_no_schedule_is_refused(wrong):
    with pytest.raises(InputError, match="schedule must be 'cosine', 'constant', a torch scheduler of your optimizer"):
        GrowthConfig(schedule=wrong)


def test_the_scheduler_of_another_optimizer_is_refused():
    other = adam(mlp(3, 2, 2))
    with pytest.raises(InputError, match="schedule must be a scheduler of the optimizer that trains the model"):
        run(mlp(3, 2, 2), "adamw", schedule=StepLR(other, 3), budget=1)
    with pytest.raises(InputError, match="schedule must be a scheduler of the optimizer that trains the model"):
        run(mlp(3, 2, 2), "adamw", schedule=lambda optimizer: optimizer, budget=1)
