"""A growth run as the viewer's JSON: everything in it, nothing that JSON has not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from creases.growth import GrowthConfig
from creases.problems import Problem
from creases.show._viewer._run import epochs_json, moment_json, problem_json, record_json, run_json, to_json
from creases.tables import Experiment, RunSettings, TableSplit

SETTINGS = RunSettings("xor_circles", config=GrowthConfig(budget=60, when=15, hidden=(3,)))


@pytest.fixture(scope="module")
def data():
    return TableSplit.from_problem(SETTINGS.load_problem(), SETTINGS.config)


@pytest.fixture(scope="module")
def outcome(data, tmp_path_factory):
    experiment = Experiment(data, SETTINGS.config, folder=tmp_path_factory.mktemp("run"))
    experiment.run(progress=False)
    return experiment


def test_the_problem_has_its_samples_with_their_part_of_the_data(data):
    found = problem_json(data)
    assert np.allclose(found["X"], data.problem.X, rtol=1e-8)
    assert found["y"] == data.problem.y.tolist()
    for number, rows in enumerate((data.train, data.validation, data.test)):
        assert np.flatnonzero(np.array(found["split"]) == number).tolist() == rows.tolist()
    assert (found["task"], found["classes"]) == ("classification", list(data.problem.classes))
    assert problem_json(data.problem)["split"] == [0] * len(data.problem.X)


def test_values_of_any_size_keep_their_digits():
    tiny = Problem("tiny", [[1.23456789e-12], [1700000001.0]], [0.5, 2.0], features=("x",))
    assert problem_json(tiny)["X"] == [[1.23456789e-12], [1700000001.0]]


@pytest.mark.slow
def test_a_run_is_json_without_nan(data, outcome):
    moments = [moment_json(one, outcome.history, 3) for one in outcome.snapshots]
    found = run_json(data, SETTINGS, outcome.history, moments, sections=[{"title": "t"}])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["kept"] == outcome.best_epoch
    start = {"id": 0, "epoch": 0, "kind": "start", "record": None, "regions": 3, "steps": []}
    assert found["moments"][0] == start
    assert len(found["records"]) == len(outcome.history.records) > 0


def test_while_a_run_goes_on_nothing_is_undone_and_no_network_is_kept(data, outcome):
    going = replace(outcome.history, ended="")
    found = run_json(data, SETTINGS, going, [])
    assert found["kept"] is None
    assert not any(record["undone"] for record in found["records"])


def test_a_growth_step_at_the_end_of_the_epoch_that_was_kept_is_undone(data, outcome):
    record = outcome.history.records[0]
    for later, undone in ((0, True), (1, False)):
        history = replace(outcome.history, kept=record.epoch + later)
        assert record_json(record, data, history)["undone"] == undone


def test_marks_are_in_the_datas_own_units(data, outcome):
    record = next(one for one in outcome.history.records if one.action == "grow")
    found = record_json(record, data, outcome.history)
    why, where = record.explanation["why"], record.explanation["where"]
    row = found["marks"]["instance"]
    assert np.allclose(data.scaling.inputs(data.problem.X[[row]])[0], why["features"], atol=1e-5)
    assert np.allclose(data.scaling.inputs(np.array([found["marks"]["fold_point"]]))[0], where["fold_point"])
    assert row in found["marks"]["mistakes"]
    assert why["cluster"]["same_mistake"] == len(found["marks"]["mistakes"]) <= found["near"]["wrong"]
    assert {data.problem.y[row] for row in found["marks"]["mistakes"]} == {why["true"]}


def test_rows_are_places_among_the_samples_shown_whatever_their_numbers_in_the_table(data, outcome):
    record = next(one for one in outcome.history.records if one.action == "grow")
    all_ = record_json(record, data, outcome.history)
    kept = np.sort([all_["marks"]["instance"], *range(0, len(data.problem.X), 2)])
    kept = np.unique(kept)
    some = record_json(record, data, outcome.history, rows=kept)
    assert kept[some["marks"]["instance"]] == all_["marks"]["instance"]
    assert kept[some["marks"]["mistakes"]].tolist() == [row for row in all_["marks"]["mistakes"] if row in kept]
    assert len(problem_json(data, rows=kept)["X"]) == len(kept)
    numbered = replace(data, source=replace(data.problem, rows=np.arange(len(data.problem.X)) - 1))
    moved = record_json(record, numbered, outcome.history)
    assert moved["marks"]["instance"] == all_["marks"]["instance"] + 1


def test_epochs_are_columns_of_equal_length(outcome):
    found = epochs_json(outcome.history.epochs)
    assert {len(column) for column in found.values()} == {60}
    assert found["epoch"] == list(range(1, 61))
    assert epochs_json([{"epoch": 1, "loss": float("nan")}])["loss"] == [None]
    assert set(epochs_json([])) == set(found)


def test_what_json_has_not_becomes_null_a_list_or_text():
    given = {1: np.float32(2), "a": [np.inf, np.array([1, 2])], "b": (True, None), "c": SETTINGS.config.hidden, "d": 1j}
    assert to_json(given) == {"1": 2.0, "a": [None, [1, 2]], "b": [True, None], "c": [3], "d": "1j"}


def test_the_units_that_write_the_linear_model_are_no_growth(data, outcome):
    first, *others = outcome.history.records
    history = replace(outcome.history, records=[replace(first, method="linear"), *others])
    assert len(set(record_json(history.records[0], data, history)["parameters"])) == 1
    assert "(the linear model) → " in dict(history.describe().sections[0]["table"]["rows"])["hidden units"]
