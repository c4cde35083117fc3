"""Sized growth: networks of several sizes are compared; what is kept, and what is undone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import creases
import creases.growth._sized as growing
from creases.growth import Grower, GrowthConfig, History, Run
from creases.growth._growth_steps import widen_places
from creases.growth._objective import objective
from creases.growth._samples import as_samples
from creases.growth._sized import BLOCKS, block_losses, compare_losses
from creases.growth._training import measure
from creases.growth.policies import _stages
from growth_runs import (
    Residual,
    adam,
    classes,
    conv,
    grow_and_save,
    mlp,
    normed,
    same_tensors,
    timeless,
    trained,
    values,
)
from thorough_cases import keep

OPTIONS = {"how": "random", "growth_share": 0.8, "batch_size": 20, "budget": 24, "schedule": "constant", "lr": 0.03}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Stages of a few steps."""
    monkeypatch.setattr(_stages, "MIN_STEPS", 5)
    monkeypatch.setattr(_stages, "LEAST_WIDTH", 4)


@pytest.fixture
def verdict(monkeypatch):
    """Decides all stages."""

    def decide(pays: bool) -> None:
        monkeypatch.setattr(growing, "compare_losses", lambda *losses: (1.0, 0.0) if pays else (0.0, 1.0))

    return decide


def begun(model=None, data=None, validation=0.2, loss="classification", **options) -> Run:
    config = GrowthConfig(**{**OPTIONS, **options})
    run = Run(model or mlp(3, 2, 2, seed=1), data or classes(100), loss, config, validation=validation)
    run.start()
    return run


def epochs(run: Run) -> Iterator[Run]:
    while not run.history.ended:
        run.epoch()
        yield run


def model(run: Run) -> torch.nn.Module:
    return run.state.model


def assert_same_optimizers(one: dict, other: dict) -> None:
    assert one["param_groups"] == other["param_groups"]
    assert one["state"].keys() == other["state"].keys()
    for k, values_ in one["state"].items():
        for name, value in values_.items():
            assert torch.equal(value, other["state"][k][name])
            assert value.dtype == other["state"][k][name].dtype


# the held-out losses


@given(st.integers(1, 130), st.integers(0, 3), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_losses_of_blocks_are_those_of_their_samples(n, seed, weighted):
    net, (x, y) = mlp(3, 2, 2, seed=seed, dropout=0.3), classes(n, seed=seed)
    weight = torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.1
    samples = as_samples((x, y, weight) if weighted else (x, y), net)
    found = block_losses(net, samples, objective("classification", weighted=weighted))
    net.eval()
    each = F.cross_entropy(net(x), y, reduction="none").detach().numpy()
    each = each * (weight / weight.mean()).numpy() if weighted else each
    blocks = np.array_split(np.arange(n), min(n, BLOCKS))
    assert found == pytest.approx([each[rows].mean() for rows in blocks])


@given(st.integers(1001, 2500))
@settings(max_examples=5, deadline=None)
def test_many_samples_are_spread_over_the_blocks_and_their_mean_is_the_loss(n):
    net, (x, y) = mlp(1, 3, 1), values(n)
    samples = as_samples((x, y), net)
    goal = objective("regression", weighted=False)
    sums, counts = np.zeros(BLOCKS), np.zeros(BLOCKS)
    errors = (net(x) - y).detach().square().sum(1).numpy()
    number = 0
    for start in range(0, n, 1000):  # the parts that a run looks at at a time
        rows = np.arange(start, min(start + 1000, n))
        for block in np.array_split(rows, min(len(rows), BLOCKS)):
            sums[number % BLOCKS] += errors[block].sum()
            counts[number % BLOCKS] += len(block)
            number += 1
    found = block_losses(net, samples, goal)
    scale = measure(net, samples, goal).loss / errors.mean()  # of the loss: its factor before the square
    assert found == pytest.approx(scale * sums / counts)
    assert np.average(found, weights=counts) == pytest.approx(measure(net, samples, goal).loss)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=60))
def test_the_gain_is_the_mean_of_the_paired_differences_with_its_standard_error(pairs):
    on, wide = map(list, zip(*pairs, strict=True))
    gain, error = compare_losses(on, wide)
    difference = np.array(on) - np.array(wide)
    assert gain == pytest.approx(difference.mean(), abs=1e-12)
    expected = difference.std(ddof=1) / len(pairs) ** 0.5 if len(pairs) > 1 else 0.0
    assert error == pytest.approx(expected, abs=1e-12)


# stages that do not pay


CASES = {
    "two layers": (lambda: mlp(3, 2, 2, 2, seed=1), (3,), {"how": "fold"}),
    "dropout": (lambda: mlp(3, 2, 2, seed=1, dropout=0.2), (3,), {"how": "fold"}),
    "float32": (lambda: mlp(3, 2, 2, seed=1, dtype=torch.float32), (3,), {"how": "tiny"}),
    "one unit": (lambda: mlp(3, 1, 1, 2, seed=0), (3,), {"how": "random"}),
    "convolutions": (conv, (1, 6, 6), {"how": "gradmax"}),
    "batch norm": (normed, (3,), {"how": "random"}),
    "a residual block": (Residual, (3,), {"how": "random"}),
    "momentum": (
        lambda: mlp(3, 2, 2),
        (3,),
        {"optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9)},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", keep(CASES, "dropout", "batch norm", "a residual block"))
def test_a_run_whose_stages_do_not_pay_is_bit_for_bit_one_without_growth(case, verdict):
    make, shape, options = CASES[case]
    verdict(False)
    data = classes(100, shape)
    held = classes(25, shape, seed=4)
    run = begun(make(), data, held, keep="last", growth_patience=2, **options)
    for _ in epochs(run):
        pass
    assert [stage["pays"] for stage in run.history.stages] == [False, False]
    assert run.history.growth_ended.startswith("2 growth stages in a row did not lower the held-out loss enough (")
    grown = [record for record in run.history.records if record.action != "revive"]
    assert grown
    assert all(record.undone for record in grown)
    assert "so it was undone." in grown[0].explain()
    plain = begun(make(), data, held, keep="last", when=10**6, **options)
    starts = [0, *(epoch["steps"] for epoch in run.history.epochs)]
    for start, end in pairwise(starts):
        plain._epoch_steps = lambda steps=end - start: steps
        plain.epoch()
    assert same_tensors(model(run), model(plain))
    assert_same_optimizers(run.optimizer.state_dict(), plain.optimizer.state_dict())
    for one, other in zip(run.history.epochs, plain.history.epochs, strict=True):
        names = ("epoch", "steps", "loss", "score", "validation_loss", "smoothed_loss", "parameters", "widths")
        assert {name: one[name] for name in names} == {name: other[name] for name in names}


# stages that pay


@pytest.mark.slow
def test_a_stage_that_pays_keeps_the_network_that_was_grown_at_its_beginning(verdict):
    verdict(True)
    held = classes(25, seed=4)
    run = begun(validation=held, keep="last", max_units=4)
    for _ in epochs(run):
        pass
    (stage,), (record,) = run.history.stages, run.history.records
    assert stage["pays"]
    assert not record.undone
    assert run.history.growth_ended.startswith("no further unit fits")
    assert (record.width, record.epoch) == ((2, 4), stage["epoch"])
    by_hand = begun(validation=held, keep="last", when=10**6)
    starts = [0, *(epoch["steps"] for epoch in run.history.epochs)]
    for number, (start, end) in enumerate(pairwise(starts)):
        if number == stage["epoch"]:
            widen_places(by_hand.state, {"0": 4})
        by_hand._epoch_steps = lambda steps=end - start: steps
        by_hand.epoch()
    assert same_tensors(model(run), model(by_hand))
    assert_same_optimizers(run.optimizer.state_dict(), by_hand.optimizer.state_dict())


@pytest.mark.thorough
def test_growth_pays_where_two_units_cannot_learn_and_not_where_there_is_nothing_to_learn():
    options = {"budget": 250, "growth_share": 0.5, "how": "fold", "schedule": "cosine", "lr": 0.02, "progress": False}
    held = classes(400, seed=8)
    _, history = grow_and_save(mlp(3, 2, 2, seed=1), classes(200), "classification", validation=held, **options)
    assert history.stages[0]["pays"]
    assert history.last["widths"]["0"] >= 8
    x, _ = held
    noise = torch.randint(0, 2, (400,), generator=torch.Generator().manual_seed(0))
    _, history = grow_and_save(
        mlp(3, 2, 2, seed=1), (x[:60], noise[:60]), "classification", validation=(x[60:], noise[60:]), **options
    )
    assert not all(stage["pays"] for stage in history.stages)
    assert history.last["widths"]["0"] <= 4


# fairness, and the budget


@pytest.mark.slow
@pytest.mark.parametrize("pays", [True, False])
@pytest.mark.parametrize("budget", [24, "6e5 multiply-adds"])
def test_all_networks_of_a_race_are_trained_for_as_many_steps_on_the_same_batches(pays, budget, verdict):
    verdict(pays)
    seen: list[torch.Tensor] = []
    run = begun(budget=budget, growth_patience=3)
    model(run).register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]) if module.training else None)
    first, begin, stages = 0, 0, 0
    for _ in epochs(run):
        race, history = run.state.race, run.history
        if len(history.stages) > stages:
            stages += 1
            count = history.stages[-1]["steps"] - history.epochs[history.stages[-1]["epoch"] - 1]["steps"]
            assert count == len(seen) - begin
            assert all(map(torch.equal, seen[first : first + count], seen[begin:]))
        if race is not None and len(history.epochs) == race.epoch:  # a network begins
            begin, first = len(seen), first if race.best else len(seen)
    assert stages >= 1


@pytest.mark.slow
def test_every_network_is_the_first_one_with_more_units_and_the_last_that_pays_is_kept(verdict):
    verdict(True)
    run = begun(data=classes(400), budget=60, growth_share=0.9)
    for _ in epochs(run):
        pass
    stages, records = run.history.stages, run.history.records
    assert [stage["widths_before"]["0"] for stage in stages] == [2, 8, 32][: len(stages)]
    assert len({stage["epoch"] for stage in stages}) == 1
    assert [record.width for record in records] == [(2, stage["widths"]["0"]) for stage in stages]
    assert [record.undone for record in records] == [True] * (len(records) - 1) + [False]
    assert [record.replaced for record in records] == [record.undone for record in records]
    assert "until one of a better size took its place." in records[0].explain()
    assert model(run)[0].out_features == records[-1].width[1] > 32


@pytest.mark.thorough
@given(
    st.sampled_from([12, 20, "1e5 multiply-adds", "3e5 multiply-adds"]),
    st.floats(0.05, 0.95),
    st.integers(1, 2),
    st.booleans(),
)
@settings(max_examples=6, deadline=None)
def test_growth_ends_within_its_share(budget, share, width, validated):
    options = {"growth_share": share, "budget": budget, "growth_patience": None}
    held = classes(30, seed=4) if validated else None
    run = begun(mlp(3, width, 2), classes(80), held, **options)
    meter = run.state.meter
    charged, charge = [], meter.charge
    meter.charge = lambda cost: (charged.append(cost), charge(cost))
    unplanned, over = 0.0, False  # looks and growth steps at the end of the epoch; whether growth has ended
    for _ in epochs(run):
        if meter.budget.unit == "multiply-adds":
            unplanned = sum(charged) / meter.budget.amount
        charged.clear()
        if run.state.race is not None or (run.history.growth_ended and run.history.stages and not over):
            assert meter.progress <= share + unplanned + 1e-6
        over = bool(run.history.growth_ended)
    assert run.history.ended.startswith("the budget of")


def test_a_budget_that_ends_in_a_race_ends_with_the_better_network(verdict):
    """A user's own loop may have fewer epochs than a stage was planned with."""
    verdict(False)
    run = begun(validation=classes(25, seed=4), keep="last", budget=24)
    for _ in epochs(run):
        race = run.state.race
        if race is not None and race.best is not None:
            best = race.best
            run.state.meter.epochs = 24.0  # something took all the rest
    assert run.history.ended == "the budget of 24 epochs is spent"
    assert [stage["pays"] for stage in run.history.stages] == [False]
    for name, tensor in model(run).state_dict().items():
        assert torch.equal(tensor, best.network.network.tensors[name])


# the history


@pytest.mark.slow
def test_epochs_are_numbered_by_their_place_at_every_moment():
    run = begun(mlp(3, 2, 2, seed=1, dropout=0.1))
    lengths = []
    for _ in epochs(run):
        lengths.append(len(run.history.epochs))
        assert [epoch["epoch"] for epoch in run.history.epochs] == list(range(1, lengths[-1] + 1))
        steps = [epoch["steps"] for epoch in run.history.epochs]
        assert steps == sorted(set(steps))
    assert lengths != sorted(lengths)  # a stage began again


@pytest.mark.slow
def test_a_stage_is_described():
    run = begun(budget=60, growth_patience=3)
    for _ in epochs(run):
        pass
    for stage in run.history.stages:
        assert stage["gain"] == pytest.approx(stage["loss_training_on"] - stage["loss_grown"])
        assert stage["needed"] >= stage["error"]
    undone = [record for record in run.history.records if record.undone]
    failed = [stage for stage in run.history.stages if not stage["pays"]]
    assert {record.epoch for record in undone} == {stage["epoch"] for stage in failed}
    assert not any(run.history.keeps(record) for record in undone)


@pytest.mark.slow
def test_a_run_that_stops_in_a_race_says_which_growth_steps_are_in_its_network(verdict):
    verdict(True)

    def stop(state):  # in the second stage
        history = state.history
        return "enough" if len(history.records) == 2 and len(history.epochs) > history.records[-1].epoch else ""

    run = begun(data=classes(400), budget=60, growth_share=0.9, stop=stop)
    for _ in epochs(run):
        pass
    assert run.history.ended == "enough"
    kept = [record for record in run.history.records if not record.undone]
    assert [record.width[1] for record in kept] == [model(run)[0].out_features]


# a user's own loop, with its own count of steps


@pytest.mark.slow
def test_of_values_a_stage_pays_by_its_loss():
    x, y = classes(100)
    run = begun(data=(x, y.double()[:, None]), loss="regression", model=mlp(3, 2, 1, seed=1), budget=60)
    for _ in epochs(run):
        pass
    assert run.history.stages
    for stage in run.history.stages:
        assert stage["pays"] == (stage["gain"] > stage["needed"])


@pytest.mark.slow
def test_after_a_stage_that_does_not_pay_the_next_widens_by_two_and_with_more_patience_by_more(verdict):
    verdict(False)
    run = begun(data=classes(600), budget=40, growth_patience=3)
    for _ in epochs(run):
        pass
    widths = [sum(stage["widths"].values()) for stage in run.history.stages]
    start = sum(run.history.epochs[0]["widths"].values())
    assert widths == [4 * start, 2 * start, 16 * start]


@pytest.mark.slow
def test_the_grown_network_gets_its_stage_where_the_loop_counts_steps_on(verdict):
    verdict(False)
    net, (x, y) = mlp(3, 2, 2), classes(40)
    optimizer = adam(net)
    grower = Grower(net, optimizer, (x, y), "classification", how="random", budget=80, growth_share=0.9)
    total = 0
    while not grower.history.ended:
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        total += 3
        race = grower.state.race
        grower.step(steps=total)
        if race is not None and grower.state.race is None:
            stage = grower.history.stages[-1]
            steps = stage["steps"] - grower.history.epochs[stage["epoch"] - 1]["steps"]
            assert race.steps <= steps < race.steps + 3  # it ends with an epoch
    assert total == 240
    assert grower.history.stages
    assert grower.history.last["steps"] < 240


@pytest.mark.slow
@pytest.mark.parametrize("at", [pytest.param(4, marks=pytest.mark.thorough), 9])
def test_a_grower_goes_on_from_its_state_beside_a_copy_of_the_model_and_the_optimizer(at):
    data = classes(40)
    options = {
        "how": "random",
        "budget": 40,
        "growth_share": 0.9,
        "growth_patience": 9,
        "validation": classes(20, seed=5),
    }
    net = mlp(3, 2, 2)
    optimizer = adam(net)
    grower = trained(Grower(net, optimizer, data, "classification", **options), data, at)
    assert grower.state.race is not None
    other, copied = copy.deepcopy((net, optimizer))
    again = Grower(other, copied, data, "classification", **options)
    again.load_state_dict(copy.deepcopy(grower.state_dict()))
    for one in (grower, again):
        trained(one, data, 40)
        assert one.history.ended == "the budget of 40 epochs is spent"
    assert grower.history.stages
    assert same_tensors(net, other)
    assert timeless(grower.history) == timeless(again.history)


# stopped and resumed


class Stopped(Exception):
    """What stops a run at the end of an epoch."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lambda: mlp(3, 2, 2, seed=1, dropout=0.2), {"how": "fold", "budget": 24}),
        (lambda: mlp(3, 2, 2, 2, seed=1), {"how": "gradmax", "budget": "2e6 multiply-adds", "schedule": "cosine"}),
        (lambda: mlp(3, 1, 1, 2, seed=0), {"how": "tiny", "budget": 20, "where": "2"}),
        (
            lambda: mlp(3, 3, 2),
            {"budget": 16, "schedule": lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)},
        ),
    ],
)
def test_stopped_and_resumed_after_every_epoch_a_race_ends_the_same(make, options, tmp_path):
    given_ = {**OPTIONS, "validation": 0.2, "growth_patience": None, "progress": False, **options}
    calls: list[int] = []
    whole = grow_and_save(make(), classes(100), "classification", callbacks=[lambda state: calls.append(1)], **given_)
    assert whole.history.stages
    path, struck, races = tmp_path / "run.pt", 0, 0
    while True:
        seen: list[int] = []

        def strike(state, seen=seen):
            if seen:  # the checkpoint of the epoch before is written by then
                raise Stopped
            seen.append(1)

        try:
            again = grow_and_save(make(), classes(100), "classification", checkpoint=path, callbacks=[strike], **given_)
        except Stopped:
            struck += 1
            races += torch.load(path, weights_only=True)["race"] is not None
        else:
            break
    assert struck == len(calls) - 1
    assert races > 4
    assert same_tensors(whole.model, again.model)
    assert timeless(whole.history) == timeless(again.history)


@pytest.mark.slow
def test_a_run_that_goes_back_into_a_race_runs_as_if_nothing_had_been():
    straight, turned = begun(), begun()
    marks = []
    for _ in epochs(turned):
        if turned.state.race is not None:
            marks.append(turned.snapshot())
    for _ in epochs(straight):
        pass
    assert len(marks) > 4
    for mark in (marks[0], marks[-1]):
        turned.restore(mark)
        for _ in epochs(turned):
            pass
        assert same_tensors(model(straight), model(turned))
        assert timeless(straight.history) == timeless(turned.history)


# any run


@pytest.mark.thorough
@given(
    widths=st.lists(st.integers(1, 3), min_size=1, max_size=2),
    n=st.sampled_from([1, 2, 5, 30]),
    one_class=st.booleans(),
    held=st.sampled_from([None, 1, 20]),
    budget=st.sampled_from([1, 2.5, 8, "3e4 multiply-adds"]),
    batch=st.sampled_from([1, 7, None, "auto"]),
    how=st.sampled_from(["random", "fold", "tiny", "gradmax", "split"]),
    keep=st.sampled_from(["best", "last"]),
)
@settings(max_examples=25, deadline=None)
def test_any_run_in_stages_ends_whole(widths, n, one_class, held, budget, batch, how, keep):
    x, y = classes(n)
    net = mlp(3, *widths, 2, seed=1)
    optimizer = adam(net)
    options = {"how": how, "budget": budget, "batch_size": batch, "keep": keep, "growth_share": 0.8}
    options |= {"validation": None if held is None else classes(held, seed=5), "optimizer": optimizer}
    data = (x, torch.zeros_like(y) if one_class else y)
    history = grow_and_save(net, data, "classification", progress=False, **options).history
    assert history.ended.startswith("the budget of")
    assert [epoch["epoch"] for epoch in history.epochs] == list(range(1, len(history.epochs) + 1))
    assert 1 <= history.kept <= len(history.epochs)
    assert history.kept == len(history.epochs) or (held is not None and keep == "best")
    now = {place.name: place.width for place in creases.places(net)}
    assert now == history.epochs[history.kept - 1]["widths"]
    for name, width in now.items():  # the growth steps that are in the result made it
        grew = [record for record in history.records if record.place == name and history.keeps(record)]
        assert width == (grew[-1].width[1] if grew else dict(zip(now, widths, strict=True))[name])
    assert all(parameter.isfinite().all() for parameter in net.parameters())
    kept = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert kept == [id(parameter) for parameter in net.parameters()]
    assert all(state["exp_avg"].shape == parameter.shape for parameter, state in optimizer.state.items())
    assert History.from_json(history.to_json()) == history
