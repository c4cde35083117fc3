"""``creases fit FILE``: scores first, then the model in words, then the stages; a folder that predicts."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app


@pytest.fixture
def trees(tmp_path):
    """Heights of trees: a curve of age, a category, missing values, an ID."""
    rng = np.random.default_rng(0)
    age, kind = rng.uniform(1, 60, 150), rng.choice(["fir", "oak"], 150)
    height = np.minimum(age, 25) + 4 * (kind == "fir") + 0.5 * rng.normal(size=150)
    frame = pd.DataFrame(
        {"tree id": np.arange(150) + 900, "age": age.round(1), "kind": kind, "height": height.round(2)}
    )
    frame.loc[::15, "age"] = np.nan
    frame.to_csv(tmp_path / "trees.csv", index=False)
    return frame


@pytest.mark.slow
def test_the_scores_come_first_then_the_model_then_the_stages(run, trees, tmp_path):
    result = run("fit", "trees.csv", "--out", "o", "--shape", "age=rising")
    assert result.exit_code == 0, result.output
    said = result.stdout
    marks = [
        "Is it good?",
        "Ridge on the test rows",
        "What does it do?",
        "age: ",
        "What did each stage bring?",
        "linear: unexplained variance",
    ]
    places = [said.index(mark) for mark in marks]
    assert places == sorted(places)
    reason = "different in every row; held-out rows are not better predicted with it"
    assert f"'tree id' (ID: {reason})" in " ".join(result.stderr.split())
    files = {path.name for path in (tmp_path / "o").iterdir()} - {"model.onnx"}
    assert files == {
        "run.json",
        "model.json",
        "encoding.json",
        "baselines.npz",
        "held.npz",
        "metrics.json",
        "report.txt",
        "rows.npz",
    }
    model = creases.load("o")
    assert (model.curves["age"].slopes >= 0).all()
    same = creases.fit_table(trees, "height", shapes={"age": "rising"})
    assert model.predict(trees).tolist() == same.predict(trees).tolist()
    predicted = run("predict", "o", "trees.csv", "--out", "p.csv")
    assert predicted.exit_code == 0, predicted.output
    np.testing.assert_allclose(pd.read_csv("p.csv")["predicted height"], model.predict(trees))
    resumed = run("fit", "trees.csv", "--out", "o", "--shape", "age=rising", "--force", "--json")
    summary = json.loads(resumed.stdout)
    assert summary["parts"] == model.function.to_dict()
    assert [each["other"] for each in summary["comparisons"]] == ["Ridge", "HistGradientBoosting"]
    assert summary["kind"] == "curves"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--budget", "3"), "No such option: --budget; it is one of creases grow"),
        (("--kind", "network"), "No such option: --kind"),
        (("--shape", "age"), "--shape must be a column and a shape such as age=rising, got 'age'"),
        (("--shape", "age=bent"), "got 'bent'"),
    ],
)
def test_options_that_cannot_act_are_refused(run, trees, tmp_path, words, said):
    result = run("fit", "trees.csv", "--out", "o", *words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "o").exists()


def test_every_option_acts_and_they_are_few(run):
    for command, most in (("fit", 25), ("grow", 22)):
        options = set(re.findall(r"^[│ ]+(--[a-z-]+)", run(command, "--help").stdout, re.MULTILINE)) - {"--help"}
        assert 10 < len(options) <= most, options


def test_the_same_command_again_says_that_the_run_is_finished(tmp_path):
    rows = "".join(f"{k},{k % 7},{3 * k + k % 7}\n" for k in range(60))
    (tmp_path / "t.csv").write_text(f"a,b,y\n{rows}")
    words = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, words).exit_code == 0
    model = (tmp_path / "run" / "model.json").read_bytes()
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 0
    assert "nothing to do" in again.output
    assert "--force" in again.output
    (tmp_path / "run" / "model.json").unlink()  # as if it was interrupted
    resumed = CliRunner().invoke(app, words)
    assert resumed.exit_code == 0
    assert (tmp_path / "run" / "model.json").read_bytes() == model
    other = CliRunner().invoke(app, [*words, "--shape", "a=rising"])
    assert other.exit_code == 2
    assert "--force" in other.output


@pytest.mark.slow
def test_the_report_of_curves_is_called_that_of_a_model(run, trees):
    assert run("fit", "trees.csv", "--out", "o").exit_code == 0
    result = run("report", "o")
    assert result.exit_code == 0, result.output
    assert "Wrote report.html (model of a table, " in result.stdout


@pytest.mark.slow
def test_columns_that_look_like_ids_are_named_with_what_became_of_them(run, tmp_path):
    rng = np.random.default_rng(0)
    x, t = rng.uniform(-2, 2, 300), np.arange(300)
    frame = pd.DataFrame({"t": t, "serial": [f"S{k:05d}" for k in t], "x": x, "y": x**2 + t / 100})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    result = run("fit", "rows.csv", "--out", "o")
    assert result.exit_code == 0, result.output
    said, printed = " ".join(result.stderr.split()), " ".join(result.stdout.split())
    assert "Caution: 't' looks like an ID (row number; held-out rows are better predicted with it)" in said
    assert "Ignore it with --drop t." in said
    assert "Ignored: 'serial' (ID: 300 different values in 300 rows)" in said
    assert "ColumnWarning" not in said
    for text in (printed, " ".join((tmp_path / "o" / "report.txt").read_text(encoding="utf-8").split())):
        assert "caution: 't' looks like an ID" in text
        assert "left out: 'serial' (ID: 300 different values in 300 rows)" in text
    loaded = creases.load("o")
    assert loaded.schema.features == ("t", "x")
    assert "left out: 'serial'" in repr(loaded)


def test_texts_are_read_and_a_kind_can_be_overruled(run, tmp_path):
    rng = np.random.default_rng(0)
    minutes, grade = rng.integers(0, 1440, 160), rng.integers(0, 3, 160)
    when = [f"{m // 60:02d}:{m % 60:02d}" for m in minutes]
    y = np.sin(minutes / 240) + grade + 0.1 * rng.normal(size=160)
    frame = pd.DataFrame({"when": when, "grade": np.array(["A", "B", "C"])[grade], "y": y.round(4)})
    frame.to_csv(tmp_path / "rides.csv", index=False)
    result = run("fit", "rides.csv", "--out", "o", "--kind-of", "grade=C<B<A")
    assert result.exit_code == 0, result.output
    words = " ".join((result.stdout + result.stderr).split())
    assert "Read: 'when' as time, 'grade' as ordinal. Read a column otherwise with --kind-of COLUMN=KIND." in words
    assert "when (time):" in words
    settings = creases.tables.FitSettings.load(tmp_path / "o")
    assert settings.kinds == {"grade": "C<B<A"}
    assert "--kind-of 'grade=C<B<A'" in settings.command("o")
    rows = frame.assign(when=["soon", *when[1:]])
    rows.to_csv(tmp_path / "new.csv", index=False)
    predicted = run("predict", "o", "new.csv", "--out", "p.csv")
    assert "column 'when': 1 cell read as missing, not times ('soon')" in " ".join(predicted.output.split())
    explained = run("explain", "o", "--row", "0")
    assert f"when {when[0]}" in " ".join(explained.output.split())
    report = run("report", "o", "--out", "o.html")
    assert report.exit_code == 0, report.output
    packed = re.search(r'id="creases-report">([^<]*)<', (tmp_path / "o.html").read_text())[1]
    page = zlib.decompress(base64.b64decode(packed))
    assert b'"when (time)"' in page
    assert b'"12:00"' in page


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("kind", "--kind-of must be a column and a kind such as when=category, got 'kind'"),
        ("kind=time", "--kind-of must be what column 'kind' can be read as, got 'time', which values such as"),
        ("kind=color", "--kind-of must have for column 'kind' one of number, quantity, share, category, ordinal"),
        ("leaf=time", "--kind-of must be a column of"),
    ],
)
@pytest.mark.usefixtures("trees")
def test_a_wrong_kind_is_refused_by_its_option(run, kind, said):
    result = run("fit", "trees.csv", "--out", "o", "--kind-of", kind)
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.split())


@pytest.mark.slow
def test_units_are_printed_with_the_rows_they_grew_for(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 3))
    y = np.abs(X.sum(axis=1) - 1.5) + 0.02 * rng.normal(size=600)
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_csv(tmp_path / "ridge.csv", index=False)
    result = run("fit", "ridge.csv", "--out", "o")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert re.search(r"unit 1: (rises|falls) (above|below) .*; grown because \d+ rows like row \d+ \(at", said)
    assert "grown because" in (tmp_path / "o" / "report.txt").read_text()
    assert "folds: unexplained variance" in said


@pytest.mark.slow
def test_codes_groups_and_time_are_options_of_the_command(run, tmp_path):
    """The folder's settings write the same command again, and the text says how rows were held out."""
    rng = np.random.default_rng(0)
    income = rng.uniform(500, 5000, 400).round()
    income[:60] = -999
    table = pd.DataFrame({"income": income, "customer": [f"c{k % 40}" for k in range(400)], "day": np.arange(400)})
    table["y"] = np.where(income < 0, 7.0, income / 1000) + rng.normal(0, 0.1, 400)
    table.to_csv(tmp_path / "incomes.csv", index=False)
    options = ("--code", "income=-999", "--groups", "customer", "--time", "day", "--drop", "day")
    result = run("fit", "incomes.csv", "--target", "y", *options, "--out", "o")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "-999: +" in said
    assert "the test rows are the latest ones" in said
    model = creases.load("o")
    assert model.schema.features == ("income", "income is -999")
    from creases.tables import load_settings

    command = load_settings(tmp_path / "o").command("o")
    assert "--code income=-999" in command
    assert "--groups customer" in command
    refused = run("fit", "incomes.csv", "--target", "y", "--code", "income=none", "--out", "p")
    assert refused.exit_code != 0
    assert "a column and a number such as income=-999" in " ".join(refused.output.split())
