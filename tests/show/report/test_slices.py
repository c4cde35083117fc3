"""Which slices of a table are shown: along numbers that matter, never along categories, and for each category."""

import numpy as np
import pytest

import creases
from creases.show._viewer._frames import project_on_slice
from creases.show.report._run_map import plot_run_map
from creases.show.report._slices import choose_slices, column_weights, find_columns, multiply_slices, slices_json
from creases.tables import TableSplit, parse_table


@pytest.fixture(scope="module")
def data():
    """A table of three numbers, a column of three categories, one of yes and no, and a value to predict."""
    rng = np.random.default_rng(0)
    lines = ["size,weight,age,island,old,price"]
    for k in range(40):
        size, weight, age = rng.normal(size=3) * (1, 1000, 10)
        lines.append(
            f"{size:.4f},{weight:.4f},{age:.4f},{('north', 'north', 'east', 'west')[k % 4]},{k % 2},{size:.4f}"
        )
    return TableSplit.from_problem(parse_table("\n".join(lines), "birds.csv", "price", task="regression"))


@pytest.fixture(scope="module")
def net(data):
    """Importance is largest for the categories, then for weight, size and age; old does nothing."""
    weights = {"size": 2.0, "weight": 0.01, "age": 0.01, "old": 0.0}
    rows = np.array([[weights.get(name, 50.0 if name == "island=west" else 0.0) for name in data.problem.features]])
    return creases.read([(rows, np.array([1e5])), (np.ones((1, 1)), np.zeros(1))])


def test_columns_are_numbers_or_categories(data):
    found = find_columns(data.problem)
    names = data.problem.features
    assert [names[k] for k in found.numeric] == ["size", "weight", "age"]
    assert {column.name: len(column.levels) for column in found.categories} == {"island": 3, "old": 2}
    island = next(column for column in found.categories if column.name == "island")
    for row in data.problem.X:
        level = island.levels.index(island.level_of(row))
        assert np.array_equal(row[list(island.inputs)], island.codes[level])
    assert sum(island.counts) == 40


def test_columns_are_weighted_by_the_mean_coefficient_times_the_standard_deviation(net, data):
    X = data.problem.X[data.train]
    found = column_weights(net, data)
    for name in ("size", "weight", "age"):
        k = data.problem.features.index(name)
        assert found[name] == pytest.approx(abs(net.piece(X[0]).J[0, k]) * X[:, k].std())
    assert next(iter(found)) == "island"


def test_the_first_slice_is_along_the_numbers_that_matter_most_and_fills_the_picture(net, data):
    first, *others = choose_slices(net, data)
    assert first.name == "size × weight"
    assert first.axes == ("size", "weight")
    assert first.fills
    assert "island = north" in first.fixed
    assert not others[-1].fills  # directions in standard deviations
    columns = find_columns(data.problem)
    for column in columns.categories:  # the plane lies in a category that is there, not between them
        at = first.origin[list(column.inputs)]
        assert (column.codes == at).all(axis=1).any()


def test_categories_are_small_multiples_of_the_slice(net, data):
    first = choose_slices(net, data)[0]
    column, slices = multiply_slices(net, data, first)
    assert column == "island"
    assert {cut.level for cut in slices} == {"north", "east", "west"}
    for cut in slices:
        assert f"island = {cut.level}" in cut.fixed
        inputs = cut.origin + cut.basis @ first.box.mean(axis=1)
        assert net(inputs) == pytest.approx(net(first.origin + first.basis @ first.box.mean(axis=1)), abs=51)
    west = next(cut for cut in slices if cut.level == "west")
    assert net(west.origin)[0] - net(first.origin)[0] == pytest.approx(50)
    told = slices_json([first, *slices], column)
    assert told["multiples"]["slices"] == [1, 2, 3]
    assert len(told["slices"]) == len(told["fixed"]) == 4


def test_the_plane_of_most_variation_has_all_of_a_linear_model_on_it(net, data):
    cut = choose_slices(net, data)[-1]
    X = data.problem.X
    t, _ = project_on_slice(X, cut.origin, cut.basis, data.scaling.spread)
    assert np.allclose(net(cut.origin + t @ cut.basis.T), net(X), rtol=1e-9)


def test_the_map_of_a_run_has_its_rows_and_a_small_map_for_each_category(net, data):
    class Run:
        pass

    run = Run()
    run.net, run.data = net, data
    figure, partition = plot_run_map(run)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[0].startswith("birds: 1 region\non the slice island = north")
    assert {"island = north", "island = east", "island = west"} <= set(titles)
    first = figure.axes[0]
    assert (first.get_xlabel(), first.get_ylabel()) == ("size", "weight")
    assert first.get_aspect() == "auto"
    (points,) = (found for found in first.collections if len(found.get_offsets()) == len(data.problem.X))
    assert np.ptp(points.get_facecolor()[:, 3]) > 0.1  # rows fade with their distance
    assert np.allclose(partition.basis.sum(axis=1), [1, 1, *[0] * (net.n_in - 2)])
