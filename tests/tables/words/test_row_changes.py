"""Changes that could happen, against enumeration of every row that a table can have."""

from itertools import pairwise, product

import numpy as np
import pytest

import creases
from creases.errors import InputError
from creases.tables import CurveConfig, TableSplit
from creases.tables._model.grown_model import make_grown_model
from creases.tables._words.changes import Goal, cheapest_choice, find_changes, parse_goal
from creases.tables._words.column_text import column_options
from creases.tables._words.rows import InputRanges
from readable_models import make_model, random_model


def enumerate_rows(terms, x, columns):
    """Return all rows and their costs."""
    rows, costs = [], []
    for choice in product(*(range(len(options)) for options in columns)):
        row = x.copy()
        for options, k in zip(columns, choice, strict=True):
            row[options.term.inputs] = options.values[k]
        rows.append(row)
        costs.append(sum(options.costs[k] for options, k in zip(columns, choice, strict=True)))
    return np.array(rows), np.array(costs)


@pytest.mark.parametrize("kind", [{}, {"units": True}, {"plane": True}, {"units": True, "plane": True}])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_smallest_change_is_that_of_enumeration(n_classes, kind):
    for seed in range(2):
        model, problem = random_model(seed, n_classes, **kind)
        terms = model._terms()
        ranges = InputRanges.from_rows(terms, problem.X)
        x = problem.X[1 + seed]
        columns = [column_options(term, x, ranges, fixed=False) for term in terms.columns]
        rows, costs = enumerate_rows(terms, x, columns)
        scores = terms.scores(rows)
        level = float(np.quantile(scores[:, 0], 0.9))
        goals = [Goal("", 0, level)] if n_classes == 0 else [Goal("", k) for k in range(n_classes)]
        for goal in goals:
            margins = goal.margins(terms, scores)
            reached = (margins >= 0).all(axis=1) if n_classes == 0 else (margins > 0).all(axis=1)
            choice = cheapest_choice(terms, x, goal, columns)
            if not reached.any():
                assert choice.x is None
                assert choice.lower_bound == np.inf
                continue
            assert choice.cost == pytest.approx(costs[reached].min(), abs=1e-12)
            assert choice.lower_bound == choice.cost
            assert goal.is_reached(terms, choice.x)


def random_network(problem, n_classes, seed, *hidden):
    """A grown network of random weights, by layers of these widths."""
    rng, d = np.random.default_rng(seed), problem.X.shape[1]
    widths = [d, *hidden, n_classes or 1]
    scale = 1 / problem.X.std(axis=0).clip(1e-9)
    layers = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise(widths)]
    layers[0] = (layers[0][0] * scale, layers[0][1] - layers[0][0] * scale @ problem.X.mean(axis=0))
    split = TableSplit.from_problem(problem, CurveConfig())
    return make_grown_model(creases.read(layers), split, threshold=0.4 if n_classes == 2 else 0.5, **split.table_names)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_smallest_change_of_a_network_is_that_of_enumeration(n_classes, hidden):
    _, problem = random_model(0, n_classes)
    model = random_network(problem, n_classes, 1, *hidden)
    terms = model._terms()
    ranges = InputRanges.from_rows(terms, problem.X)
    x = problem.X[1]
    columns = [column_options(term, x, ranges, fixed=False) for term in terms.columns]
    rows, costs = enumerate_rows(terms, x, columns)
    scores = terms.scores(rows)
    level = float(np.quantile(scores[:, 0], 0.9))
    for goal in [Goal("", 0, level)] if n_classes == 0 else [Goal("", k) for k in range(n_classes)]:
        margins = goal.margins(terms, scores)
        reached = (margins >= 0).all(axis=1) if n_classes == 0 else (margins > 0).all(axis=1)
        choice = cheapest_choice(terms, x, goal, columns)
        assert choice.cost == pytest.approx(costs[reached].min(initial=np.inf), abs=1e-12)
        assert choice.lower_bound == choice.cost


@pytest.mark.parametrize("hidden", [(), (5,), (4, 3)])
def test_columns_together_gain_no_more_than_each_could(hidden):
    _, problem = random_model(0, 3)
    terms = random_network(problem, 3, 2, *hidden)._terms()
    ranges, x, D = InputRanges.from_rows(terms, problem.X), problem.X[2], np.array([[1.0, -1.0, 0.0]])
    columns = [column_options(term, x, ranges, fixed=False) for term in terms.columns]
    gains = [terms.gains(x, D, options, columns)[:, 0] for options in columns]
    rng = np.random.default_rng(0)
    for _ in range(200):
        row, bound = x.copy(), 0.0
        for options, gain in zip(columns, gains, strict=True):
            k = rng.integers(len(options))
            row[options.term.inputs] = options.values[k]
            bound += gain[k]
        assert (terms.scores(np.stack([x, row])) @ D.T)[:, 0] @ [-1.0, 1.0] <= bound + 1e-6


def test_answers_are_rows_that_the_table_could_have_and_the_model_predicts_so():
    model, problem = random_model(4, 2)
    terms = model._terms()
    InputRanges.from_rows(terms, problem.X)
    for row in range(1, 6):
        x = problem.X[row]
        decided = int(np.asarray(model.network(x[None])).argmax())
        answers = find_changes(model, x, X=problem.X, count=3)
        assert answers.complete
        seen = set()
        for answer in answers.answers:
            encoded = problem.encoding.transform([answer.cells])
            assert not encoded.notes
            assert np.array_equal(encoded.X[0], answer.x)
            assert int(np.asarray(model.network(encoded.X)).argmax()) != decided
            assert answer.x[0] == round(answer.x[0])
            seen.add(frozenset(change.column for change in answer.changes))
            assert not {change.column for change in answer.changes} & set(answer.fixed)
        assert len(seen) == len(answers.answers)


def test_fixed_columns_do_not_change():
    model, problem = random_model(4, 2)
    InputRanges.from_rows(model._terms(), problem.X)
    answers = find_changes(model, problem.X[1], X=problem.X, fixed=["age", "sold"], count=3)
    assert all(change.column in ("home", "garden") for answer in answers.answers for change in answer.changes)


def test_without_an_answer_that_is_proved():
    model, problem = random_model(4, 2)
    InputRanges.from_rows(model._terms(), problem.X)
    names = ["age", "home", "garden", "sold"]
    x = problem.X[1]
    to = problem.classes[1 - int(np.asarray(model.network(x[None])).argmax())]
    answers = find_changes(model, x, X=problem.X, to=to, fixed=names)
    columns = "age, home, garden and sold"
    rest = "within the range of the table does: all were searched."
    told = f"To y = {to}: no change of columns other than {columns} {rest}"
    assert answers.lines() == [told]


def test_out_of_time_the_bound_holds():
    model, problem = random_model(1, 0, units=True, plane=True)
    InputRanges.from_rows(model._terms(), problem.X)
    answers = find_changes(model, problem.X[1], X=problem.X, to=">= 1e9")
    assert answers.complete
    quick = find_changes(model, problem.X[1], X=problem.X, to=">= 9", budget=1e-9)
    assert not quick.complete
    if quick.answers:  # a change of one column
        assert quick.lower_bound < quick.answers[0].size
        assert "may exist: the time limit was reached" in quick.proof_state
    else:
        assert "within the time limit" in quick.proof_state


def test_what_is_missing_remains_missing():
    model, problem = random_model(0, 2)
    terms = model._terms()
    ranges = InputRanges.from_rows(terms, problem.X)
    x = problem.X[0]  # no age
    options = [column_options(term, x, ranges, fixed=False) for term in terms.columns]
    assert len(options[0]) == 1
    known = column_options(terms.columns[1], problem.X[1], ranges, fixed=False)
    assert len(known) == 3  # own, rent, none, but not missing


def test_dates_move_by_days_and_their_parts_with_them():
    model, problem = random_model(0, 2)
    terms = model._terms()
    ranges = InputRanges.from_rows(terms, problem.X)
    sold = terms.columns[3]
    parts, _ = sold.codec.options(problem.X[5, sold.inputs], sold.features, ranges.of(sold))
    days = np.datetime64(sold.codec.first) + parts[:, sold.codec.main].astype(int)
    encoded = problem.encoding.transform(
        [{"age": 21, "home": "own", "garden": "no", "sold": str(day)} for day in days]
    ).X[:, sold.inputs]
    assert np.array_equal(encoded, parts)
    assert len(parts) == np.ptp(problem.X[:, sold.inputs[-1]])  # every day but the row's own


def test_dates_that_are_all_new_years_remain_so():
    text = "t,y\n" + "".join(f"{year}-01-01,{year % 7}.5\n" for year in range(1990, 2010))
    model, problem = make_model(text, {"t days since 1990-01-01": ([0, 6940], [0, 19])})
    model._terms()
    answers = find_changes(model, problem.X[0], X=problem.X, to=">= 7.5")
    assert str(answers.answers[0]) == "t is 1 January 1998 instead of 1 January 1990"


def test_a_prompt_shows_what_is_printed():
    model = creases.fit_table(creases.problems.get("iris"))
    changes = model.changes(model.data.rows.X[:1], budget=1)
    assert (repr(changes), repr(changes[0])) == (str(changes), str(changes[0]))
    assert repr(model.card()) == str(model.card())


def test_an_answer_as_a_user_sees_it():
    text = "weight (lb),origin,y (mpg)\n" + "".join(
        f"{1600 + 10 * k},{['USA', 'Japan'][k % 2]},{k + 0.5}\n" for k in range(120)
    )
    curves = {"weight (lb)": ([1600, 2790], [11.9, 0]), "origin=Japan": ([0, 1], [0, 5.0])}
    model, problem = make_model(text, curves, intercept=20)
    InputRanges.from_rows(model._terms(), problem.X)
    answers = find_changes(model, problem.X[100], X=problem.X, to=">= 24", count=2)
    assert answers.lines()[:3] == [
        "y 24 mpg if weight is 2,390 lb instead of 2,600 lb (a change of size 0.71).",
        "No smaller change exists: all were searched.",
        "or, without a change of weight: y 26.9 mpg if origin is Japan instead of USA (a change of size 1).",
    ]
    data = answers.to_dict()
    assert data["complete"]
    assert data["answers"][0]["changes"][0]["after"] == "2,390 lb"


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [(">= 30", 30, np.inf), ("< -1.5e3", -np.inf, -1500), ("≤ 2,000", -np.inf, 2000), ("20 to 30", 20, 30)],
)
def test_goals_of_values(text, low, high):
    model, _ = random_model(0, 0)
    goal = parse_goal(model._terms(), text)
    assert (goal.low, goal.high) == (low, high)


@pytest.mark.parametrize("text", ["30", "more", ">= x", "30 to 20", ""])
def test_goals_that_are_no_bound_are_refused(text):
    model, _ = random_model(0, 0)
    with pytest.raises(InputError, match="bound such as"):
        parse_goal(model._terms(), text)


def test_unknown_classes_and_columns_are_refused():
    model, problem = random_model(0, 2)
    InputRanges.from_rows(model._terms(), problem.X)
    with pytest.raises(InputError, match="be one of no, yes"):
        find_changes(model, problem.X[0], X=problem.X, to="never")
    with pytest.raises(InputError, match="name columns among age, home, garden, sold"):
        find_changes(model, problem.X[0], X=problem.X, fixed=["size"])
    regression, rows = random_model(0, 0)
    with pytest.raises(InputError, match="be given for a regression"):
        find_changes(regression, rows.X[0], X=rows.X)


def test_ranges_without_rows_are_those_of_the_model():
    model, problem = random_model(0, 2)
    terms = model._terms()
    limits = np.stack([problem.X.min(axis=0), problem.X.max(axis=0)], axis=1)
    ranges = InputRanges.from_limits(terms, limits)
    assert np.array_equal(ranges.low, limits[:, 0])
    assert find_changes(model, problem.X[1]).complete
