""""""

import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.cli._model import load_model
from creases.regions._cell import cell
from creases.tables import load


def test_margin_is_the_offset_and_input_times_gradient(run, wide, tmp_path):
    net = load_model(str(wide))
    for x in np.random.default_rng(0).normal(size=(5, 5)):
        np.save(tmp_path / "x.npy", x)
        e = json.loads(run("explain", wide, "x.npy", "--json").stdout)
        z = np.sort(net(x))
        assert e["class"] == net(x).argmax()
        assert e["margin"] == pytest.approx(z[-1] - z[-2])
        assert e["offset"] + sum(row["input_times_gradient"] for row in e["inputs"]) == pytest.approx(e["margin"])
        assert e["outputs"] == pytest.approx(net(x).tolist())
        sizes = [abs(row["input_times_gradient"]) for row in e["inputs"]]
        assert sizes == sorted(sizes, reverse=True)


def test_one_output_decides_by_its_sign(run, fold):
    e = json.loads(run("explain", fold, "0.25,0.5", "--json").stdout)
    assert (e["class"], e["runner_up"], e["margin"]) == (1, 0, 0.25)
    e = json.loads(run("explain", fold, "-0.25,-0.5", "--json").stdout)
    assert (e["class"], e["runner_up"], e["margin"]) == (0, 1, 0.5)


def test_the_nearest_crease_and_the_boundary_in_the_region_are_told(run, fold):
    e = json.loads(run("explain", fold, "0.25,0.5", "--json").stdout)
    assert e["nearest_crease"] == {"unit": 0, "name": "layers.0.bend[0]", "distance": 0.25}
    assert e["boundary_in_region"]["class"] == "class 0"
    assert e["boundary_in_region"]["distance"] == pytest.approx(0.25 / np.sqrt(2))
    assert e["boundary_in_region"]["point"] == pytest.approx([0.125, 0.375])


def test_the_nearest_change_is_that_of_all_regions_with_its_proof(run, fold):
    """At (-0.25, -0.5) the region has no boundary: the nearest is (0.5, -0.5), two regions on."""
    e = json.loads(run("explain", fold, "-0.25,-0.5", "--json").stdout)
    assert e["boundary_in_region"] is None  # f is constant there
    change = e["nearest_change"]
    assert change["distance"] == pytest.approx(0.75)
    assert change["point"] == pytest.approx([0.5, -0.5], abs=1e-6)
    assert (change["proved"], change["class"], change["unit"]) == (True, "class 1", "the units of the inputs")
    text = " ".join(run("explain", fold, "-0.25,-0.5").stdout.split())
    assert "0.75 away in the units of the inputs, to class 1; nothing is nearer (proved)" in text


def test_without_time_the_region_bounds_the_nearest_change(run, fold):
    for x, distance, lower in (("-0.25,-0.5", None, 0.25), ("0.25,0.5", 0.125**0.5 / 2, 0.125**0.5 / 2)):
        change = json.loads(run("explain", fold, x, "--budget", "1e-9", "--json").stdout)["nearest_change"]
        assert change["proved"] is False
        assert change["distance"] == (distance and pytest.approx(distance))
        assert change["lower_bound"] == pytest.approx(lower)


def test_the_region_is_described(run, fold):
    e = json.loads(run("explain", fold, "0.25,0.5", "--json").stdout)
    assert [facet["unit"] for facet in e["region"]["facets"]] == [0, 1]
    assert e["region"]["unbounded"] is True
    assert e["region"]["radius"] is None  # infinity
    assert e["region"]["bounding_box"] == [[pytest.approx(0), None], [pytest.approx(0), None]]


def test_units_are_listed_by_activation_times_gradient(run, fold):
    e = json.loads(run("explain", fold, "0.25,0.5", "--json").stdout)
    assert [(row["unit"], row["activation_times_gradient"]) for row in e["units"]] == [(1, 0.5), (0, 0.25)]
    e = json.loads(run("explain", fold, "-0.25,0.5", "--json").stdout)
    assert [(row["unit"], row["activation_times_gradient"]) for row in e["units"]] == [(1, -0.5)]


def test_the_explanation_reads_well(run, fold):
    result = run("explain", fold, "-0.25,0.75")
    assert result.exit_code == 0, result.output
    for words in (
        "class 1, ahead of class 0 by 0.25",
        "0.25 away in the inputs' units, unit",
        "0.25 away in the inputs' units, to class 0",
        "unbounded, no largest ball",
        "2 creases: layers.0.bend[0], layers.0.bend[1]",
        "Margin = -0.5 and these products",
        "-inf to 0",
        "Most important units (1 of 1",
    ):
        assert words in " ".join(result.stdout.split())


def test_only_the_largest_products_are_shown(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "n.npz", W0=rng.normal(size=(4, 20)), b0=np.ones(4), W1=np.ones((2, 4)), b1=np.array([0, 1.0]))
    result = run("explain", "n.npz", ",".join(["1"] * 20))
    assert "from 12 more inputs" in result.stdout


def test_a_region_with_too_many_inputs_is_not_measured(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "n.npz", W0=rng.normal(size=(4, 65)), b0=np.ones(4), W1=np.ones((1, 4)), b1=np.zeros(1))
    np.save(tmp_path / "x.npy", rng.normal(size=65))
    result = run("explain", "n.npz", "x.npy")
    assert result.exit_code == 0, result.output
    assert "size not computed (more than 64 inputs" in result.stdout


def test_inputs_are_named_by_their_place_in_the_input_shape(run, tmp_path):
    (tmp_path / "conv.py").write_text(
        "from torch import nn\nnet = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))"
    )
    result = run("explain", "conv.py:net", ",".join(["0.5"] * 9), "--input-shape", "1,3,3", "--json")
    assert result.exit_code == 0, result.output
    assert sorted(row["input"] for row in json.loads(result.stdout)["inputs"])[-1] == [0, 2, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["1,2,3"], "INPUT must have 2 numbers, one for each input of the network, got 3"),
        (["one,two"], "INPUT must be comma-separated numbers, got 'one,two'"),
        (["x.npy"], "INPUT must be an existing file, got x.npy"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(run, fold, words, message):
    result = run("explain", fold, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_explanation_agrees_with_the_library(run, wide):
    x = [0.1, -0.2, 0.3, -0.4, 0.5]
    e = json.loads(run("explain", wide, ",".join(map(str, x)), "--json").stdout)
    region = cell(load_model(str(wide)), x)
    assert e["region"]["radius"] == pytest.approx(region.radius)
    assert [facet["unit"] for facet in e["region"]["facets"]] == region.units[region.facets].tolist()


@pytest.fixture(scope="module")
def iris_run(tmp_path_factory):
    """The folder of a short growth run on iris."""
    folder = tmp_path_factory.mktemp("runs") / "iris"
    result = CliRunner().invoke(app, ["grow", "iris", "--budget", "5", "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


def test_a_run_is_explained_with_the_names_of_its_table(run, iris_run):
    result = run("explain", iris_run, "--row", 120, "--detail")
    assert result.exit_code == 0, result.output
    for words in ("virginica, ahead of", "petal length (cm)", "away in standard deviations, to versicolor"):
        assert words in " ".join(result.stdout.split())


def test_a_change_of_a_row_of_a_run_is_a_sentence(run, iris_run):
    result = run("explain", iris_run, "--row", 120, "--to", "versicolor", "--fix", "petal length,sepal width")
    assert result.exit_code == 0, result.output
    first, second, *_ = result.stdout.splitlines()
    assert first.startswith("Row 120: predicted ")
    assert re.search(r"versicolor [\d.]+ % if .*petal width is [\d.]+ cm instead of 2.3 cm", second)


@pytest.mark.slow
def test_a_change_as_json_reaches_the_class_that_was_asked_for(run, iris_run):
    e = json.loads(run("explain", iris_run, "--row", 120, "--to", "setosa", "--json").stdout)
    (answer,) = e["changes"]["answers"]
    assert (e["predicted"], answer["prediction"].split()[0]) == ("virginica", "setosa")
    net = load_model(str(iris_run / "model.safetensors"))
    assert net(np.array(list(answer["row"].values()), float)).argmax() == 0


def test_options_of_tables_are_refused_for_a_network(run, fold):
    result = run("explain", fold, "-0.25,-0.5", "--to", "1")
    assert result.exit_code == 2
    assert "--to must come with the folder of creases fit or creases grow" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--row", 1000], "--row must be a row of the table, from 0 to 149, got 1000"),
        (["--row", 3, "--fix", "mass", "--to", "setosa"], "--fix must name columns among sepal length"),
        (["--row", 3, "--to", "rose"], "--to must be one of setosa, versicolor, virginica"),
        (["--row", 3, "--to", "setosa", "--detail"], "--to must not come with --detail"),
        (["--row", 3, "--input-shape", "4"], "--input-shape must come with a network"),
        (["1,2,3,4", "--row", 3], "INPUT must not be given with --row"),
        ([], "--row must be given for a grown network, which has no card of points"),
    ],
)
def test_wrong_wishes_end_in_one_line(run, iris_run, words, message):
    result = run("explain", iris_run, *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_ctrl_c_in_the_search_gives_what_is_known(run, fold, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("creases.certify.nearest", interrupt)
    result = run("explain", fold, "0.3,0.4")
    assert result.exit_code == 0
    assert "The linear region of this input" in result.stdout
    assert "Interrupted: the nearest change" in result.stderr


# Explaining rows of tables on the command line.


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """A model of curves of a table with numbers, a category, a date and missing values."""
    folder = tmp_path_factory.mktemp("homes")
    rng = np.random.default_rng(0)
    lines = ["size (m2),town,garden,sold,price"]
    for k in range(90):
        size, town, garden = 20 + k % 61, ["Ulm", "Bonn", ""][k % 3], ["yes", "no"][k % 2]
        high = size + 20 * (garden == "yes") + 5 * rng.normal() > 60
        cells = ["" if k % 11 == 0 else str(size), town, garden, f"20{10 + k % 4}-0{1 + k % 9}-15"]
        lines.append(",".join([*cells, "high" if high else "low"]))
    (folder / "homes.csv").write_text("\n".join(lines))
    words = ["fit", str(folder / "homes.csv"), "--target", "price", "--out", str(folder / "run")]
    assert CliRunner().invoke(app, words).exit_code == 0
    return folder / "run"


def test_a_row_of_a_table_is_a_sum_in_words(homes):
    result = CliRunner().invoke(app, ["explain", str(homes), "--row", "17"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Row 17: predicted price: ")
    assert "for the average row" in result.output
    assert "size 37 m2" in result.output
    assert "instead of" in result.output
    assert "No smaller change exists: all were searched." in result.output
    for raw in ("bend1", "inf", "gradient", "margin"):
        assert raw not in result.output


def test_a_model_without_a_row_is_a_card(homes):
    result = CliRunner().invoke(app, ["explain", str(homes)])
    assert result.exit_code == 0, result.output
    assert "10 points double the odds" in result.output
    data = json.loads(CliRunner().invoke(app, ["explain", str(homes), "--json"]).output)
    assert {entry["name"] for entry in data["entries"]} >= {"size (m2)", "garden"}


@pytest.mark.slow
def test_a_model_with_a_map_of_two_numbers_has_words_instead_of_a_card(tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    creases.fit_table(pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "z": x[:, 0] * x[:, 1]}), "z").save(tmp_path / "run")
    result = CliRunner().invoke(app, ["explain", str(tmp_path / "run")])
    assert all(said in result.output for said in (" together: ", "this model has no card of points"))


def test_changes_lead_to_the_class_that_is_asked_for(homes):
    command = ["explain", str(homes), "--row", "17", "--fix", "garden", "--count", "2", "--json", "--to"]
    data = json.loads(CliRunner().invoke(app, [*command, "high"]).output)
    if data["predicted"] == "high":
        data = json.loads(CliRunner().invoke(app, [*command, "low"]).output)
    assert data["changes"]["complete"]
    model = load(homes)
    for answer in data["changes"]["answers"]:
        assert "garden" not in {change["column"] for change in answer["changes"]}
        assert model.predict([answer["row"]])[0] != data["predicted"]


def test_detail_shows_the_region(homes):
    result = CliRunner().invoke(app, ["explain", str(homes), "--row", "17", "--detail"])
    assert result.exit_code == 0, result.output
    assert "The linear region of this input" in result.output


def test_the_number_of_a_region_is_called_a_logarithm_where_it_is(tmp_path):
    rows = "".join(f"{k % 9},{2 ** (k % 9) + k % 3}\n" for k in range(90))
    (tmp_path / "counts.csv").write_text("size,count\n" + rows)
    options = ["--target", "count", "--family", "poisson", "--out", str(tmp_path / "counts")]
    assert CliRunner().invoke(app, ["fit", str(tmp_path / "counts.csv"), *options]).exit_code == 0
    result = CliRunner().invoke(app, ["explain", str(tmp_path / "counts"), "--row", "17", "--detail"])
    assert "logarithm of the prediction" in result.output
    assert "Logarithm of the prediction = " in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--row", "999"], "from 0 to 89"),
        (["--row", "17", "--to", "huge"], "be one of high, low"),
        (["--row", "17", "--fix", "color"], "name columns among size, town, garden, sold"),
        (["--to", "high"], "be given with --to"),
    ],
)
def test_wrong_rows_classes_and_columns_of_a_table_are_refused(homes, words, message):
    result = CliRunner().invoke(app, ["explain", str(homes), *words])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_row_without_its_target_is_explained(homes):
    table = homes.parent / "gap.csv"
    lines = (homes.parent / "homes.csv").read_text().split("\n")
    lines[5] = lines[5].rsplit(",", 1)[0] + ","
    table.write_text("\n".join(lines))
    words = ["fit", str(table), "--target", "price", "--out", str(homes.parent / "gap")]
    assert CliRunner().invoke(app, words).exit_code == 0
    result = CliRunner().invoke(app, ["explain", str(homes.parent / "gap"), "--row", "4"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Row 4: predicted price: ")


def test_a_wrong_length_is_refused_before_torch_is_imported(wide, tmp_path):
    path = creases.read(wide).save(tmp_path / "wide.onnx")
    script = "import sys; from creases.cli import app\ntry: app()\nfinally: print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, "explain", path, "1,2"], capture_output=True, text=True)
    assert done.stdout == "False\n"
    assert done.stderr == "error: INPUT must have 5 numbers, one for each input of the network, got 2\n"


def test_an_onnx_file_is_parsed_once(run, wide, tmp_path, monkeypatch):
    parsed = []
    monkeypatch.setattr(
        onnx, "load", lambda *words, load=onnx.load, **more: parsed.append(words) or load(*words, **more)
    )
    result = run("explain", creases.read(wide).save(tmp_path / "wide.onnx"), "1,2,3,4,5", "--budget", "0.1")
    assert (result.exit_code, len(parsed)) == (0, 1), result.output
