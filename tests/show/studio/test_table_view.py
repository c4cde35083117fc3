"""A model of a table in the studio: what is sent of it, changes by hand, undo, files."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from run_exports import run_onnx
from studio_page import Page

rng = np.random.default_rng(0)
N = 160
LOANS = pd.DataFrame(
    {
        "income (EUR)": rng.uniform(10, 90, N).round(1),
        "age": rng.integers(18, 80, N),
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], N),
        "sold": rng.choice(["yes", "no"], N),
    }
)
_odds = 0.15 * np.minimum(LOANS["income (EUR)"] - 40, 20) - 2.0 * (LOANS.town == "Ulm")
_joint = np.where((LOANS.sold == "yes") == (LOANS.age > 45), 2.5, -2.5)
LOANS["paid"] = np.where(_odds + _joint + rng.logistic(0, 0.3, N) > 0, "yes", "no")


def spec(table=LOANS, target="paid"):
    return {"kind": "csv", "name": "loans.csv", "text": table.to_csv(index=False), "target": target}


def show(page):
    return page.run["table"]


@pytest.fixture(scope="module")
def fitted():
    """A page whose studio has fitted the table; tests undo what they change."""
    page = Page()
    page.send("fit", problem=spec())
    assert "table" in page.run, page.said[-1]
    return page


@pytest.fixture
def page(fitted):
    yield fitted
    while fitted.controller._table._labels:
        fitted.send("undo")


def edit(page, change, **more):
    (answer,) = page.send("edit", change=change, **more)
    assert answer["type"] == "table", answer
    return answer["table"]


def curve_of(table, name):
    return next(each for each in table["curves"] if each["input"] == name or each["column"] == name)


def test_the_table_has_its_curves_by_importance_and_its_planes(page):
    table = show(page)
    sizes = [curve["size"] for curve in table["curves"]]
    assert sizes == sorted(sizes, reverse=True)
    assert {"income (EUR)", "town"} <= {curve["column"] for curve in table["curves"]}
    assert table["words"]
    assert table["changes"] == []
    assert table["effect"]["flips"] == 0


def test_a_knot_goes_where_it_is_dragged_and_the_scores_follow(page):
    line = next(one for one in curve_of(show(page), "income (EUR)")["chart"]["series"] if one["kind"] == "line")
    last = len(line["x"]) - 1
    table = edit(page, "move", input="income (EUR)", knot=last, x=line["x"][last], y=line["y"][0])
    moved = next(one for one in curve_of(table, "income (EUR)")["chart"]["series"] if one["kind"] == "line")
    assert moved["y"][last] == pytest.approx(line["y"][0], rel=1e-4)
    effect = table["effect"]
    assert effect["flips"] > 0
    assert effect["flips"] == effect["righted"] + effect["wronged"]
    assert any(score["after"] < score["before"] for score in effect["scores"])
    view = page.controller._table
    first, now = view._models[0], view.model
    changed = first.predict(LOANS) != now.predict(LOANS)
    changed[view._judges.test] = False
    assert effect["flips"] == changed.sum()
    assert [one["row"] for one in effect["examples"]] == np.flatnonzero(changed)[:6].tolist()


def test_changes_are_judged_by_rows_that_were_not_fitted_and_are_no_test_rows(page):
    view = page.controller._table
    fitted, held, test = view._judges.train, view._judges.validation, view._judges.test
    assert np.array_equal(fitted, view.model.data.train)
    assert sorted([*held, *test]) == view.model.data.test.tolist()
    assert abs(len(held) - len(test)) <= 1
    table = edit(page, "flatten", column="income (EUR)")
    assert [score["part"] for score in table["effect"]["scores"]] == ["held-out", "train", "test"]
    truth, rows = LOANS.paid.to_numpy(), {"held-out": held, "train": fitted, "test": test}
    for score in table["effect"]["scores"]:
        part = rows[score["part"]]
        assert score["rows"] == len(part)
        for model, value in ((view._models[0], score["before"]), (view.model, score["after"])):
            assert value == pytest.approx((model.predict(LOANS)[part] == truth[part]).mean())
    assert table["effect"]["rows"] == len(fitted) + len(held)
    shown = {one["row"] for one in table["effect"]["examples"]}
    assert shown
    assert not shown & set(test)


def test_both_halves_of_the_rows_kept_aside_have_the_same_share_of_each_class(page):
    data = page.controller._table._judges
    shares = [(LOANS.paid.to_numpy()[rows] == "yes").sum() for rows in (data.validation, data.test)]
    assert abs(shares[0] - shares[1]) <= 1


@pytest.mark.parametrize("column", ["town", "sold"])
def test_a_bar_goes_where_it_is_dragged_and_the_others_stay(page, column):
    curve = curve_of(show(page), column)
    bars = dict(zip(curve["levels"], [bar["values"][0] for bar in curve["chart"]["levels"]], strict=True))
    level = next(iter(bars))
    table = edit(page, "level", column=column, level=level, y=bars[level] - 12.5)
    after = curve_of(table, column)
    moved = dict(zip(after["levels"], [bar["values"][0] for bar in after["chart"]["levels"]], strict=True))
    assert moved == pytest.approx(bars | {level: bars[level] - 12.5}, rel=1e-4, abs=1e-4)
    assert table["changes"] == [f"{column}: {bars[level] - 12.5:+.3g} for {level}"]
    view = page.controller._table
    odds = [np.log(model.predict_proba(LOANS)[:, 1] / model.predict_proba(LOANS)[:, 0]) for model in view._models]
    expected = np.where(LOANS[column] == level, -12.5 / 10 * np.log(2), 0.0)
    np.testing.assert_allclose(odds[1] - odds[0], expected, atol=1e-5)  # the page gets six digits


def test_cards_and_bars_stay_where_they_are_when_the_order_of_importance_changes(page):
    def order(table):
        return [(curve["column"], curve.get("levels")) for curve in table["curves"]]

    before = show(page)
    largest, last = before["curves"][0], curve_of(before, "town")
    edit(page, "level", column="town", level=last["levels"][-1], y=300)
    line = next(one for one in largest["chart"]["series"] if one["kind"] == "line")
    table = edit(page, "move", input=largest["input"], knot=0, x=line["x"][0], y=0.1)
    assert order(table) == order(before)
    sizes = [curve["size"] for curve in table["curves"]]
    assert sizes != sorted(sizes, reverse=True)


def test_a_knot_and_a_bar_of_three_classes_go_where_they_are_dragged():
    page = Page()
    third = np.where(LOANS.town == "Kiel", "late", np.where(LOANS.age > 50, "yes", "no"))
    page.send("fit", problem=spec(LOANS.assign(paid=third)))
    line = [one for one in curve_of(show(page), "age")["chart"]["series"] if one["kind"] == "line"][2]
    table = edit(page, "move", input="age", knot=0, output=2, x=line["x"][0], y=line["y"][0] + 20)
    moved = [one for one in curve_of(table, "age")["chart"]["series"] if one["kind"] == "line"][2]
    assert moved["y"][0] == pytest.approx(line["y"][0] + 20, rel=1e-4)
    curve = curve_of(table, "town")
    bar = curve["chart"]["levels"][0]["values"]
    table = edit(page, "level", column="town", level=curve["levels"][0], output=1, y=bar[1] - 7)
    assert curve_of(table, "town")["chart"]["levels"][0]["values"][1] == pytest.approx(bar[1] - 7, rel=1e-3)


def test_levels_without_a_bar_are_named():
    page = Page()
    towns = np.array([f"town {k:02}" for k in range(20)])[rng.integers(0, 20, 600)]
    price = np.array([int(town[-2:]) for town in towns]) * 5.0 + rng.normal(0, 1, 600)
    page.send("fit", problem=spec(pd.DataFrame({"town": towns, "price": price}), "price"))
    curve = curve_of(show(page), "town")
    assert len(curve["left_out"]) > 0
    assert sorted(curve["levels"] + curve["left_out"]) == sorted(set(towns))


def test_undo_returns_to_the_model_before(page):
    before = show(page)
    edit(page, "flatten", column="town")
    (answer,) = page.send("undo")
    assert answer["table"] == before
    assert page.refused("undo") == ("run", "There is no change to undo")


def test_a_flat_column_has_no_curve(page):
    table = edit(page, "flatten", column="town")
    assert "town" not in {curve["column"] for curve in table["curves"]}
    assert table["changes"] == ["town: flat"]


def test_a_removed_knot_is_gone(page):
    count = len(page.controller._table.model.curves["income (EUR)"].knots)
    assert count > 2, "the table was made to need one"
    edit(page, "remove", input="income (EUR)", knot=1)
    assert len(page.controller._table.model.curves["income (EUR)"].knots) == count - 1


def test_a_forbidden_plane_is_gone(page):
    planes = show(page)["planes"]
    assert planes, "the table was made to need one"
    table = edit(page, "forbid", columns=planes[0]["columns"])
    assert len(table["planes"]) == len(planes) - 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"change": "bend"}, "reload the page"),
        ({"change": "move", "input": "height", "knot": 0, "x": 1, "y": 1}, "no curve of 'height'"),
        ({"change": "move", "input": "income (EUR)", "knot": 99, "x": 1, "y": 1}, "Knot must"),
        ({"change": "move", "input": "income (EUR)", "knot": 0, "x": "left", "y": 1}, "X must"),
        ({"change": "level", "column": "height", "level": "Ulm", "y": 1}, "no bar of 'Ulm' in 'height'"),
        ({"change": "level", "column": "town", "level": "Rome", "y": 1}, "no bar of 'Rome' in 'town'"),
        ({"change": "level", "column": "town", "level": "Ulm", "y": "up"}, "Value must"),
        ({"change": "flatten", "column": "height"}, "name columns of the model"),
        ({"change": "forbid", "columns": ["age"]}, "two columns"),
        ({"change": "forbid", "columns": ["age", "height"]}, "pairs of columns"),
    ],
    ids=lambda value: value.get("change", "") if isinstance(value, dict) else "",
)
def test_a_change_that_cannot_be_is_refused_with_a_reason(page, change, words):
    where, message = page.refused("edit", **change)
    assert where == "table"
    assert words in message
    assert page.controller._table._labels == []


def test_nothing_is_changed_without_a_table():
    assert Page().refused("edit", change="flatten", column="age") == (
        "table",
        "No model of a table is open; fit one first",
    )


def test_a_page_that_comes_back_gets_the_changed_model(page):
    edit(page, "flatten", column="town")
    page.send("hello")
    assert show(page)["changes"] == ["town: flat"]


def test_the_changed_model_is_saved_and_exported(page, tmp_path):
    edit(page, "flatten", column="town")
    changed = page.controller._table.model
    (archive,) = page.send("export", what="folder", name="without town")
    assert archive.name == "without_town.zip"
    zipfile.ZipFile(io.BytesIO(archive.content)).extractall(tmp_path)
    np.testing.assert_array_equal(
        creases.load(tmp_path / "without_town").predict_proba(LOANS), changed.predict_proba(LOANS)
    )
    (file,) = page.send("export", what="onnx")
    (tmp_path / "model.onnx").write_bytes(file.content)
    chances, _ = run_onnx(tmp_path / "model.onnx", LOANS.to_dict("records"))
    np.testing.assert_allclose(chances, changed.predict_proba(LOANS), rtol=0, atol=1e-12)
    assert page.refused("export", what="animation")[0] == "export"


def test_a_regression_says_by_how_much_predictions_move():
    page = Page()
    page.send("fit", problem=spec(LOANS.assign(paid=LOANS.age * 2.0 + LOANS["income (EUR)"]), "paid"))
    table = edit(page, "flatten", column="age")
    assert table["effect"]["flips"] is None
    assert table["effect"]["moved"] > 0.9 * table["effect"]["rows"]
    assert {score["part"] for score in table["effect"]["scores"]} >= {"train", "test"}


@pytest.mark.slow
def test_a_folder_of_fit_is_opened_first(tmp_path):
    from creases.show.studio._controller import Controller
    from creases.show.studio._limits import Limits

    LOANS.to_csv(tmp_path / "loans.csv", index=False)
    words = ["fit", str(tmp_path / "loans.csv"), "--target", "paid", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, words).exit_code == 0
    said = []
    Controller(said.append, Limits(), folder=str(tmp_path / "run")).handle('{"do": "hello"}')
    assert [one["type"] for one in said] == ["run", "status"]
    assert said[0]["run"]["table"]["name"] == "run"
    refused = CliRunner().invoke(app, ["studio", str(tmp_path)])
    assert refused.exit_code != 0
    assert "holds no fit and no growth run" in " ".join(refused.output.split())
