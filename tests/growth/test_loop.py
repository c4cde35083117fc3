"""``creases.grow``: training and growth in one, the same for the same seed, with nothing else touched."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import creases
from creases import problems
from creases.errors import FileError, InputError
from creases.growth.policies import Target
from growth_runs import classes, grow_and_save, mlp, round_robin, same_tensors, timeless, values
from thorough_cases import keep

SHORT = {"how": "random", "when": 3, "where": round_robin, "budget": 10, "lr": 0.02, "schedule": "constant"}


def run(model=None, data=None, loss="classification", **options):
    return grow_and_save(model or mlp(3, 2, 2, 2, seed=3), data or classes(), loss, **{**SHORT, **options})


@pytest.mark.slow
def test_growth_from_two_units_learns_what_two_units_cannot():
    X, y = problems.get("circle", n=300)
    fixed = run(mlp(2, 2, 2, seed=1), (X, y), when=lambda state: False, budget=100)
    assert fixed.history.last["score"] < 0.9
    for how in ("tiny", "fold"):
        options = {"how": how, "when": 10, "growth_patience": 3, "weight_decay": 0.1}
        options |= {"stop": Target(score=0.98, on="training")}
        grown = run(mlp(2, 2, 2, seed=1), (X, y), budget=300, **options)
        assert grown.history.last["score"] >= 0.98
        assert "the training score reached" in grown.history.ended


def test_the_model_is_changed_in_place_and_returned():
    model = mlp(3, 2, 2)
    parts = list(model.modules())
    grown = run(model)
    assert grown.model is model
    assert list(model.modules()) == parts
    assert model[0].out_features > 2


@pytest.mark.slow
@pytest.mark.parametrize("how", keep(["tiny", "fold", "gradmax", "random", "split"], "tiny", "fold"))
def test_the_same_seed_gives_the_same_network_and_another_another(how):
    one, again, other = (run(how=how, seed=seed, batch_size=40, validation=0.2) for seed in (1, 1, 2))
    assert same_tensors(one.model, again.model)
    assert timeless(one.history) == timeless(again.history)
    assert not same_tensors(one.model, other.model)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrays", "loader", "loader with its own generator"])
def test_what_was_drawn_before_makes_no_difference_and_is_as_it_was_after(kind):
    x, y = classes()
    found = []
    for seed in (1, 2):
        numbers = torch.Generator().manual_seed(seed) if "own" in kind else None
        loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True, generator=numbers)
        torch.manual_seed(seed)
        before = torch.random.get_rng_state()
        found.append(run(mlp(3, 2, 2, dropout=0.2), (x, y) if kind == "arrays" else loader))
        assert torch.equal(before, torch.random.get_rng_state())
        assert numbers is None or torch.equal(numbers.get_state(), torch.Generator().manual_seed(seed).get_state())
    assert same_tensors(found[0].model, found[1].model)
    assert timeless(found[0].history) == timeless(found[1].history)


def test_modes_and_hooks_are_as_they_were():
    model = mlp(3, 2, 2, dropout=0.1).eval()
    model[2].train()
    calls = []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    run(model)
    assert [module.training for module in model] == [False, False, True, False]
    assert len(model[0]._forward_hooks) == 1
    assert calls


def test_every_policy_can_be_a_users_function():
    calls = {"how": 0, "where": 0, "when": 0, "stop": 0, "callback": 0}

    def how(model, place, evidence):
        calls["how"] += 1
        return creases.growth.methods.random_units(
            model, place, *evidence.draw(50)[:1], evidence.objective.loss, seed=1
        )

    def where(state):
        calls["where"] += 1
        return list(reversed(state.places))

    def when(state):
        calls["when"] += 1
        return state.history.last["epoch"] % 2 == 0

    def stop(state):
        calls["stop"] += 1
        return "seven are enough" if state.history.last["epoch"] == 7 else ""

    def callback(state):
        calls["callback"] += 1
        assert (state.record is not None) == state.due

    options = {"how": how, "where": where, "when": when, "stop": stop, "callbacks": [callback]}
    grown = run(**options)
    assert grown.history.ended == "seven are enough"
    assert [record.epoch for record in grown.history.records] == [2, 4, 6]
    assert {record.place for record in grown.history.records} == {"2"}
    assert calls["callback"] == 7
    assert min(calls.values()) >= 3


def test_a_limit_of_size_ends_growth_and_the_run_goes_on_to_the_end_of_its_budget():
    reasons = []
    grown = run(max_parameters=32, budget=14, callbacks=[lambda s: reasons.append(s.history.growth_ended)])
    assert [record.epoch for record in grown.history.records] == [3, 6]
    assert reasons[:8] == [""] * 8  # the last units are trained before it is asked
    assert all("no further unit fits" in reason for reason in reasons[8:])
    assert grown.history.ended == "the budget of 14 epochs is spent"
    assert len(grown.history.epochs) == 14


@pytest.mark.slow
@given(st.integers(24, 60), st.sampled_from(["random", "tiny", "gradmax"]), st.integers(0, 3))
@settings(max_examples=5, deadline=None)
def test_a_limit_of_size_is_never_exceeded(parameters, how, seed):
    options = {"max_parameters": parameters, "seed": seed, "how": how}
    grown = grow_and_save(mlp(3, 2, 2, 2), classes(60), "classification", when=1, budget=12, lr=0.02, **options)
    assert all(epoch["parameters"] <= parameters for epoch in grown.history.epochs)
    assert sum(parameter.numel() for parameter in grown.model.parameters()) <= max(parameters, 20)


@pytest.mark.slow
def test_no_improvement_on_validation_data_ends_growth():
    x, _ = classes(60)
    noise = torch.randint(0, 2, (60,), generator=torch.Generator().manual_seed(0))
    grown = run(data=(x, noise), validation=(x, 1 - noise), growth_patience=2, budget=60, lr=0.1)
    assert "2 growth steps brought no improvement in validation loss" in grown.history.growth_ended
    assert len(grown.history.records) < 10


# the best network


def overfitting(keep, **options):
    x, _ = classes(40)
    noise = torch.randint(0, 2, (40,), generator=torch.Generator().manual_seed(1))
    optimizer = {}

    def make(parameters):
        optimizer["made"] = torch.optim.Adam(parameters, lr=0.05)
        return optimizer["made"]

    start = mlp(3, 2, 2, seed=3)
    given = {"validation": (x, 1 - noise), "keep": keep, "optimizer": make, "budget": 25, **options}
    grown = run(start, (x, noise), **given)
    return grown, optimizer["made"], (x, 1 - noise)


def test_the_network_with_the_lowest_smoothed_validation_loss_is_kept():
    grown, optimizer, (x, y) = overfitting("best")
    losses = [epoch["validation_loss"] for epoch in grown.history.epochs]
    smoothed = losses[:1]
    for loss in losses[1:]:
        smoothed.append(0.7 * smoothed[-1] + 0.3 * loss)
    assert [epoch["smoothed_loss"] for epoch in grown.history.epochs] == pytest.approx(smoothed)
    best = smoothed.index(min(smoothed))
    assert grown.history.kept == best + 1
    assert best < 10
    assert float(F.cross_entropy(grown.model(x), y).detach()) == pytest.approx(losses[best], rel=1e-12)
    assert grown.model[0].out_features == grown.history.epochs[best]["widths"]["0"] < 5
    assert f"the network is from epoch {best + 1}, with the lowest smoothed validation loss" in grown.history.ending
    held = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert held == [id(parameter) for parameter in grown.model.parameters()]
    for parameter, moments in optimizer.state.items():
        assert moments["exp_avg"].shape == parameter.shape
    F.cross_entropy(grown.model(x), y).backward()
    optimizer.step()


def test_the_last_network_is_kept_where_that_is_asked_for():
    grown, _, (x, y) = overfitting("last")
    assert float(F.cross_entropy(grown.model(x), y).detach()) == pytest.approx(grown.history.last["validation_loss"])
    assert "the network is from" not in grown.history.ending
    assert grown.history.kept == len(grown.history.epochs)
    with pytest.raises(InputError, match="keep must be 'auto', 'best' or 'last', got 'first'"):
        run(keep="first")


def test_without_validation_data_the_last_network_is_the_one():
    grown = run()
    assert "the network is from" not in grown.history.ending


# data


def test_a_share_of_the_data_is_set_aside_for_validation():
    x, y = classes(100)
    grown = run(data=(x, y), validation=0.25, how="fold", budget=2)
    assert grown.history.setting["data"].startswith("75 samples")
    assert grown.history.setting["validation"].startswith("25 samples")
    weighted = run(data=(x, y, torch.arange(100) + 1.0), validation=0.25, budget=2)
    assert weighted.history.last["validation_loss"] > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"validation": 1.5}, "a fraction above 0 and below 1 of data in memory, got 1.5"),
        ({"validation": 0}, "a fraction above 0 and below 1"),
        ({"validation": 0.999}, "must leave samples to train on"),
        ({"batch_size": 0}, "batch_size must be .* a positive integer, got 0"),
        ({"budget": 0}, "budget must be positive and finite, got 0 epochs"),
        ({"optimizer": "sgd"}, "optimizer must be 'adamw', an optimizer, or a function that makes one, got 'sgd'"),
        (
            {"how": "gradmax", "model": mlp(3, 2, 2, bend=nn.Sigmoid)},
            "how must be a method that can grow this model, got a refusal at '0': .*use random units",
        ),
        ({"where": "hidden"}, r"where must be a place of the model that can grow, one of \['0', '2'\], got 'hidden'"),
        ({"stop": Target(score=0.9, on="validation")}, "validation must be given for Target"),
        ({"lr": 1e200}, "loss must stay finite, got nan in epoch .*training diverged.*lower the learning rate"),
        ({"lr": -0.1}, "lr must be a finite number above 0, got -0.1"),
        ({"checkpoint": "no/such/folder/run.pt"}, "cannot write no/such/folder/run.pt: there is no folder"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(options, says):
    with pytest.raises((InputError, FileError), match=says):
        run(**options)


@pytest.mark.slow
def test_a_dataset_gives_the_run_of_its_arrays():
    class Pairs(torch.utils.data.Dataset):
        X, y = classes(50)

        def __len__(self):
            return 50

        def __getitem__(self, row):
            return self.X[row], self.y[row]

    one, two = run(data=(Pairs.X, Pairs.y), batch_size=20), run(data=Pairs(), batch_size=20)
    assert same_tensors(one.model, two.model)


@pytest.mark.slow
def test_whole_weights_are_repetition_in_training():
    x, y = classes(40)
    w = torch.arange(40) % 3
    options = {"how": "gradmax", "batch_size": 1000, "budget": 12, "where": "0"}
    one = run(data=(x, y, w), **options)
    two = run(data=(x.repeat_interleave(w, 0), y.repeat_interleave(w, 0)), **options)
    losses = [[epoch["loss"] for epoch in grown.history.epochs][:3] for grown in (one, two)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_handful_of_samples_is_enough_to_run(n):
    for how in ("tiny", "fold", "random", "gradmax"):
        grown = run(data=classes(n), how=how, budget=4)
        assert grown.history.ended


@pytest.mark.slow
def test_one_class_is_learnt_and_the_run_ends():
    x, _ = classes(30)
    for how in ("tiny", "fold", "random"):
        grown = run(data=(x, torch.zeros(30, dtype=torch.int64)), how=how, when=5, budget=100)
        assert grown.history.last["score"] == 1.0


@pytest.mark.slow
def test_regression_has_r2_for_a_score():
    model, (x, y) = mlp(1, 2, 1), values()
    grown = run(model, (x, y), "regression", how="fold", when=20, budget=60, validation=(x, y), keep="last")
    error = (model(x) - y).detach()
    expected = float(1 - error.square().sum() / (y - y.mean()).square().sum())
    assert grown.history.last["validation_score"] == pytest.approx(expected)


# interrupts


@pytest.mark.slow
def test_an_interrupt_in_the_middle_of_an_epoch_leaves_the_last_checkpoint_good(tmp_path):
    path = tmp_path / "run.pt"
    whole = run(batch_size=30, checkpoint=tmp_path / "whole.pt")
    calls = []

    def struck(module, args):
        calls.append(1)
        if len(calls) == 22:  # of 4 steps an epoch
            raise KeyboardInterrupt

    model = mlp(3, 2, 2, 2, seed=3)
    handle = model.register_forward_pre_hook(struck)
    before = torch.random.get_rng_state()
    modes = [module.training for module in model.modules()]
    with pytest.raises(KeyboardInterrupt):
        run(model, batch_size=30, checkpoint=path)
    handle.remove()
    assert torch.equal(before, torch.random.get_rng_state())
    assert [module.training for module in model.modules()] == modes
    again = run(batch_size=30, checkpoint=path)
    assert same_tensors(again.model, whole.model)
    same_model = run(model, batch_size=30, checkpoint=path)  # a finished run, and the model that was struck
    assert same_tensors(same_model.model, whole.model)
    assert timeless(again.history) == timeless(whole.history) == timeless(same_model.history)


@pytest.mark.slow
def test_a_finished_run_is_read_back_at_once(tmp_path):
    one = run(checkpoint=tmp_path / "run.pt", validation=0.3)
    calls = []
    two = run(checkpoint=tmp_path / "run.pt", validation=0.3, callbacks=[calls.append])
    assert not calls
    assert same_tensors(one.model, two.model)
    assert one.history == two.history


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"how": "tiny"}, "how = 'random', not 'tiny'"),
        ({"seed": 3}, "seed = 0, not 3"),
        ({"loss": "regression"}, "loss = 'classification', not 'regression'"),
        ({"data": classes(120, seed=7)}, "data = 120 samples"),
        ({"batch_size": 7}, "batch_size = 32, not 7"),
        ({"optimizer": lambda p: torch.optim.SGD(p, lr=0.1)}, "optimizer = AdamW, not SGD"),
        ({"model": mlp(3, 2, 2)}, "checkpoint must come from the same model"),
        ({"model": mlp(3, 2, 2, 2, bend=nn.Tanh), "validation": 0.5}, "repeat the original call, or pass another file"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(tmp_path, other, says):
    run(checkpoint=tmp_path / "run.pt")
    with pytest.raises(InputError, match=says):
        run(**{"checkpoint": tmp_path / "run.pt", **other})


@pytest.mark.slow
def test_a_run_goes_on_longer_when_it_is_asked_to(tmp_path):
    whole = run(budget=14)
    short = run(budget=8, checkpoint=tmp_path / "run.pt")
    assert len(short.history.epochs) == 8
    longer = run(budget=14, checkpoint=tmp_path / "run.pt")
    assert same_tensors(longer.model, whole.model)
    for epoch in longer.history.epochs[:8]:
        epoch["progress"] *= 8 / 14  # it was that of the shorter budget
    for epoch in whole.history.epochs:
        epoch["progress"] = pytest.approx(epoch["progress"], rel=1e-8)
    assert timeless(longer.history) == timeless(whole.history)
