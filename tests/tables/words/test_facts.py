"""Proved facts, against rows that were drawn and against models that are known."""

from dataclasses import replace

import numpy as np
import pytest

from creases.certify import monotone, output_range
from creases.tables._stages.model import Plane, Units
from creases.tables._stages.pairs import PairHinges, Variable
from creases.tables._words.facts import _is_shown_by_curve, certify_model, measure_stability
from creases.tables._words.rows import InputRanges
from readable_models import make_model, random_model

TEXT = "weight (lb),age,home,y\n" + "".join(
    f"{1600 + 100 * k},{k % 5},{['own', 'rent'][k % 2]},{k + 0.5}\n" for k in range(20)
)
CURVES = {"weight (lb)": ([1600, 3500], [9.5, 0]), "age": ([0, 2, 4], [0, 1, 0]), "home=own": ([0, 1], [0, 2])}


def facts_of(model, problem, **options):
    return certify_model(model, trained=problem.X, **options)


def test_what_is_proved_as_sentences():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    assert facts_of(model, problem, X=problem.X).sentences() == [
        "Y never rises as weight grows, whatever the other columns are (proved).",
        "Within the range of the table y is 10 to 22.5 (computed; both ends are reached).",
        "While every number changes by up to a tenth of a standard deviation, predictions change by at most 0.359, "
        "half by at most 0.359.",
    ]


def test_a_direction_that_does_not_hold_is_refuted():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    (fact,) = facts_of(model, problem, directions={"age": "rising"}).monotone
    assert fact.status == "violated"
    assert fact.sentence("y") == "Y falls somewhere as age grows (an example was found)."


def test_a_curve_that_only_falls_is_a_proof_that_the_network_confirms():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    terms = model._terms()
    weight, age = terms.columns[:2]
    assert _is_shown_by_curve(terms, weight, "falling")
    assert not _is_shown_by_curve(terms, weight, "rising")
    assert not _is_shown_by_curve(terms, age, "rising")
    box = np.column_stack([problem.X.min(axis=0), problem.X.max(axis=0)])
    assert monotone(model.network, int(weight.inputs[0]), box, direction="falling").status == "holds"


@pytest.mark.parametrize("kind", [{"units": True}, {"plane": True}])
def test_a_curve_alone_proves_nothing_where_planes_or_units_act(kind):
    model, _ = random_model(3, 0, **kind)
    terms = model._terms()
    inside = {j for plane in terms.model.planes for inputs in plane.inputs for j in inputs}
    for term in terms.columns:
        if terms.model.units is not None or inside & set(term.inputs.tolist()):
            assert not any(_is_shown_by_curve(terms, term, direction) for direction in ("rising", "falling"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{}, {"units": True}, {"plane": True}])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_no_row_is_outside_the_proved_range(n_classes, kind):
    model, problem = random_model(3, n_classes, **kind)
    facts = facts_of(model, problem)
    outputs = np.asarray(model.network(problem.X))
    values = outputs[:, 0] if n_classes == 0 else 1 / (1 + np.exp(outputs[:, 0] - outputs[:, 1]))
    assert facts.low <= values.min()
    assert values.max() <= facts.high


@pytest.mark.parametrize("kind", [{}, {"units": True}, {"plane": True}, {"units": True, "plane": True}])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_no_small_change_does_more_than_the_bound(n_classes, kind):
    model, problem = random_model(5, n_classes, **kind)
    terms = model._terms()
    ranges = InputRanges.from_rows(terms, problem.X)
    found = measure_stability(terms, problem.X, ranges, reach=0.5)
    rng = np.random.default_rng(0)
    known = problem.X[:, 1] == 0  # an age that is known may move
    before = np.asarray(model.network(problem.X))
    for _ in range(50):
        moved = problem.X.copy()
        moved[known, 0] += rng.uniform(-0.5, 0.5, known.sum()) * ranges.spread[0]
        after = np.asarray(model.network(moved))
        if n_classes == 0:
            assert (np.abs(after - before)[:, 0] <= found.change + 1e-12).all()
        else:
            assert (after.argmax(axis=1) == before.argmax(axis=1))[found.stable].all()
    if not kind and n_classes:
        assert (found.stable | found.changed).all()  # of curves alone the bounds are exact


def test_rows_that_can_change_are_shown_to_change():
    text = "a,y\n" + "".join(f"{k},{['no', 'yes'][k > 9]}\n" for k in range(20))
    model, problem = make_model(text, {"a": ([0, 19], [-9.5, 9.5])})
    terms = model._terms()
    found = measure_stability(terms, problem.X, InputRanges.from_rows(terms, problem.X))
    assert found.changed.tolist() == [9 <= k <= 10 for k in range(20)]
    assert found.stable.tolist() == [not 9 <= k <= 10 for k in range(20)]
    assert found.sentence("") == (
        "90 % of 20 test rows keep their decision while every number changes by up to a tenth of a standard deviation "
        "(computed); for 10 % a change was found."
    )


def test_an_end_that_only_half_a_yes_reaches_is_not_said_to_be_reached():
    model, problem = make_model(TEXT, CURVES, intercept=10)
    d, home = problem.X.shape[1], problem.features.index("home=own")
    weights = np.zeros((1, d))
    weights[0, home] = 1.0
    knots = tuple(np.array([low, high]) for low, high in model.schema.ranges)
    units = Units(knots, weights, np.array([-0.5]), np.array([[-8.0]]), np.zeros(1))  # 2 home - 8 relu(home - 0.5)
    facts = facts_of(replace(model, function=replace(model.function, units=units)), problem)
    assert facts.high == pytest.approx(21.5)  # rows reach 20.5
    assert not facts.is_exact
    assert "the true range may be narrower" in facts.sentences()[-1]


def test_a_code_is_within_the_range():
    text = "a,y\n" + "".join(f"{-9 if k % 4 == 0 else k},{k + 0.5}\n" for k in range(40))
    curves = {"a": ([0, 39], [0, 1.0]), "a is -9": ([0, 1], [0, 50.0])}
    model, problem = make_model(text, curves, codes={"a": [-9]})
    facts, seen = facts_of(model, problem), model.function.scores(problem.X)
    assert facts.low <= seen.min()
    assert facts.high >= seen.max() > 50


@pytest.mark.parametrize("seed", range(4))
def test_the_range_of_columns_that_act_together_is_that_of_the_network(seed):
    model, problem = random_model(seed, 0, plane=True)
    facts = facts_of(model, problem)
    assert facts.is_exact
    groups = [term.inputs for term in model._terms().columns if term.codec.has_levels]
    A = np.zeros((2 * len(groups), problem.X.shape[1]))
    for k, inputs in enumerate(groups):
        A[2 * k, inputs], A[2 * k + 1, inputs] = 1.0, -1.0
    box = np.column_stack([problem.X.min(axis=0), problem.X.max(axis=0)])
    searched = output_range(model.network, box, A=A, b=np.tile([1.0, -1.0], len(groups)), budget=20.0)
    loose = 1e-6 * (facts.high - facts.low)
    assert facts.low >= searched.low[0] - loose  # the search takes dates and missing values apart, which is more
    assert facts.high <= searched.high[0] + loose


@pytest.mark.parametrize("seed", range(6))
def test_the_range_of_two_numbers_that_act_together_is_reached_and_never_exceeded(seed):
    rng = np.random.default_rng(seed)
    text = "a,b,home,y\n" + "".join(f"{k % 9},{k % 7},{'xyz'[k % 3]},{k + 0.5}\n" for k in range(63))
    curves = {
        "a": ([0, 3, 8], rng.normal(size=3)),
        "b": ([0, 2, 6], rng.normal(size=3)),
        "home=x": ([0, 1], [0, 1.0]),
    }
    model, problem = make_model(text, curves)
    variables = Variable("number", 0, np.array([0])), Variable("number", 1, np.array([1]))
    knots = {0: np.array([0.0, 2.0, 8.0]), 1: np.array([0.0, 5.0, 6.0])}
    directions = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [0.5, 1.0]])
    weights = np.column_stack([directions, -rng.uniform(-0.5, 1.5, 5)])
    hinges = PairHinges(variables, knots, np.zeros(5, int), np.ones(5, int), weights)
    plane = Plane(hinges, 3 * rng.normal(size=(5, 1)), {}, np.zeros(1))
    model = replace(model, function=replace(model.function, planes=(plane,)))
    facts = facts_of(model, problem)
    assert facts.is_exact
    grid = np.stack(np.meshgrid(np.linspace(0, 8, 321), np.linspace(0, 6, 241), [0.0, 1.0]), axis=-1).reshape(-1, 3)
    X = np.zeros((len(grid), problem.X.shape[1]))
    X[:, :2] = grid[:, :2]
    X[:, problem.features.index("home=x")] = grid[:, 2]
    seen = model.function.scores(X)[:, 0]
    assert facts.low <= seen.min() <= facts.low + 0.02 * np.ptp(seen)
    assert facts.high - 0.02 * np.ptp(seen) <= seen.max() <= facts.high
