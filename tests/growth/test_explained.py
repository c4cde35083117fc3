"""Explained growth: the linear model, then one fold at a time, each with its reason, confirmed by held-out rows."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases import problems
from creases.errors import InputError
from creases.growth import ExplainedRun, GrowthConfig, History, grow_units, open_run
from creases.growth._explained.perceptron import Perceptron, Rows, fit_linear, penalized_loss
from creases.growth._explained.run import _growth_from
from creases.growth._explained.search import WIDE, Growth, Judges, Limits, Trained, advance, is_better
from creases.growth.methods._fold.explanation import fold_entries
from creases.growth.policies import Target


def perceptron(inputs: int, outputs: int, width: int = 2, seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs)).double()


def grow(name: str, **options: Any) -> tuple[nn.Sequential, History]:
    problem = problems.get(name)
    classes = problem.classes
    data = (problem.X, problem.y) if classes is not None else (problem.X, problem.y[:, None])
    model = perceptron(problem.X.shape[1], 1 if classes is None else len(classes))
    task = "regression" if classes is None else "classification"
    _, history = creases.grow(model, data, task, progress=False, **options)
    return model, history


def _noisy_parabola(rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.uniform(-1.5, 1.5, (200, 2))
    return X, (X[:, 1] + 0.7 - X[:, 0] ** 2 > 0.5 * rng.logistic(size=200)).astype(np.int64)


def _built_in(name: str) -> tuple[Any, Any]:
    problem = problems.get(name, n=200)
    return problem.X, problem.y


#: Planar problems, one of them with classes that overlap.
PLANAR = {
    "circle": lambda rng: _built_in("circle"),
    "xor": lambda rng: _built_in("xor"),
    "noisy_parabola": _noisy_parabola,
    "quadratic": lambda rng: _built_in("quadratic"),
}


@pytest.fixture(scope="module")
def moons() -> tuple[nn.Sequential, History]:
    return grow("moons")


def random_rows(task: Any, m: int, *, offset: bool = False, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X, weight = 3 + 2 * rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40)
    y = rng.normal(5, 3, size=(40, m)) if task == "regression" else rng.integers(0, max(m, 2), 40)
    return Rows(X, y, weight, task, m, rng.normal(size=(40, m)) if offset else None)


@pytest.mark.parametrize(
    ("task", "m"), [("regression", 1), ("regression", 2), ("classification", 1), ("classification", 3)]
)
@pytest.mark.parametrize("offset", [False, True])
def test_loss_and_gradient_are_those_of_torch(task: Any, m: int, offset: bool) -> None:
    rows, rng = random_rows(task, m, offset=offset), np.random.default_rng(1)
    net = Perceptron(rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(m, 4)), rng.normal(size=m))
    value, gradient = penalized_loss(net, rows, 1e-3)(net.vector())
    W, b, V, c = (torch.tensor(part, requires_grad=True) for part in (net.W, net.b, net.V, net.c))
    scale = rows.scale
    outputs = torch.relu(torch.tensor((rows.X - scale.center) / scale.spread) @ W.T + b) @ V.T + c
    more = torch.tensor(rows.offset) if rows.offset is not None else torch.zeros(())
    share = torch.tensor(rows.share)
    if task == "regression":
        target = (torch.tensor(rows.y) - more - torch.tensor(scale.level)) / torch.tensor(scale.size)
        loss = 0.5 * (share[:, None] * (outputs - target) ** 2).sum()
    elif m == 1:
        y = torch.tensor(rows.y, dtype=torch.float64)
        loss = share @ nn.functional.binary_cross_entropy_with_logits((outputs + more)[:, 0], y, reduction="none")
    else:
        loss = share @ nn.functional.cross_entropy(outputs + more, torch.tensor(rows.y), reduction="none")
    loss = loss + 1e-3 * (W.square().sum() + V.square().sum())
    loss.backward()  # type: ignore[no-untyped-call]
    parts = [torch.cat([A.grad, a.grad[:, None]], 1).flatten() for A, a in ((W, b), (V, c))]  # type: ignore[list-item, index]
    assert value == pytest.approx(loss.item())
    assert np.allclose(gradient, torch.cat(parts).numpy(), atol=1e-10)


@pytest.mark.parametrize(("task", "m"), [("regression", 2), ("classification", 2), ("classification", 4)])
def test_all_pairs_of_units_are_the_linear_model(task: Any, m: int) -> None:
    rows = random_rows(task, m)
    linear = fit_linear(rows)
    scaled = (rows.X - rows.scale.center) / rows.scale.spread
    expected = (scaled @ linear.A.T + linear.c) * rows.scale.size + rows.scale.level
    net = linear.pairs(linear.rank)
    assert np.allclose(net.outputs(rows), expected, atol=1e-10)
    assert net.width <= 2 * (m - (task == "classification"))


def test_a_row_of_weight_2_counts_as_two_rows() -> None:
    rows = random_rows("classification", 3)
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    order = np.r_[np.arange(10), np.arange(40)]
    once = Rows(rows.X, rows.y, weight, "classification", 3)
    twice = Rows(rows.X[order], rows.y[order], np.ones(50), "classification", 3)
    net = fit_linear(once).pairs(2)
    assert once.mean(net.losses(once)) == pytest.approx(twice.mean(net.losses(twice)))
    assert np.allclose(fit_linear(once).A, fit_linear(twice).A, atol=1e-4)


def test_units_are_confirmed_only_beyond_a_standard_error() -> None:
    rows = random_rows("regression", 1)
    judges = Judges.part(rows, np.arange(20), np.arange(20, 40))
    net = fit_linear(judges.parts[0]).pairs(1)
    before = Trained.of([net], judges, 1e-4)
    noise = np.where(np.arange(20) % 2, 1.0, -0.9) * before.held_loss
    losses = (before.held_losses - noise, before.held_loss - noise.mean())
    lucky = replace(before, held_losses=losses[0], held_loss=losses[1])
    sure = replace(before, loss=0.0, held_losses=0.9 * before.held_losses, held_loss=0.9 * before.held_loss)
    assert not is_better(before, lucky, judges)
    assert is_better(before, sure, judges)
    gain = before.held_loss * (0.12 + 0.3 * np.where(np.arange(20) % 2, 1.0, -1.0))  # a standard error and a half
    group = replace(before, loss=0.0, held_losses=before.held_losses - gain, held_loss=before.held_loss - gain.mean())
    assert is_better(before, group, judges)
    assert not is_better(before, group, judges, together=True)


@pytest.mark.parametrize("is_noise", [False, True])
def test_growth_says_at_its_end_that_a_wide_network_does_better_where_it_does(is_noise: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = rng.integers(0, 2, 400) if is_noise else (X.prod(axis=1) > 0).astype(np.int64)
    judges, growth = Judges.folds(Rows(X, y, np.ones(400), "classification", 2), 0), Growth()
    while growth.phase in ("start", "fold"):
        growth, _ = advance(growth, judges, lambda *_: [], Limits())
    assert growth.ended.startswith("no fold left promises a gain")
    assert (f"a network of {WIDE} units" in growth.ended) is not is_noise


def test_folds_have_the_same_share_of_each_class_and_networks_nearly_all_of_few_rows() -> None:
    y = (np.arange(200) % 5 == 0).astype(np.int64)
    judges = Judges.folds(Rows(np.zeros((200, 1)), y, np.ones(200), "classification", 2), 0)
    assert len(judges.parts[0]) == 200
    assert [len(part) for part in judges.fitted[1:]] == 8 * [175]
    assert [int(y[part].sum()) for part in judges.held[1:]] == 8 * [5]


def test_a_column_that_varies_by_rounding_only_is_constant() -> None:
    rows = random_rows("classification", 2)
    X = np.column_stack([rows.X, 5 + 1e-8 * rows.X[:, 0]])
    assert replace(rows, X=X).scale.spread[-1] == 1.0
    assert replace(rows, X=1e-200 * X).scale.spread[0] == pytest.approx(1e-200 * rows.scale.spread[0])


@pytest.mark.slow
def test_units_that_come_together_are_recorded_each_with_its_rows_and_resume(tmp_path: Path) -> None:
    problem = problems.get("xor", n=200)
    run = open_run(perceptron(2, 2), problem, "classification", checkpoint=tmp_path / "run.pt")
    run.start()
    run.epoch()
    assert isinstance(run, ExplainedRun)
    run.growth = replace(run.growth, phase="group", group=1, ended="2 series were in vain")
    run.epoch()
    run.save(0.0)
    record = run.history.records[-1]
    assert (record.units, record.undone) == ([2, 3, 4, 5], False)
    assert "They came together, as fewer units had not lowered the held-out loss by enough." in record.explain()
    assert "Training on without them" in record.explain()
    for entry in record.explanation["folds"]:
        assert entry["why"]["predicted"] != entry["why"]["true"] == problem.y[entry["why"]["instance"]]
    model = perceptron(2, 2)
    again = open_run(model, problem, "classification", checkpoint=tmp_path / "run.pt")
    again.start()
    for each in (run, again):
        while not each.history.ended:
            each.epoch()
    assert all(torch.equal(a, b) for a, b in zip(states(run.state.model), states(model), strict=True))
    removed = [number for record in again.history.records if record.removed for number in record.removed]
    assert not removed or "predicted as well without" in again.history.explain()


def test_moons_take_four_units_and_none_is_wrong(moons: tuple[nn.Sequential, History]) -> None:
    model, history = moons
    assert model[0].out_features <= 4
    assert history.last["score"] == 1.0
    assert history.loop.startswith("explained growth")


def test_every_unit_has_its_reason(moons: tuple[nn.Sequential, History]) -> None:
    model, history = moons
    numbers = history.added_by()
    assert len(numbers) == model[0].out_features
    assert {history.records[number - 1].method for number in numbers} == {"linear", "fold"}
    folds = [record for record in history.records if record.method == "fold"]
    for record in folds:
        assert record.explanation["why"]["predicted"] != record.explanation["why"]["true"]
        assert record.before["validation_loss"] is not None
        assert record.explanation["alone"]["loss"] <= record.before["loss"] + 1e-9
    text = history.explain()
    assert "growth starts as the linear model" in text
    assert "Training on without it would have brought the training loss to" in text


def growth_before(run: ExplainedRun) -> Growth:
    """Return the search as it was before the round of a hook."""
    return _growth_from(run.snapshot()["growth"], run.judges)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["circle", "xor", "noisy_parabola", "quadratic"])
def test_the_rows_of_every_reason_were_mispredicted(name: str) -> None:
    X, y = PLANAR[name](np.random.default_rng(0))
    model = perceptron(2, int(y.max()) + 1)
    run = open_run(model, (X, y), "classification", validation="auto")
    assert isinstance(run, ExplainedRun)
    before: list[tuple[int, Any, Growth]] = []
    run.before_decision.append(
        lambda state: before.append((len(state.history.records), deepcopy(state.model), growth_before(run)))
    )
    run.start()
    while not run.history.ended:
        run.epoch()
    numbers = run.history.added_by()
    assert len(numbers) == model[0].out_features
    assert all(number > 0 for number in numbers)
    networks = {count: nets for count, *nets in reversed(before)}  # the first with so many: later rounds may add none
    folds = [record for record in run.history.records if record.method == "fold"]
    assert folds
    for record in folds:
        network, growth = networks[record.number]
        decided = network(torch.tensor(X)).argmax(1).numpy()
        if fold := record.explanation.get("fitted_without"):  # it is said of another network
            W = network[0].weight.detach().numpy()  # of what waited, or without it where it was undone since
            nets = next(each.nets for each in (growth.now, growth.best) if np.array_equal(each.net.W, W))
            decided = nets[fold["fold"]].outputs(replace(run.judges.rows, X=X)).argmax(1)
        for why in (entry["why"] for entry in fold_entries(record.explanation)):
            listed = record.explanation.get("mistakes", why.get("mistakes"))
            wrong = sorted({why["instance"], *listed, *why["cluster"]["mistakes"]})
            assert (decided[wrong] != y[wrong]).all()
            assert (decided[why["instance"]], y[why["instance"]]) == (why["predicted"], why["true"])
    assert {run.history.records[number - 1].method for number in numbers} <= {"linear", "fold"}


@pytest.mark.slow
def test_reasons_beyond_the_rows_fitted_cite_what_a_network_fitted_without_them_mispredicts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    y = ((X**2).sum(1) < 9).astype(np.int64)
    run = open_run(perceptron(10, 2), (X, y), "classification", validation="auto")
    assert isinstance(run, ExplainedRun)
    before: list[Growth] = []
    run.before_decision.append(lambda _: before.append(growth_before(run)))
    run.start()
    while not run.history.records or "fitted_without" not in run.history.records[-1].explanation:
        assert not run.history.ended
        run.epoch()
    assert run.growth.now is not None
    check_reason_of_rows_held_out(run, before[-1].now, run.growth.now, 1)
    run.growth = replace(run.growth, best=run.growth.now, phase="group")
    run.epoch()
    check_reason_of_rows_held_out(run, before[-1].now, None, 2)


def check_reason_of_rows_held_out(run: ExplainedRun, before: Any, after: Any, count: int) -> None:
    """Look up the reason of the last growth step in the network of the fold that it names, before it and after."""
    record, rows = run.history.records[-1], run.judges.rows
    number = record.explanation["fitted_without"]["fold"]
    net, held = before.nets[number], run.judges.held[number]
    assert not np.isin(held, run.judges.fitted[number]).any()
    assert not rows.wrong(before.net.outputs(rows)).any()  # otherwise units are for rows that were fitted
    decided, y, entries = net.outputs(rows).argmax(1), rows.y, fold_entries(record.explanation)
    assert len(entries) == count
    for entry in entries:
        why, where = entry["why"], entry["where"]
        listed = record.explanation.get("mistakes", why.get("mistakes"))
        wrong = np.array(sorted({why["instance"], *listed, *why["cluster"]["mistakes"], *why["cluster"]["alike"]}))
        assert np.isin(wrong, held).all()
        assert (decided[wrong] != y[wrong]).all()
        assert (decided[why["instance"]], y[why["instance"]]) == (why["predicted"], why["true"])
        assert why["features"] == pytest.approx(rows.X[why["instance"]])
        if where["found"] != "the instance itself":
            z = net.V @ np.maximum(net.W @ np.array(where["fold_point"]) + net.b, 0) + net.c
            assert z[0] == pytest.approx(z[1], abs=1e-9)
    assert "by a network fitted without" in record.why()
    assert "of that network" in record.explain()
    if after is not None:
        used = (decided == y) | np.isin(np.arange(len(y)), held)
        now = after.nets[number].outputs(rows).argmax(1)
        assert record.explanation["after"]["errors_before"] == int((decided != y)[used].sum())
        assert record.explanation["after"]["errors"] == int((now != y)[used].sum())


@pytest.mark.slow
def test_the_reason_of_a_regression_says_how_many_rows_were_too_low_or_too_high() -> None:
    _, history = grow("sine_curve")
    fold = next(record for record in history.records if record.method == "fold")
    why = fold.explanation["why"]
    word = "high" if why["cluster"]["mean_residual"][0] > 0 else "low"
    assert f"{why['cluster']['same_mistake']} samples like sample {why['instance']}" in fold.explain()
    assert f"too {word}" in fold.explain()


@pytest.mark.parametrize("outputs", [1, 3])
def test_logits_of_classes_are_as_confident_as_held_out_rows_prefer(outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    X = rng.normal(size=(120, 8))  # few rows of many columns: logits of rows that were fitted are too large
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(np.int64) + (outputs > 1) * (rng.random(120) < 0.2)
    held = (torch.tensor(X[60:]), torch.tensor(y[60:]))
    model = perceptron(8, outputs)
    options: dict[str, Any] = {"validation": held, "keep": "best", "progress": False}
    _, history = creases.grow(model, (X[:60], y[:60]), "classification", **options)
    with torch.no_grad():
        logits = model(held[0])
    shares = np.bincount(y[:60]) / 60
    constant = torch.tensor(np.log(shares) if outputs > 1 else np.log(shares[1:] / shares[:1]))

    def loss(factor: float) -> float:
        Z = constant + factor * (logits - constant)
        if outputs > 1:
            return float(nn.functional.cross_entropy(Z, held[1]))
        return float(nn.functional.binary_cross_entropy_with_logits(Z[:, 0], held[1].double()))

    assert history.last["validation_loss"] == pytest.approx(loss(1.0))
    assert loss(1.0) <= min(loss(0.9), loss(1.1))


@pytest.mark.slow
def test_stripes_of_a_hundred_rows_are_learned() -> None:
    def draw(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
        X = rng.uniform(-1, 1, (n, 2))
        return X, (np.floor(1.6 * X.sum(axis=1)) % 2).astype(np.int64)

    scores = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows, (X, y) = draw(rng, 100), draw(rng, 1000)
        model = perceptron(2, 2)
        creases.grow(model, rows, "classification", seed=seed, progress=False)
        with torch.no_grad():
            scores.append(float((model(torch.tensor(X)).argmax(dim=1).numpy() == y).mean()))
    assert min(scores) > 0.8


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "units", "score"), [("xor_circles", 9, 0.97), ("spirals", 9, 0.99), ("shells", 6, 1.0)]
)
def test_hard_problems_take_few_units_whatever_the_rounding(name: str, units: int, score: float) -> None:
    problem, found = problems.get(name), []
    for seed in range(5):  # another processor rounds in another way
        X = problem.X * (1 + 1e-12 * np.random.default_rng(seed).normal(size=problem.X.shape))
        model = perceptron(X.shape[1], 2)
        _, history = creases.grow(model, (X, problem.y), "classification", progress=False)
        found.append((model[0].out_features, history.last["score"]))
    widths, scores = zip(*found, strict=True)
    assert median(widths) <= units
    assert max(widths) <= 2 * units
    assert min(scores) >= score


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_targets_without_a_pattern_hardly_ever_get_a_unit(task: str) -> None:
    grown = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, d = int(rng.choice([200, 400])), int(rng.integers(2, 7))
        y = rng.integers(0, 2, n) if task == "classification" else rng.normal(size=(n, 1))
        model = perceptron(d, 2 if task == "classification" else 1)
        _, history = creases.grow(model, (rng.normal(size=(n, d)), y), task, progress=False, seed=seed)
        grown.append(any(record.method == "fold" and not record.undone for record in history.records))
    assert sum(grown) <= 3  # held-out rows are a sample too: of 20 such draws 1 or 2 are grown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wine", "noise"])
def test_held_out_rows_are_predicted_no_worse_than_by_the_linear_model(name: str) -> None:
    rng = np.random.default_rng(0)
    problem = None if name == "noise" else problems.get(name)
    X, y = (rng.normal(size=(250, 3)), rng.integers(0, 2, 250)) if problem is None else (problem.X, problem.y)
    model = perceptron(X.shape[1], int(y.max()) + 1)
    _, history = creases.grow(model, (X, y), "classification", progress=False)
    linear = history.records[0].before
    assert linear["validation_loss"] is not None
    confirmed = [epoch for epoch in history.epochs if epoch["epoch"] != history.kept or history.joined is None][-1]
    assert confirmed["validation_loss"] <= linear["validation_loss"]


@pytest.mark.thorough
def test_ten_classes_start_in_as_few_pairs_as_predict_as_well() -> None:
    model, history = grow("digits")
    assert history.records[0].explanation["pairs"] < 9
    assert history.epochs[-1]["validation_score"] >= history.records[0].before["validation_score"]
    assert model[0].out_features <= 18


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one class", "constant inputs", "contradictions", "constant target", "two outputs"])
def test_odd_tables_grow_to_a_finite_network(kind: str) -> None:
    rng = np.random.default_rng(0)
    X, y, m, task = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), 2, "classification"
    if kind == "one class":
        y = np.zeros(60, np.int64)
    elif kind == "constant inputs":
        X = np.ones((60, 2))
    elif kind == "contradictions":
        X = np.repeat(X[:30], 2, axis=0)
        y = np.tile([0, 1], 30)
    elif kind == "constant target":
        task, m, y = "regression", 1, np.full((60, 1), 7.0)
    else:
        task, y = "regression", np.column_stack([np.abs(X[:, 0]), X[:, 1]])
    model = perceptron(2, m)
    _, history = creases.grow(model, (X, y), task, progress=False)
    outputs = model(torch.tensor(X))
    assert bool(torch.isfinite(outputs).all())
    if kind == "constant target":
        assert torch.allclose(outputs, torch.tensor(7.0, dtype=torch.float64), atol=1e-6)
    if kind == "two outputs":
        assert history.last["score"] > 0.99
    if kind == "one class":
        assert history.last["score"] == 1.0
    assert model[0].out_features <= 12


def test_random_units_grow_in_the_same_loop_when_asked_for() -> None:
    model, history = grow("moons", loop="explained", how="random", seed=1)
    assert {record.method for record in history.records if record.action == "grow"} == {"linear", "random"}
    assert history.last["score"] > 0.95
    assert model[0].out_features < 20


@pytest.mark.parametrize("how", ["tiny", "gradmax"])
def test_other_methods_supply_one_unit_at_a_time(how: str) -> None:
    _, history = grow("moons", loop="explained", how=how, max_units=5)
    added = [record for record in history.records if record.method == how]
    assert added
    assert all(len(record.units) == 1 for record in added)


@pytest.mark.slow
def test_limits_of_size_and_budget_hold() -> None:
    assert grow("spirals", max_units=3)[0][0].out_features <= 3
    model, history = grow("spirals", max_parameters=2 + 5 * 4)
    assert sum(parameter.numel() for parameter in model.parameters()) <= 22
    _, history = grow("spirals", budget=800)
    assert "the budget of 800 epochs is spent" in history.ended


@pytest.mark.parametrize("name", ["moons", "sine_curve"])
@pytest.mark.parametrize("budget", ["1 epoch", "3 epochs", "50 epochs", "100000 multiply-adds"])
def test_a_short_budget_is_kept(name: str, budget: str) -> None:
    _, history = grow(name, budget=budget, loop="explained")
    amount, unit = budget.split()
    spent = history.last["multiply_adds" if unit == "multiply-adds" else "epochs"]
    assert float(amount) <= spent <= 1.1 * float(amount)
    assert "is spent" in history.ended
    assert math.isfinite(history.last["loss"])


def test_a_round_ends_when_the_seconds_of_a_budget_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**9))
    monkeypatch.setattr("creases.growth._budget.time.monotonic", lambda: 0.01 * next(ticks))
    _, history = grow("spirals", budget="2 s")
    assert "the budget of 2 seconds is spent" in history.ended
    assert history.last["epochs"] < 200


@pytest.mark.slow
def test_a_larger_budget_begins_again_where_the_linear_model_had_not_converged(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    grow("moons", budget=3, loop="explained", checkpoint=path)
    model, history = grow("moons", budget=100_000, loop="explained", checkpoint=path)
    whole, _ = grow("moons", budget=100_000, loop="explained")
    assert [record.method for record in history.records].count("linear") == 1
    assert all(torch.equal(a, b) for a, b in zip(states(model), states(whole), strict=True))


def states(model: nn.Module) -> list[torch.Tensor]:
    return [value.clone() for value in model.state_dict().values()]


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 3, 5])
@pytest.mark.parametrize("name", ["xor", "sine_curve"])
def test_a_run_that_is_killed_and_resumed_ends_in_the_same_bits(name: str, rounds: int, tmp_path: Path) -> None:
    problem = problems.get(name, n=120)
    classes = problem.classes is not None
    data = (problem.X, problem.y if classes else problem.y[:, None])
    task = "classification" if classes else "regression"
    shape = (problem.X.shape[1], 2 if classes else 1)
    config = GrowthConfig(max_units=5)
    whole = perceptron(*shape)
    run = open_run(whole, data, task, config, validation="auto")
    run.start()
    while not run.history.ended:
        run.epoch()
    first = open_run(perceptron(*shape), data, task, config, validation="auto", checkpoint=tmp_path / "run.pt")
    first.start()
    for _ in range(rounds):
        if not first.history.ended:
            first.epoch()
            first.save(0.0)
    model = perceptron(*shape)
    second = open_run(model, data, task, config, validation="auto", checkpoint=tmp_path / "run.pt")
    second.start()
    assert len(second.history.epochs) == len(first.history.epochs)
    while not second.history.ended:
        second.epoch()
    assert all(torch.equal(a, b) for a, b in zip(states(whole), states(model), strict=True))
    assert [record.undone for record in second.history.records] == [record.undone for record in run.history.records]


@pytest.mark.slow
def test_a_larger_budget_continues_growth_that_the_budget_ended(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    _, first = grow("spirals", budget=800, checkpoint=path)
    _, second = grow("spirals", budget=8000, checkpoint=path)
    assert len(second.epochs) > len(first.epochs)
    assert second.last["loss"] < first.last["loss"]


def test_snapshots_restore_a_run_bit_for_bit() -> None:
    problem = problems.get("xor", n=150)
    model = perceptron(2, 2)
    run = open_run(model, problem, "classification")
    run.start()
    run.epoch()
    before, state = states(model), run.snapshot()
    run.epoch()
    after = states(model)
    run.restore(state)
    assert all(torch.equal(a, b) for a, b in zip(before, states(model), strict=True))
    run.epoch()
    assert all(torch.equal(a, b) for a, b in zip(after, states(model), strict=True))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"loop": "sized"}, "as loop='sized' asks for"),
        ({"when": 5}, "when is an option of sized growth"),
        ({"stop": Target(score=0.9)}, "stop is an option of sized growth"),
        ({"how": "tiny"}, "how='tiny' gives units without a reason of their own"),
    ],
)
def test_options_of_sized_growth_choose_it(options: dict[str, Any], why: str) -> None:
    run = open_run(perceptron(2, 2), problems.get("moons"), "classification", GrowthConfig(**options))
    assert why in run.history.loop


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.1), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(2, 4, bias=False), nn.ReLU(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
    ],
)
def test_other_models_grow_by_size(model: nn.Module) -> None:
    run = open_run(model, problems.get("moons"), "classification")
    assert "the model is not a perceptron of one hidden relu layer" in run.history.loop
    with pytest.raises(InputError, match="loop must be 'sized' or 'auto' here"):
        open_run(model, problems.get("moons"), "classification", GrowthConfig(loop="explained"))


def test_large_data_grow_by_size() -> None:
    X = np.zeros((20_001, 2))
    run = open_run(perceptron(2, 1), (X, X[:, :1]), "regression")
    assert "20,001 rows of 2 numbers are too many for one batch" in run.history.loop


@pytest.mark.slow
def test_units_beside_another_model_fit_what_it_leaves() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    offset = 2 * X[:, :1] - 1
    y = offset + np.abs(X[:, 1:2] + X[:, 2:])
    units = grow_units(X, y, task="regression", offset=offset)
    outputs = offset + np.maximum(X @ units.W.T + units.b, 0) @ units.V.T + units.c
    assert 1 - ((outputs - y) ** 2).mean() / y.var() > 0.99
    assert len(units.reasons) == len(units.b) <= 4
    assert all("why" in reason for reason in units.reasons)
    assert units.held_loss < 0.1 * units.held_loss_before


@pytest.mark.slow
def test_units_say_which_rows_were_mispredicted_beside_which_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    offset, held = 2 * X[:, :1] - 1, np.arange(0, 400, 3)
    y = offset + np.abs(X[:, 1:2] + X[:, 2:])
    units = grow_units(X, y, task="regression", offset=offset, held=held, folds=[held, np.arange(1, 400, 3)])
    assert len(units.reasons) == len(units.b) >= 1
    for reason in units.reasons:
        W, b, V, c = reason["units_before"]
        error = (offset + np.maximum(X @ W.T + b, 0) @ V.T + c - y)[:, 0]
        why = reason["why"]
        alike = why["cluster"]["alike"]
        assert why["instance"] in alike
        assert not np.isin(alike, held).any()
        assert len(alike) == why["cluster"]["same_mistake"]
        assert why["residual"][0] == pytest.approx(error[why["instance"]])
        assert why["cluster"]["mean_residual"][0] == pytest.approx(error[alike].mean())
        assert why["features"] == pytest.approx(X[why["instance"]])


@pytest.mark.slow
def test_units_are_trained_without_each_fold_once_they_are_grown() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.abs(X.sum(axis=1, keepdims=True)) + 0.3 * rng.normal(size=(300, 1))
    folds = list(np.array_split(np.arange(300), 3))
    units = grow_units(X, y, task="regression", offset=0 * y, held=folds[0], folds=folds)
    assert len(units.without) == 3
    assert all(W.shape == units.W.shape and b.shape == units.b.shape for W, b in units.without)
    assert len({W.tobytes() for W, _ in units.without}) == 3


def test_units_beside_a_classifier_lower_its_loss() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (np.abs(X[:, 0]) + X[:, 1] > 0.8).astype(np.int64)
    offset = X[:, 1:] - 0.8
    units = grow_units(X, y, task="classification", offset=offset, held=np.arange(0, 400, 5))
    outputs = offset + np.maximum(X @ units.W.T + units.b, 0) @ units.V.T + units.c
    assert ((outputs[:, 0] > 0) == y).mean() > 0.97
    assert 1 <= len(units.b) <= 4


@pytest.mark.slow
def test_no_unit_is_grown_where_the_other_model_leaves_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=(300, 1))
    folds = list(np.array_split(rng.permutation(300), 5))
    units = grow_units(X, y, task="regression", offset=np.zeros((300, 1)), folds=folds)
    assert len(units.b) == 0
    assert units.held_loss == units.held_loss_before
    assert math.isfinite(units.held_loss)
