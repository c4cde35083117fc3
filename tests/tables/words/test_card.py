"""The card of points: sums by hand are predictions, and its text."""

import numpy as np
import pytest

from creases.tables._words.card import WIDTH, points_card
from creases.tables._words.terms import Terms
from readable_models import make_model, random_model

TEXT = "weight (lb),home,y\n" + "".join(f"{1600 + 100 * k},{['own', 'rent'][k % 2]},{k + 0.5}\n" for k in range(20))
CURVES = {"weight (lb)": ([1600, 2750, 3500], [9.5, 1, 0]), "home=own": ([0, 1], [0, 2])}


def test_the_card_of_a_small_model():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    assert points_card(model, X=problem.X).lines() == [
        "y: 10 for the average row, and from each column:",
        "",
        "weight  1,600 lb  2,750 lb  3,500 lb",
        "           +9.50     +1.00      0.00",
        "",
        "home    own  rent",
        "      +2.00  0.00",
        "Between two numbers the points are in proportion; beyond the first and last they stay the same.",
    ]


def test_points_looked_up_by_hand_sum_to_the_prediction():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    card = points_card(model, X=problem.X)
    entries = {entry.name: entry for entry in card.entries}
    places = [float(place.removesuffix(" lb").replace(",", "")) for place in entries["weight"].places]
    for x in problem.X:
        weight = np.interp(x[0], places, entries["weight"].points[0])
        home = entries["home"].points[0][entries["home"].places.index("own" if x[1] else "rent")]
        assert card.start[0] + weight + home == pytest.approx(model.network(x[None])[0, 0], abs=1e-12)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_cards_fit_the_page(n_classes):
    model, problem = random_model(0, n_classes, plane=True)
    card = points_card(model, X=problem.X)
    lines = card.lines()
    assert len(lines) <= 120
    notes = set(card.notes) | {card.opening}
    assert all(len(line) <= WIDTH for line in lines if line not in notes)
    assert len(card.to_dict()["entries"]) == len(card.entries)


def test_a_card_of_many_columns_ends_after_two_pages():
    names = [f"c{k:02}" for k in range(60)]
    head = ",".join([*names, "y"]) + "\n"
    text = head + "".join(",".join(str((k * (j % 6 + 1) + j) % 7) for j in range(60)) + f",{k}.5\n" for k in range(20))
    model, problem = make_model(text, {name: ([0, 6], [0, 1.0 + k]) for k, name in enumerate(names)})
    lines = points_card(model, X=problem.X).lines()
    assert len(lines) <= 120
    assert "smaller entries are left out here." in lines[-2]


def test_planes_are_tables_of_both_columns():
    model, problem = random_model(0, 2, plane=True)
    terms = Terms.from_model(model)
    card = points_card(model, X=problem.X)
    entry = next(entry for entry in card.entries if entry.name == "age and home together")
    assert set(entry.rows) | set(entry.places) >= {"own", "rent", "none", "missing"}
    ages = [float(place) for place in entry.places]
    row = np.zeros((1, problem.X.shape[1]))
    level = next(j for j, feature in enumerate(problem.encoding.features) if feature.name == "home=own")
    row[0, 0], row[0, level] = ages[-1], 1.0
    expected = terms.to_points(terms.model.planes[0](row))[0, 0]
    assert entry.points[entry.rows.index("own"), -1] == pytest.approx(expected, abs=1e-6)
