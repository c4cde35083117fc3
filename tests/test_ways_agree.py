"""Where one thing can be asked in two ways, the answers are the same: rows, thresholds, scores, options."""

from __future__ import annotations

import json
import multiprocessing
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import creases
from creases import problems
from creases.cli import app
from creases.errors import InputError
from report_pages import parse


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


def refuse(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 2, result.output
    return " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def skewed():
    """300 rows of two classes, one in six positive, in a frame whose first rows have no target."""
    rng = np.random.default_rng(1)
    size, age = rng.normal(size=300), rng.uniform(20, 70, 300).round(1)
    ill = rng.uniform(size=300) < 1 / (1 + np.exp(2.2 - 1.2 * size - 0.02 * (age - 45)))
    frame = pd.DataFrame({"size": size.round(3), "age": age, "ill": np.where(ill, "yes", "no")})
    frame.loc[:4, "ill"] = None
    return frame


@pytest.mark.slow
def test_a_report_of_more_classes_than_a_confusion_matrix_shows_has_all_other_sections(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=420), "b": rng.normal(size=420)})
    frame["kind"] = [f"k{k:02d}" for k in np.arange(420) % 21]
    model = creases.fit_table(frame, "kind")
    titles = [section["title"] for section in parse(creases.report(model).html)[0]["sections"]]
    assert "Largest errors" in titles
    assert "Confusion matrix" not in titles


def test_an_edit_names_rows_as_the_table_numbers_them(skewed):
    model = creases.fit_table(skewed, "ill", threshold="f1")
    edit = model.edit(flatten=["size"])
    changed = np.flatnonzero(model.predict(skewed) != edit.model.predict(skewed))
    assert len(edit.flips) > 5
    assert edit.flips.tolist() == changed[changed >= 5].tolist()  # the first five have no class


@pytest.mark.slow
def test_a_loaded_run_is_edited_on_the_rows_it_was_fitted_to(skewed, tmp_path):
    skewed.to_csv(tmp_path / "ill.csv", index=False)
    run("fit", tmp_path / "ill.csv", "--out", tmp_path / "o")
    loaded, fitted = creases.load(tmp_path / "o"), creases.fit_table(tmp_path / "ill.csv")
    edit, same = loaded.edit(flatten=["size"]), fitted.edit(flatten=["size"])
    assert edit.flips.tolist() == same.flips.tolist()
    pd.testing.assert_frame_equal(edit.scores, same.scores)


def test_the_studio_numbers_rows_as_every_other_way_does(skewed):
    from creases.show.studio._limits import Limits
    from creases.show.studio._table_view import TableView

    model = creases.fit_table(skewed, "ill", threshold="f1")
    view = TableView(model, "ill", Limits())
    view.edit({"change": "flatten", "column": "size"})
    shown = [example["row"] for example in view.table_json()["effect"]["examples"]]
    assert shown == model.edit(flatten=["size"]).flips[: len(shown)].tolist()


def test_a_target_for_a_problem_is_refused_also_if_it_is_the_first_column():
    with pytest.raises(InputError, match=r"target .*not be given for a problem"):
        creases.fit_table(problems.get("iris"), target=0)


def test_the_option_that_a_file_without_clear_names_needs_is_one_of_fit_table(tmp_path):
    rng = np.random.default_rng(0)
    lines = "\n".join(f"{a:.3f},{b:.3f},{a + b:.3f}" for a, b in rng.normal(size=(60, 2)))
    (tmp_path / "t.csv").write_text(f"a,2020,y\n{lines}\n")
    with pytest.raises(InputError, match="header=True or header=False"):
        creases.fit_table(tmp_path / "t.csv")
    assert creases.fit_table(tmp_path / "t.csv", header=True).schema.features == ("a", "2020")


@pytest.mark.parametrize("model", [torch.nn.Linear(2, 1), [(np.eye(2), np.zeros(2))]], ids=["module", "arrays"])
def test_a_limit_of_memory_that_cannot_act_is_refused(model, tmp_path):
    with pytest.raises(InputError, match=r"max_memory .*ONNX"):
        creases.read(model, max_memory=1e6)
    creases.read(model).save(tmp_path / "net.safetensors")
    with pytest.raises(InputError, match=r"max_memory .*ONNX"):
        creases.read(tmp_path / "net.safetensors", max_memory=1e6)


def _load_rows(folder):
    from creases.tables._folder.settings import FitSettings

    return FitSettings.load(Path(folder)).load_split().test.tolist()


def _send_rows(folder, answers):
    answers.put(_load_rows(folder))


@pytest.mark.slow
def test_a_model_fitted_in_blocks_is_opened_by_a_process_that_may_start_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    rng = np.random.default_rng(0)
    for k in range(4):
        X = rng.normal(size=(6_000, 3))
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + np.abs(X[:, 1]) + X[:, 2]})
        frame.to_parquet(tmp_path / f"part-{k}.parquet", index=False)
    run("fit", tmp_path / "part-*.parquet", "--out", tmp_path / "o")
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    worker = context.Process(target=_send_rows, args=(str(tmp_path / "o"), answers), daemon=True)
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert answers.get() == _load_rows(tmp_path / "o")


@pytest.fixture(scope="module")
def grown(skewed, tmp_path_factory):
    """A network of two classes with a threshold far from one half, in a folder, and its report."""
    home = tmp_path_factory.mktemp("grown")
    skewed.dropna().to_csv(home / "ill.csv", index=False)
    run("grow", home / "ill.csv", "--threshold", 0.05, "--out", home / "o")
    run("report", home / "o", "--out", home / "r.html")
    sections = {section["title"]: section for section in parse((home / "r.html").read_text("utf-8"))[0]["sections"]}
    return creases.load(home / "o"), skewed.dropna().reset_index(drop=True), sections, home / "o"


def test_a_loaded_network_says_of_categories_what_it_said_when_it_grew(tmp_path):
    rng = np.random.default_rng(0)
    town, size = rng.choice(["Bonn", "Ulm"], 200), rng.uniform(0, 9, 200)
    pd.DataFrame({"town": town, "size": size, "y": size + 3 * (town == "Ulm")}).to_csv(tmp_path / "t.csv", index=False)
    run("grow", tmp_path / "t.csv", "--budget", 2, "--out", tmp_path / "o")
    lines = str(creases.load(tmp_path / "o")).splitlines()
    assert lines == str(creases.tables.grow_table(tmp_path / "t.csv", "y", budget=2)).splitlines()
    assert sorted(line.split(":")[0] for line in lines[1:]) == ["size", "town"]


def test_the_hardest_samples_have_the_class_that_the_model_predicts(grown):
    model, frame, sections, _ = grown
    table = sections["Hardest samples"]["table"]
    number, found = table["columns"].index("row"), table["columns"].index("predicted ill")
    predicted = model.predict(frame)
    assert "yes" in {row[found] for row in table["rows"]}
    assert [row[found] for row in table["rows"]] == [predicted[int(row[number])] for row in table["rows"]]


def test_right_and_wrong_rows_are_counted_by_the_threshold(grown):
    _, _, sections, folder = grown
    right, wrong = (sum(bars["y"]) for bars in sections["Confidence"]["charts"][0]["series"])
    metrics = json.loads((folder / "metrics.json").read_text())["network"]["test"]
    assert right / (right + wrong) == pytest.approx(metrics["accuracy"])


def test_there_is_one_calibration_error(grown):
    _, _, sections, folder = grown
    said = float(re.search(r"calibration error\) is (\d+\.\d+)", sections["Calibration"]["text"])[1])
    metrics = json.loads((folder / "metrics.json").read_text())["network"]["test"]
    assert said == pytest.approx(metrics["calibration_error"], rel=2e-3)
