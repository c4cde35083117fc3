"""The model of a table: predictions, exact sums by column, files, ONNX."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import creases
from creases.errors import FileError, InputError
from creases.tables import TableModel
from run_exports import run_onnx


def houses(n: int = 200) -> pd.DataFrame:
    """A table with numbers, a category, yes/no, dates, missing values and an ID; one column bends, two interact."""
    rng = np.random.default_rng(0)
    area, town = rng.uniform(40, 200, n), rng.choice(["Ulm", "Bonn", "Rom"], n)
    sold = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    garden = rng.random(n) < 0.5
    price = np.minimum(area, 120) + 30 * (town == "Rom") * garden + 0.02 * (sold.year - 2020) + rng.normal(size=n)
    frame = pd.DataFrame({"id": rng.permutation(n) + 5000, "area": area.round(1), "town": town, "sold": sold})
    frame = frame.assign(garden=np.where(garden, "yes", "no"), price=price.round(2))
    frame.loc[rng.random(n) < 0.1, "area"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    return frame


def classes(n_classes: int) -> pd.DataFrame:
    frame = houses()
    return frame.assign(
        price=pd.qcut(frame["price"], n_classes, labels=["low", "middle", "top"][:n_classes]).astype(str)
    )


TABLES = {"values": houses(), "two classes": classes(2), "three classes": classes(3)}


@pytest.fixture(scope="module", params=TABLES)
def fitted(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, TableModel]:
    frame = TABLES[request.param]
    return frame, creases.fit_table(frame, "price")


def test_it_is_better_than_a_constant_and_no_worse_than_a_linear_model(fitted: tuple[pd.DataFrame, TableModel]) -> None:
    _, model = fitted
    scores = model.scores["test"]
    assert scores.iloc[0] > scores.iloc[-1] + 0.2
    kept = next(step for step in model.function.steps if step.is_kept)
    assert kept.loss <= model.function.steps[0].loss


def test_a_model_comes_back_from_its_folder_and_from_a_pickle(
    fitted: tuple[pd.DataFrame, TableModel], tmp_path: Path
) -> None:
    frame, model = fitted
    for other in (creases.load(model.save(tmp_path / "model")), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other._outputs(other.encode(frame).X), model._outputs(model.encode(frame).X))
        assert other.predict(frame).tolist() == model.predict(frame).tolist()
        assert other.importance == model.importance
        assert other.scores.equals(model.scores)
        assert other.function.steps == model.function.steps
        assert other.explain(frame).parts.equals(model.explain(frame).parts)
    again = creases.load(tmp_path / "model").save(tmp_path / "again")
    assert (again / "model.json").read_text() == (tmp_path / "model" / "model.json").read_text().replace(
        '"data": "table"', '"data": ""'
    )


def test_a_damaged_folder_is_refused_by_name(fitted: tuple[pd.DataFrame, TableModel], tmp_path: Path) -> None:
    folder = fitted[1].save(tmp_path)
    text = (folder / "model.json").read_text()
    (folder / "model.json").write_text(text.replace('"knots"', '"knot"'))
    with pytest.raises(FileError, match=r"model.json is damaged"):
        creases.load(folder)
    (folder / "model.json").unlink()
    with pytest.raises(FileError, match=r"there is no model.json in it"):
        creases.load(folder)


def test_the_most_important_column_is_first_and_an_id_is_not_there(fitted: tuple[pd.DataFrame, TableModel]) -> None:
    _, model = fitted
    names = list(model.importance)
    assert names[0] == "area"
    assert "id" not in names
    assert {"area", "town", "sold", "garden"} <= set(names)


def test_onnxruntime_gets_the_same_numbers_from_the_columns(
    fitted: tuple[pd.DataFrame, TableModel], tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    frame, model = fitted
    numbers, decisions = run_onnx(model.export(tmp_path / "model.onnx").path, frame.to_dict("records"))
    if model.classes is None:
        np.testing.assert_allclose(numbers[:, 0], model.predict(frame), rtol=1e-12)
    else:
        np.testing.assert_allclose(numbers, model.predict_proba(frame), atol=1e-12)
        assert decisions.tolist() == model.predict(frame).tolist()


@pytest.mark.slow
def test_a_saved_model_predicts_without_torch_and_scikit_learn(tmp_path: Path) -> None:
    frame, folder = TABLES["values"], creases.fit_table(TABLES["values"], "price").save(tmp_path / "model")
    frame.to_csv(tmp_path / "new.csv", index=False)
    code = f"""
import sys
from creases.tables import load
model = load({str(folder)!r})
model.frame({str(tmp_path / "new.csv")!r})
print([name for name in ("torch", "sklearn", "scipy") if name in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_grown_network_is_split_by_column_too() -> None:
    model = creases.tables.grow_table(TABLES["two classes"], "price", budget=3)
    rows = TABLES["two classes"][:5]
    sums = model.explain(rows).parts.to_numpy().sum(axis=1)
    outputs = model.network(model.encode(rows).X)
    np.testing.assert_allclose(sums, outputs[:, 1] - outputs[:, 0], atol=1e-9)
    said = str(model.explain(rows))
    assert said.count("for the average row") == 5
    assert f"predicted price: {model.predict(rows)[0]}" in said


def test_options_of_growth_are_refused_for_a_fit_and_the_other_way_round() -> None:
    frame = TABLES["values"]
    with pytest.raises(InputError, match=r"budget must be an option of a fit: .*grow_table or creases grow"):
        creases.fit_table(frame, "price", budget=3)
    with pytest.raises(InputError, match=r"shapes must be an option of growth: .*fit_table or creases fit"):
        creases.tables.grow_table(frame, "price", shapes={"area": "rising"})


@pytest.mark.slow
def test_a_shape_holds() -> None:
    model = creases.fit_table(TABLES["values"], "price", shapes={"area": "rising"})
    assert (model.curves["area"].slopes >= 0).all()
    assert not any("area" in names for names in model.planes)


@pytest.mark.slow
def test_several_targets_are_predicted_together(tmp_path: Path) -> None:
    frame = TABLES["values"].assign(twice=lambda rows: 2 * rows["price"] + 1)
    model = creases.fit_table(frame, ["price", "twice"])
    predicted = model.predict(frame)
    assert predicted.shape == (200, 2)
    assert np.corrcoef(predicted[:, 0], frame["price"])[0, 1] > 0.8
    parts = model.explain(frame).parts
    np.testing.assert_allclose(parts["twice"].sum(axis=1), predicted[:, 1])
    loaded = creases.load(model.save(tmp_path))
    assert np.array_equal(loaded.predict(frame), predicted)
    assert list(loaded.frame(frame).columns[:2]) == ["predicted price", "predicted twice"]
    with pytest.raises(InputError, match=r"target must be one column, got .*fit_table predicts several"):
        creases.tables.grow_table(frame, ["price", "twice"])
