"""Rows explained: sums that are exact, and texts as a user sees them."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases import problems
from creases.tables._words.column_text import decode_row
from creases.tables._words.row_text import explain_row
from creases.tables._words.terms import probability, share_probability
from readable_models import make_model, set_threshold

TABLE = "age,home,garden,sold,y\n" + "".join(
    f"{'' if k % 7 == 0 else 20 + k},{['own', 'rent', ''][k % 3]},{['yes', 'no'][k % 2]},"
    f"20{10 + k % 5}-0{1 + k % 9}-1{k % 10},{['no', 'yes', 'perhaps'][k % 3]}\n"
    for k in range(60)
)


@lru_cache(maxsize=200)
def random_model(text, seed, n_classes):
    """Return a model of random curves on a table with that many classes; 0 for a regression."""
    rng = np.random.default_rng(seed)
    for word, number in () if n_classes else (("no", "1.5"), ("yes", "2.5"), ("perhaps", "3.75")):
        text = text.replace(f",{word}\n", f",{number}\n")
    text = text.replace(",perhaps\n", ",yes\n") if n_classes == 2 else text
    _, problem = make_model(text, {})
    m = 3 if n_classes == 3 else 1
    curves = {}
    for j, feature in enumerate(problem.encoding.features):
        x = problem.X[:, j]
        knots = np.linspace(x.min(), x.max(), 5) if feature.is_numeric else np.array([0.0, 1.0])
        curves[feature.name] = (knots, rng.normal(size=(len(knots), m)))
    return make_model(text, curves, intercept=rng.normal(size=m))


@pytest.mark.slow
def test_planes_and_units_are_effects_too():
    problem = problems.get("iris")
    model = creases.fit_table(problem)
    terms = model._terms()
    parts = terms.contributions(problem.X)
    assert np.abs(terms.intercept + parts.sum(axis=1) - terms.scores(problem.X)).max() < 1e-10
    explanation = explain_row(model, problem.X[0])
    assert len(explanation.effects) == len(terms.names)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 9))
def test_shares_of_two_classes_are_in_proportion_to_points(seed):
    model, problem = random_model(TABLE, seed, 2)
    effects = explain_row(model, problem.X[seed % 60]).effects
    ratios = [effect.share / effect.amount for effect in effects if abs(effect.amount) > 1e-6]
    assert np.ptp(ratios) < 1e-9


def test_shares_of_a_long_way_are_exact():
    model, _ = random_model(TABLE, 0, 3)
    terms = model._terms()
    parts = np.random.default_rng(0).normal(size=(5, 3)) * 2000
    parts -= parts.mean(axis=1, keepdims=True)
    ends = probability(terms, np.stack([terms.intercept, terms.intercept + parts.sum(axis=0)]))
    for k in range(3):
        assert abs(share_probability(terms, parts, k).sum() - (ends[1] - ends[0])[k]) < 1e-12


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 59), st.integers(0, 3))
def test_cells_of_a_row_encode_to_the_row(row, seed):
    model, problem = random_model(TABLE, seed, 2)
    cells = decode_row(model._terms(), problem.X[row])
    assert np.array_equal(problem.encoding.transform([cells]).X[0], problem.X[row])


TEXT = "age,sex,y\n" + "".join(
    f"{20 + k % 41},{['man', 'woman'][k % 2]},{['no', 'yes'][k % 3 == 0]}\n" for k in range(82)
)


def test_a_row_of_two_classes_as_a_user_sees_it():
    unit = np.log(2) / 10
    curves = {"age": ([20, 60], [-20 * unit, 20 * unit]), "sex=woman": ([0, 1], [0, 12 * unit])}
    model, problem = make_model(TEXT, curves, intercept=-10 * unit)
    x = problem.X[(problem.X[:, 0] == 50).argmax()]
    told = explain_row(model, x, name="row 30", truth="yes").lines()
    assert told == [
        "Row 30: predicted y: no (no 50 %, yes 50 %); true: yes",
        "  probability of yes for the average row   33.3 %  -10.0 points",
        "  age 50                                  +16.7    +10.0",
        "  sex man                                   0.0      0.0",
        "  for this row                             50.0 %    0.0 points",
        "10 points double the odds, 0 points are 50 %; percentages are shared in proportion to points.",
    ]


def test_a_threshold_is_told():
    model, problem = make_model(TEXT, {"age": ([20, 60], [-1, 1])})
    model = set_threshold(model, 0.3)
    assert explain_row(model, problem.X[0]).lines()[-1] == "yes is predicted above 30 %."
    assert explain_row(model, problem.X[20]).predicted == "yes"


def test_a_value_of_a_regression_as_a_user_sees_it():
    text = "weight (lb),y (mpg)\n" + "".join(f"{1600 + 100 * k},{k + 0.5}\n" for k in range(12))
    model, problem = make_model(text, {"weight (lb)": ([1600, 2700], [5.5, -5.5])}, intercept=20.25)
    assert explain_row(model, problem.X[3], name="row 3", truth="22").lines() == [
        "Row 3: predicted y: 22.75 mpg; true: 22",
        "  y for the average row  20.25 mpg",
        "  weight 1,900 lb        +2.50",
        "  for this row           22.75 mpg",
    ]


def test_missing_and_new_values_are_said():
    model, problem = random_model(TABLE, 0, 2)
    encoded = problem.encoding.transform([{"age": None, "home": "boat", "garden": "yes", "sold": "2012-03-14"}]).X[0]
    cells = {effect.name: effect.cell for effect in explain_row(model, encoded).effects}
    assert cells == {"age": "missing", "home": "a new value", "garden": "yes", "sold": "14 March 2012"}


def test_small_effects_are_summed_up():
    names = [f"c{k:02}" for k in range(20)]
    text = (
        ",".join([*names, "y"])
        + "\n"
        + "".join(",".join(["1", "2"][(k + j) % 2] for j in range(20)) + f",{k}.5\n" for k in range(12))
    )
    model, problem = make_model(text, {name: ([1, 2], [-1.0 - k, 1.0 + k]) for k, name in enumerate(names)})
    told = explain_row(model, problem.X[0]).lines()
    assert len(told) == 16
    assert told[-2].split()[:3] == ["8", "smaller", "effects"]


def test_plain_data_hold_what_is_printed():
    model, problem = random_model(TABLE, 0, 3)
    data = explain_row(model, problem.X[0], truth="no").to_dict()
    assert data["truth"] == "no"
    assert "total" not in data
    assert sum(data["probabilities"].values()) == pytest.approx(1)
