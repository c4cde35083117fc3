"""``creases predict`` and ``creases.load``: new rows of a table, by its column names."""

import ast
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.certify import margins
from creases.cli import app
from creases.errors import FileError
from creases.tables import read_table


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def homes(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + n),
            "size (m2)": rng.uniform(20, 200, n).round(1),
            "town": rng.choice(["Ulm", "Bonn", None], n),
            "garden": rng.choice(["yes", "no"], n),
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    dear = frame["size (m2)"] + 40 * (frame.garden == "yes") > 120
    frame["price"] = np.where(dear, "dear", "cheap")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run on a table, whose file is gone, and new rows beside it."""
    home = tmp_path_factory.mktemp("predict")
    homes(80, 0).to_csv(home / "homes.csv", index=False, sep=";", decimal=",")
    result = invoke("grow", home / "homes.csv", "--target", "price", "--out", home / "run", "--budget", 6)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "size (m2) number input decimal commas" in text
    assert "Ignored: 'id' (ID: different in every row)" in " ".join(result.stderr.split())
    (home / "homes.csv").rename(home / "moved.csv")
    homes(12, 1).drop(columns="price").to_csv(home / "new.csv", index=False)
    return home


def test_new_rows_are_predicted_with_probabilities_and_regions(folder):
    result = invoke("predict", folder / "run", folder / "new.csv", "--out", folder / "p.csv")
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(folder / "p.csv", index_col="row")
    model = creases.load(folder / "run")
    rows = homes(12, 1)
    assert frame["predicted price"].tolist() == model.predict(rows).tolist()
    probabilities = frame[["probability cheap", "probability dear"]].to_numpy()
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    encoded = read_table(folder / "moved.csv", "price").encoding.transform(rows).X
    np.testing.assert_array_equal(model.encode(rows).X, encoded)
    assert (frame["outside"] == "no").sum() >= 8
    assert "12 rows" in result.stdout


def test_regions_are_numbered_by_the_rows_trained_on_and_count_them(folder):
    model = creases.load(folder / "run")
    counts = list(model.regions.values())
    assert counts == sorted(counts, reverse=True)
    rows = len(read_table(folder / "moved.csv", "price").X)
    description = json.loads((folder / "run" / "model.json").read_text())
    assert sum(counts) == rows - round(0.2 * rows)
    X = model.encode(homes(12, 1)).X
    number, held = model.regions_of(X)
    patterns = model.network.pattern(read_table(folder / "moved.csv", "price").X)
    for x, k in zip(X, number, strict=True):
        assert k == 0 or (patterns == model.network.pattern(x[None])).all(axis=1).any()
    assert all(held[i] == counts[number[i] - 1] for i in range(12) if number[i])
    assert description["inputs"] == list(model.schema.features)


def test_rows_outside_the_training_data_are_flagged_with_their_inputs(folder):
    model = creases.load(folder / "run")
    row = homes(1, 2).drop(columns="price").iloc[0].to_dict() | {"size (m2)": 1000.0}
    frame = model.frame([row, row | {"size (m2)": 100.0}])
    assert frame["outside"].tolist() == ["yes", "no"]
    assert frame["outside in"].tolist() == ["size (m2)", ""]


def test_the_distance_to_the_boundary_is_that_of_a_tie(folder):
    model = creases.load(folder / "run")
    X = model.encode(homes(2, 3)).X
    frame = model.frame(homes(2, 3), budget=5.0)
    assert (frame["boundary distance at least"] <= frame["boundary distance"]).all()
    piece = model.network.piece(X[0])
    if len(model.regions) == 1:  # a linear network: the distance of a point from a plane
        J = np.asarray(piece.J).reshape(2, -1)
        outputs = np.asarray(model.network(X[0]))
        expected = abs(outputs[0] - outputs[1]) / np.linalg.norm((J[0] - J[1]) * model.schema.spread)
        assert frame["boundary distance"][0] == pytest.approx(expected, rel=1e-5)


def test_distances_of_printed_rows_are_searched_where_the_options_say(folder, monkeypatch):
    asked = []

    def remember(net, X, **options):
        asked.append({name: options.get(name) for name in ("engine", "n_jobs", "address")})
        return margins(net, X, norm="l2", budget=options["budget"], weights=options["weights"])

    monkeypatch.setattr("creases.certify.margins", remember)
    homes(2, 3).to_csv(folder / "two.csv", index=False)
    for words in ((), ("--jobs", 2)):
        assert invoke("predict", folder / "run", folder / "two.csv", "--distance", 1, *words).exit_code == 0
    assert asked == [dict.fromkeys(asked[0]), {"engine": "local", "n_jobs": 2, "address": None}]


def test_the_threshold_decides_and_moves_the_boundary(folder):
    model = creases.load(folder / "run")
    dear = model.predict_proba(homes(12, 1))[:, 1]
    cut = float(np.sort(dear)[8:10].mean())
    moved = replace(model, schema=replace(model.schema, threshold=cut))
    assert ((moved.predict(homes(12, 1)) == "dear") == (dear > cut)).all()
    outputs = moved.schema.decision_network(moved.network)(model.encode(homes(12, 1)).X)
    np.testing.assert_array_equal(outputs.argmax(axis=1) == 1, dear > cut)


def test_rows_are_explained_by_the_names_of_columns(folder):
    model = creases.load(folder / "run")
    why = model.explain(homes(3, 4)).parts
    assert set(model.schema.columns) <= set(why.columns)
    odds = np.diff(np.log(model.predict_proba(homes(3, 4))), axis=1)[:, 0]
    np.testing.assert_allclose(why.sum(axis=1), odds, atol=1e-9)


def test_what_is_new_or_lacks_is_said_and_nothing_is_half_written(folder):
    rows = homes(5, 5).assign(town="Rom")
    rows.to_csv(folder / "rom.csv", index=False)
    result = invoke("predict", folder / "run", folder / "rom.csv", "--out", folder / "rom_p.csv", "--json")
    assert json.loads(result.stdout)["notes"] == ["column 'town': 5 rows with unknown values ('Rom')"]
    rows.drop(columns=["town", "garden"]).to_csv(folder / "less.csv", index=False)
    result = invoke("predict", folder / "run", folder / "less.csv", "--out", folder / "less_p.csv")
    assert result.exit_code == 2
    assert "must have the columns 'town', 'garden'" in " ".join(result.stderr.split())
    assert not (folder / "less_p.csv").exists()


@pytest.mark.slow
def test_a_builtin_problem_is_loaded_with_its_features(tmp_path):
    result = invoke("grow", "iris", "--out", tmp_path / "run", "--budget", 2)
    assert result.exit_code == 0, result.output
    model = creases.load(tmp_path / "run")
    rows = pd.DataFrame(creases.problems.get("iris").X[[0, 149]], columns=creases.problems.get("iris").features)
    assert model.predict(rows).tolist() == ["setosa", "virginica"]
    assert model.predict(rows.to_numpy()).tolist() == ["setosa", "virginica"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"classes": ["cheap"]}, "1 classes, 2 outputs of the network"),
        ({"ranges": [[0, 1]]}, "ranges of the model must be"),
        ({"inputs": ["size"]}, "1 input of the table"),
        ({"threshold": 2}, "threshold 2"),
        ({"classes": ["cheap", "other"]}, "classes: 'other', but 'dear' in encoding.json"),
        ({"target": "cost"}, "target: 'cost', but 'price' in encoding.json"),
        ({"task": "regression"}, "the task is 'regression'"),
        ({"units": 1000}, "1000 units, [0-9]+ of the network"),
        ({"regions": {"ff" * 99: 1}}, "region 'ff.* with 1 rows"),
        ({"regions": {"": 2**70}}, "regions of the model must be"),
    ],
)
def test_a_description_that_does_not_belong_to_the_network_is_refused(folder, tmp_path, damage, said):
    shutil.copytree(folder / "run", tmp_path / "run")
    path = tmp_path / "run" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | damage))
    with pytest.raises(FileError, match=rf"model.json is damaged .*{said}.*; write it again: run creases fit or"):
        creases.load(tmp_path / "run")


def test_an_encoding_that_does_not_belong_to_the_network_is_refused(folder, tmp_path):
    shutil.copytree(folder / "run", tmp_path / "run")
    path = tmp_path / "run" / "encoding.json"
    stored = json.loads(path.read_text())
    town = next(column for column in stored["columns"] if column["name"] == "town")
    path.write_text(json.dumps(stored | {"columns": [column for column in stored["columns"] if column is not town]}))
    said = (
        r"encoding.json: the encoding of the table is damaged \(its features are not those of its columns\); write it"
    )
    with pytest.raises(FileError, match=said):
        creases.load(tmp_path / "run")
    other = read_table(homes(80, 0).rename(columns={"town": "city"}), "price").encoding
    path.write_text(json.dumps(other.to_dict()))
    with pytest.raises(FileError, match=r"inputs: 'town.*', but 'city.*' in encoding.json"):
        creases.load(tmp_path / "run")


def test_a_folder_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"holds no finished model \(there is no model.json in it\)"):
        creases.load(tmp_path)


def test_without_a_file_the_first_rows_are_printed_and_nothing_is_written(folder):
    before = sorted(folder.iterdir())
    result = invoke("predict", folder / "run", folder / "new.csv")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("first ")
    assert "--out predictions.csv" in result.output
    assert sorted(folder.iterdir()) == before
    printed = json.loads(invoke("predict", folder / "run", folder / "new.csv", "--json").stdout)
    assert len(printed["predictions"]) == printed["rows"]


def test_a_file_is_overwritten_only_by_force(folder, tmp_path):
    kept = tmp_path / "p.csv"
    kept.write_text("mine")
    refused = invoke("predict", folder / "run", folder / "new.csv", "--out", kept)
    assert refused.exit_code == 2
    assert "must be a new file" in refused.output
    assert kept.read_text() == "mine"
    assert invoke("predict", folder / "run", folder / "new.csv", "--out", kept, "--force").exit_code == 0
    assert kept.read_text() != "mine"


@pytest.mark.slow
def test_a_small_file_is_predicted_without_the_reader_of_large_ones(folder, tmp_path):
    creases.fit_table(homes(80, 0), "price").save(tmp_path / "run")
    script = (
        "import sys; from creases.cli import app; sys.argv[0] = 'creases'; app(standalone_mode=False); "
        "print([name for name in sys.modules if name.startswith(('pyarrow.', 'creases.tables._streaming', 'torch'))])"
    )
    words = ["predict", tmp_path / "run", folder / "new.csv", "--out", tmp_path / "out.csv", "--json"]
    done = subprocess.run([sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=True)
    modules = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert "pyarrow.dataset" not in modules
    assert "pyarrow.parquet" not in modules
    assert not [name for name in modules if not name.startswith("pyarrow.")]


def test_the_summary_of_predictions_is_that_of_files_in_blocks(folder):
    model = creases.load(folder / "run")
    in_blocks = model.write_predictions(folder / "new.csv", folder / "blocks.csv", n_jobs=1)
    result = invoke("predict", folder / "run", folder / "new.csv", "--out", folder / "whole.csv", "--json")
    assert json.loads(result.stdout) == in_blocks | {"file": str(folder / "whole.csv")}
    assert (folder / "blocks.csv").read_text() == (folder / "whole.csv").read_text()
