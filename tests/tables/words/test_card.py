"""The card of points: whoever follows its text decides as the model, and what it says of itself is true."""

import csv

import numpy as np
import pytest

import creases
from creases.cli import app
from creases.errors import InputError
from creases.tables._words.card import WIDTH, points_card
from creases.tables._words.terms import POINTS
from follow_card import PrintedCard
from readable_models import make_model, random_model, set_threshold

TEXT = "weight (lb),home,y\n" + "".join(f"{1600 + 100 * k},{['own', 'rent'][k % 2]},{k + 0.5}\n" for k in range(20))
CURVES = {"weight (lb)": ([1600, 2750, 3500], [9.5, 1, 0]), "home=own": ([0, 1], [0, 2])}


def make_rows(n=400, seed=0):
    """Rows with a number, one with gaps, a category, yes/no, a date with hours, and pairs that act together."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), np.exp(rng.normal(10, 1, n)).round(2)
    town, garden = rng.choice(["Ulm", "Bonn", "Rom", "St. Gallen"], n), rng.choice(["yes", "no"], n)
    days = np.datetime64("2021-03-01T00:00") + rng.integers(0, 800 * 24, n).astype("m8[h]")
    gone = rng.random(n) < 0.15
    moment = [str(day) for day in days.astype("M8[s]")]
    hours = days.astype("M8[h]").astype(int) % 24
    score = 0.05 * (age - 45) + np.where(town == "Ulm", 0.08 * (age - 45), 0.0) + (garden == "yes") * 1.0
    score = score + np.abs(hours - 12) / 6 - 1 + np.where(gone, 0.5, np.log(income) - 10)
    score = score + 0.3 * rng.normal(size=n)
    rows = [
        {"age": str(age[i]), "income": "" if gone[i] else str(income[i]), "town": town[i], "garden": garden[i],
         "seen": moment[i]} for i in range(n)
    ]  # fmt: skip
    return rows, score


def write(rows, target, path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "y"])
        writer.writeheader()
        writer.writerows({**row, "y": y} for row, y in zip(rows, target, strict=True))
    return path


TARGETS = {
    "two classes": lambda score: np.where(score > 0.7, "buys", "leaves"),
    "three classes": lambda score: np.array(["low", "middle", "high"])[np.digitize(score, [-0.5, 1.5])],
    "a number": lambda score: (100 + 10 * score).round(3),
}


@pytest.fixture(scope="module", params=TARGETS)
def fitted(request, tmp_path_factory):
    rows, score = make_rows()
    path = write(rows, TARGETS[request.param](score), tmp_path_factory.mktemp("card") / "table.csv")
    model = creases.fit_table(path, "y")
    maps = [pair for pair in model.planes if not {"town", "garden", "income is missing"} & {*pair}]  # two numbers
    return (model.edit(forbid=maps).model if maps else model), rows, path


@pytest.mark.parametrize("integer", [False, True])
def test_following_the_printed_card_gives_the_models_decision_on_every_row(fitted, integer):
    model, rows, _ = fitted
    card = model.card(integer=integer)
    printed = PrintedCard(str(card))
    if model.classes is None:
        sums = np.array([[printed.sums(row)["points"]] for row in rows]) * card.worth
        truth = model.function.scores(model.encode(rows).X)
        assert np.abs(sums - truth).max() <= card.reach
        assert integer or card.reach < 0.002 * np.ptp(truth)
        return
    decisions = np.array([printed.decide(row) for row in rows])
    differ = int((decisions != model.predict(rows)).sum())
    assert differ <= card.changed
    assert differ == 0 or integer


def test_sums_that_bend_along_several_numbers_are_not_for_a_card():
    model, problem = random_model(1, 0, units=True)
    with pytest.raises(InputError, match="model must add up columns, and pairs of which one has levels"):
        points_card(model, X=problem.X)


def test_values_that_the_table_did_not_have_have_a_place():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    printed = PrintedCard(str(points_card(model, X=problem.X)))
    new = [{"weight (lb)": "9000", "home": "castle"}, {"weight (lb)": "1000.5", "home": "own"}]
    expected = model.function.scores(problem.encoding.transform(new).X)[:, 0]
    assert [printed.sums(row)["points"] for row in new] == pytest.approx(expected, abs=1e-9)


def test_pooled_and_unknown_values_are_called_as_in_the_models_words():
    towns = ["big"] * 60 + [f"small {k}" for k in range(60)]
    text = "town,y\n" + "".join(f"{town},{k + 0.5}\n" for k, town in enumerate(towns))
    curves = {"town=big": ([0, 1], [0, 1.0]), "town=other values": ([0, 1], [0, -2.0])}
    model, problem = make_model(text, curves, kinds={"town": "category"})
    card = points_card(model, X=problem.X)
    assert "  at        big  a new value  other values" in card.lines()
    assert any(line.startswith("Other values of town: small 0; small 1; ") for line in card.lines())
    rows = [{"town": "big"}, {"town": "small 7"}, {"town": "elsewhere"}]
    assert [PrintedCard(str(card)).sums(row)["points"] for row in rows] == [1.0, -2.0, 0.0]


def test_the_card_of_a_small_model():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    assert points_card(model, X=problem.X).lines() == [
        "y: start with the points of every row and add those of each column.",
        "",
        "start",
        "  at      every row",
        "  points     +10.00",
        "",
        "weight (lb), in proportion between",
        "  at      1,600  2,750  3,500",
        "  points  +9.50  +1.00   0.00",
        "",
        "home",
        "  at        own  rent  a new value",
        "  points  +2.00  0.00         0.00",
        "",
        "Between two numbers points are in proportion; beyond the first and last they stay the same.",
        "A missing number counts as its mean: weight (lb) as 2,550.",
        "For any row its sum differs from the model's by at most 0.",
    ]


def test_a_missing_answer_counts_as_it_does_in_the_model():
    text = "garden,y\n" + "".join(f"{'yes' if k % 4 else 'no'},{k + 0.5}\n" for k in range(20))
    model, problem = make_model(text, {"garden=yes": ([0, 1], [0, 8])}, intercept=10)
    lines = points_card(model, X=problem.X).lines()
    assert "A missing garden counts 75 % as yes, the rest as no." in lines
    assert model.predict({"garden": [None]})[0] == pytest.approx(10 + 0.75 * 8)


@pytest.mark.parametrize("plane", [False, True])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("integer", [False, True])
def test_no_input_is_farther_from_the_model_than_the_card_says(n_classes, plane, integer):
    model, problem = random_model(1, n_classes, plane=plane)
    terms = model._terms()
    card = points_card(model, X=problem.X, integer=integer)
    rng = np.random.default_rng(0)
    X = problem.X[rng.integers(0, len(problem.X), 4000)].copy()
    for j, feature in enumerate(problem.encoding.features):  # other rows than those of the table
        if feature.name in ("age", "sold days since 2012-01-01"):
            known = X[:, problem.features.index("age is missing")] == 0 if feature.name == "age" else slice(None)
            X[known, j] = rng.uniform(problem.X[:, j].min() - 3, problem.X[:, j].max() + 3, len(X))[known]
    change = card.sums(X) - terms.scores(X)
    low, high = card.bound
    assert (change >= low - 1e-9).all()
    assert (change <= high + 1e-9).all()
    if integer:
        return
    assert np.abs(change).max() > 0.3 * card.reach  # the bound is not far from what occurs


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_probability_changes_by_more_than_the_card_says(n_classes):
    model, problem = random_model(2, n_classes)
    card = points_card(model, X=problem.X, integer=True)

    def chances(points):
        scores = points / POINTS if n_classes == 3 else np.concatenate([0 * points, points], axis=1) / POINTS
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    change = np.abs(chances(card.sums(problem.X)) - chances(model._terms().scores(problem.X))).max()
    assert 0 < change <= card.chance


def test_a_threshold_is_on_the_card():
    model, problem = random_model(0, 2)
    model = set_threshold(model, 0.8)
    card = points_card(model, X=problem.X)
    assert card.threshold == pytest.approx(20.0, abs=0.06)
    assert "above +20.0 yes is predicted, else no" in card.lines()[0]


def test_a_card_of_many_columns_leaves_nothing_out():
    names = [f"c{k:02}" for k in range(60)]
    head = ",".join([*names, "y"]) + "\n"
    text = head + "".join(",".join(str((k * (j % 6 + 1) + j) % 7) for j in range(60)) + f",{k}.5\n" for k in range(20))
    model, problem = make_model(text, {name: ([0, 6], [0, 1.0 * (k > 3)]) for k, name in enumerate(names)})
    lines = points_card(model, X=problem.X).lines()
    assert [line.split(",")[0] for line in lines if line.startswith("c")] != []
    assert {line.split(",")[0] for line in lines if line.startswith("c")} == set(names[4:])
    assert f"Add nothing: {', '.join(names[:4])}." in lines
    assert all(len(line) <= WIDTH for line in lines if line.startswith("  "))


def test_an_unused_column_is_named_though_another_has_its_name_in_it():
    days = [f"2021-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(40)]
    text = "sold,month of sold,y\n" + "".join(f"{day},{k % 7},{k + 0.5}\n" for k, day in enumerate(days))
    model, problem = make_model(text, {"month of sold": ([0, 6], [0, 3.0])})
    assert "Add nothing: sold." in points_card(model, X=problem.X).lines()


def test_the_command_rounds_points_on_request(fitted, tmp_path):
    from typer.testing import CliRunner

    model, _, _ = fitted
    if model.classes is None:
        return
    folder = tmp_path / "run"
    runner = CliRunner()
    model.save(folder)
    whole = runner.invoke(app, ["explain", str(folder), "--integer"])
    assert whole.exit_code == 0, whole.output
    said = whole.output.replace("\n", " ").partition("a probability by at most ")[2].partition(" %")[0]
    assert 100 * model.card(integer=True).chance <= float(said) <= 110 * model.card(integer=True).chance
    refused = runner.invoke(app, ["explain", str(folder), "--integer", "--row", "0"])
    assert refused.exit_code == 2
    assert "--integer" in refused.output
