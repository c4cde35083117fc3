"""Columns of very many values: an effect of each, shrunk by how much they differ, through every door."""

import numpy as np
import pandas as pd
import pytest

import creases
from creases.errors import InputError
from creases.tables._words.column_text import model_graphs
from creases.tables._words.model_text import describe_model
from run_exports import RUNNERS

N = 130  #: values of the column


def members(kind, seed=0, n_levels=N, n_rows=8):
    """Return rows of members whose target depends on the member, by a normal effect, and on a number."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_levels), n_rows)
    rng.shuffle(who)
    x = rng.uniform(-2, 2, len(who))
    score = rng.normal(0, 1.5, n_levels)[who] + 0.5 * x
    y = {
        "number": lambda: score + rng.normal(0, 1, len(who)),
        "count": lambda: rng.poisson(np.exp(score / 2 + 1)),
        "two": lambda: np.where(rng.random(len(who)) < 1 / (1 + np.exp(-score)), "yes", "no"),
        "three": lambda: np.array(["a", "b", "c"])[np.digitize(score + rng.normal(0, 1, len(who)), [-1, 1])],
    }[kind]()
    names = [None if k == 7 else f"M{k:04d}" for k in who]
    return pd.DataFrame({"member": names, "x": x, "y": y})


@pytest.fixture(scope="module", params=["number", "count", "two", "three"])
def fitted(request):
    table = members(request.param)
    return creases.fit_table(table, "y", test_fraction=0.0), table


def r2(model, table):
    return 1 - ((model.predict(table) - table["y"]) ** 2).sum() / ((table["y"] - table["y"].mean()) ** 2).sum()


def test_each_of_two_thousand_values_has_an_effect_of_its_own():
    table = members("number", n_levels=2_000, n_rows=5)
    test, rest = np.arange(len(table)) % 5 == 0, table["y"] - 0.5 * table["x"]
    model = creases.fit_table(table[~test], "y", test_fraction=0.0)
    known = rest[~test].groupby(table["member"][~test]).agg(["sum", "count"])
    shrunk = (known["sum"] / (known["count"] + 1 / 1.5**2)).reindex(table["member"][test]).fillna(0).to_numpy()
    best = table["y"][test] - shrunk - 0.5 * table["x"][test]
    reachable = 1 - (best**2).sum() / ((table["y"][test] - table["y"][test].mean()) ** 2).sum()
    assert r2(model, table[test]) > reachable - 0.01


def test_two_crossed_columns_have_effects_each():
    rng = np.random.default_rng(3)
    user, item = rng.integers(0, 400, 6_000), rng.integers(0, 200, 6_000)
    y = rng.normal(0, 1, 400)[user] + rng.normal(0, 1, 200)[item] + rng.normal(0, 1, 6_000)
    table = pd.DataFrame({"user": [f"u{k}" for k in user], "item": [f"i{k}" for k in item], "y": y})
    model = creases.fit_table(table[1_000:], "y", test_fraction=0.0)
    assert r2(model, table[:1_000]) > 0.59


@pytest.mark.parametrize(("n_levels", "noise"), [(100, 1.0), (100, 0.3), (400, 1.0), (400, 0.3)])
def test_a_number_tied_to_the_values_keeps_its_slope(n_levels, noise):
    rng = np.random.default_rng(0)
    mean, level = rng.normal(size=n_levels), rng.integers(0, n_levels, 2_000)
    x = mean[level] + noise * rng.normal(size=2_000)
    y = 2 * x + 3 * mean[level] + 0.3 * rng.normal(size=2_000)
    table = pd.DataFrame({"x": x, "level": [f"v{k}" for k in level], "y": y})
    curve = creases.fit_table(table, "y", test_fraction=0.0).curves["x"]
    places = np.linspace(-1, 1, 51)
    assert np.polyfit(places, curve(places).ravel(), 1)[0] == pytest.approx(2, abs=0.15)


def test_values_that_say_nothing_add_nothing():
    table = members("number", seed=1)
    table["member"] = np.random.default_rng(0).permutation(table["member"])
    model = creases.fit_table(table, "y", test_fraction=0.0)
    assert not model.curves["member"].values.any()


def test_an_unknown_value_adds_what_known_ones_do_on_average(fitted):
    model, table = fitted
    X, unknown = model.encode(table).X, model.encode([{"member": "nobody", "x": 0.0}]).X
    member, gap = (model.curves[name] for name in ("member", "member is missing"))
    own = member(X[:, 0]) + gap(X[:, 1])
    assert np.abs(own.mean(axis=0)).max() < 1e-6
    assert (member(unknown[:, 0]) + gap(unknown[:, 1])) == pytest.approx(own[X[:, 1] == 0].mean(axis=0)[None], abs=1e-6)
    assert not member(unknown[:, 0]).any()


def test_folders_keep_every_effect(fitted, tmp_path):
    model, table = fitted
    model.save(tmp_path / "run")
    loaded = creases.load(tmp_path / "run")
    assert np.array_equal(loaded.predict(table), model.predict(table))
    assert loaded.function.n_bends == model.function.n_bends < 30  # a value is no bend


@pytest.mark.parametrize("suffix", RUNNERS)
def test_exports_look_effects_up(fitted, suffix, tmp_path):
    model, table = fitted
    others = [{"member": "nobody", "x": 0.3}, {"member": None, "x": 0.3}]
    rows = [*table.drop(columns="y").dropna().head(20).to_dict("records"), *others]
    numbers, _ = RUNNERS[suffix](model.export(tmp_path / f"model{suffix}").path, rows)
    predict = model.predict if model.classes is None else model.predict_proba
    assert np.asarray(numbers, np.float64).ravel() == pytest.approx(predict(pd.DataFrame(rows)).ravel(), abs=1e-7)


def test_texts_pictures_and_cards_say_the_values(fitted):
    model, table = fitted
    line = next(line for line in describe_model(model) if line.startswith("member"))
    assert f"{N - 1} values, each with its own effect" in line
    assert f"member {table['member'][0]}" in str(model.explain(table.head(1)))
    assert "missing" in str(model.explain(table[table["member"].isna()].head(1)))
    graph = next(graph for graph in model_graphs(model) if graph.name == "member")
    assert graph.counts.sum() == len(table)
    assert np.isfinite(graph.errors).all()
    assert "M0001" in str(model.card())
    if model.classes is not None:
        assert model.changes(table.head(1))[0].answers


def test_an_effect_can_be_edited(fitted):
    model, table = fitted
    rows, none = table.dropna().head(1), [0.0] * model.curves["member"].values.shape[1]
    edited = model.edit(move={"member": {rows["member"].iloc[0]: none}})
    predict = edited.model.predict if model.classes is None else edited.model.predict_proba
    assert predict(rows) == pytest.approx(predict(rows.assign(member="nobody")))
    with pytest.raises(InputError, match="name values of 'member'"):
        model.edit(move={"member": {"nobody": none}})


def test_other_models_get_the_values_too():
    model = creases.fit_table(members("number", n_rows=20), "y")
    assert (model.scores["test"].drop("mean of the target") > 0.5).all()


@pytest.mark.parametrize("level", [0.1, 0.95])
def test_quantiles_of_many_levels_have_their_share_of_new_rows_below(level):
    """Newton steps of a quantile's loss jumped to and fro where few rows are near the score."""
    rng = np.random.default_rng(0)
    who, x = rng.integers(150, size=6000), rng.uniform(size=6000)
    y = rng.normal(size=150)[who] + x + rng.normal(0, 0.3, 6000)
    table = pd.DataFrame({"who": np.char.add("c", who.astype(str)), "x": x, "y": y})
    model = creases.fit_table(table[:3000], "y", family=f"quantile:{level}")
    assert abs(np.mean(y[3000:] <= model.predict(table[3000:])) - level) < 0.03
