"""Counterfactuals against enumeration: whole numbers, categories and closed forms."""

import re
from itertools import product

import numpy as np
import pytest

import creases
from creases.errors import InputError
from creases.tables import Columns, counterfactual

PATIENCE = 600  #: seconds, also for a busy machine
NAMES = ["age", "home=own", "home=rent", "home=none", "income (k)"]


@pytest.fixture(scope="module")
def table():
    """Rows of a whole number, a category of three values and a number."""
    rng = np.random.default_rng(2)
    return np.column_stack([rng.integers(18, 30, 60), np.eye(3)[rng.integers(0, 3, 60)], rng.normal(3, 1, 60)])


@pytest.fixture(scope="module")
def net(table):
    """A network of two classes on that table, half of it each."""
    rng = np.random.default_rng(3)
    unit = 1 / table.std(axis=0)
    W0 = rng.normal(size=(8, 5)) * unit
    hidden = [(W0, -W0 @ table.mean(axis=0)), (rng.normal(size=(2, 8)), np.zeros(2))]
    z = creases.read(hidden)(table)
    hidden[1][1][1] = np.median(z[:, 0] - z[:, 1])
    return creases.read(hidden)


def least_distance(net, row, columns, norm):
    """The least distance by trying every age and category, and for the income every boundary on the line between."""
    weights, decided = columns.weights(norm), net(row).argmax()
    low, high = (f(columns.box[4, end], row[4]) for f, end in ((min, 0), (max, 1)))
    best = np.inf
    for age, home in product(np.arange(columns.box[0, 0], columns.box[0, 1] + 1), np.eye(3)):
        ends = [np.concatenate([[age], home, [income]]) for income in (low, high)]
        line = creases.line(net, *ends)
        incomes = low + (high - low) * np.concatenate([line.boundary().t, [0.0, 1.0]])
        starts = np.concatenate([[age], home, [row[4]]])
        points = [starts] if net(starts).argmax() != decided else []
        points += [np.concatenate([[age], home, [income]]) for income in incomes]
        for point in points:
            z = net(point)
            if z[decided] > np.delete(z, decided).max() + 1e-9:
                continue
            step = np.abs(weights * (point - row))
            best = min(best, {"l1": step.sum(), "l2": np.linalg.norm(step), "linf": step.max()}[norm])
    return best


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_whole_numbers_and_categories_are_those_of_enumeration(net, table, norm):
    columns = Columns.from_data(table, NAMES)
    assert (columns.integer, columns.one_hot) == ((0,), ((1, 2, 3),))
    row = table[{"l1": 0, "l2": 1, "linf": 2}[norm]]
    answer = counterfactual(net, row, columns, norm=norm, budget=PATIENCE)
    assert answer.proved
    assert answer.distance == pytest.approx(least_distance(net, row, columns, norm), abs=1e-6)
    assert answer.point[0] == round(answer.point[0])
    assert sorted(answer.point[1:4]) == [0, 0, 1]
    assert net(answer.point).argmax() != net(row).argmax()


def test_words_say_what_rises_falls_and_changes(net, table):
    columns = Columns.from_data(table, NAMES)
    phrase = r"(age|income) (rises|falls) by [\d.]+( k)?|home is \w+ instead of \w+"
    texts = [counterfactual(net, row, columns, classes=["no", "yes"], budget=PATIENCE) for row in table[2:4]]
    for answer in texts:
        first = str(answer).splitlines()[0]
        assert first.startswith({"no": "yes", "yes": "no"}[answer.predicted] + " if ")
        assert first.endswith("; no smaller change does (proved)")
        for words in answer.condition.replace(", ", " and ").split(" and "):
            assert re.fullmatch(phrase, words)


def test_what_is_fixed_stays_and_what_may_only_rise_does_not_fall(net, table):
    columns = Columns.from_data(table, NAMES)
    for row in table[:2]:
        free = counterfactual(net, row, columns, budget=PATIENCE)
        held = counterfactual(net, row, columns, fixed=["home"], rising=["income"], falling=[0], budget=PATIENCE)
        assert held.distance >= free.distance - 1e-9
        if held.point is not None:
            assert (held.point[1:4] == row[1:4]).all()
            assert held.point[4] >= row[4]
            assert held.point[0] <= row[0]


def test_nothing_within_the_range_is_proved_too():
    net = creases.read([([[1.0], [-1.0]], [10.0, -10.0])])
    columns = Columns.from_data([[0.5], [1.0]], ["length"])
    answer = counterfactual(net, [0.75], columns, classes=["a", "b"])
    assert str(answer) == "no change within the range of the data alters the decision a (proved)"
    assert answer.point is None


def test_the_change_is_rounded_away_from_the_row_and_still_changes_the_decision():
    net = creases.read([([[0.0, 0.0], [3.0, 1.0]], [0.0, -1.0])])  # class 1 from 3 a + b = 1 on
    columns = Columns.unknown(["a", "b"])
    answer = counterfactual(net, [0.0, 0.0], columns)
    assert answer.condition == "a rises by 0.334"
    assert answer.distance == pytest.approx(1 / 3)
    assert net(answer.point).argmax() == 1


def test_several_answers_change_other_columns():
    net = creases.read([([[0.0, 0.0], [3.0, 1.0]], [0.0, -1.0])])
    answer = counterfactual(net, [0.0, 0.0], Columns.unknown(["a", "b"]), count=2)
    assert "or class 1 if b rises by " in str(answer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": ["mass"]}, "fixed must name columns among age, home, income"),
        ({"row": [1.0, 2.0]}, r"row must have shape \(5,\)"),
        ({"norm": "l3"}, "norm must be"),
    ],
)
def test_wrong_arguments_are_named(net, table, options, message):
    with pytest.raises(InputError, match=message):
        counterfactual(net, columns=Columns.from_data(table, NAMES), **({"row": table[0]} | options))
