"""Explaining rows of tables on the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from creases.cli import app
from creases.tables import load


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
