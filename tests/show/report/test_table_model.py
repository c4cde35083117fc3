"""Reports of models of curves: the questions in order, and the numbers of the model."""

import json
from dataclasses import replace

import numpy as np
import pytest

from creases.errors import FileError
from creases.show.report import _table_model as report
from creases.show.report import write_growth_report
from creases.show.report._charts import column_charts, pair_chart
from creases.show.report._table_model import proved_section
from creases.tables import FitSettings, LevelGraph, NumberGraph, fit_table, model_baselines, model_graphs, parse_table
from creases.tables._reading.options import CurveConfig
from readable_models import random_model

TEXT = "size,town,y\n" + "".join(
    f"{k % 40},{['Ulm', 'Bonn', 'Kiel'][k % 3]},{abs(k % 40 - 15) + 5 * (k % 3) + 0.5}\n" for k in range(120)
)


@pytest.fixture(scope="module")
def model():
    return fit_table(parse_table(TEXT, "homes.csv"))


@pytest.fixture
def sections(model, monkeypatch, tmp_path):
    written = {}
    monkeypatch.setattr(
        report, "write_sections", lambda path, title, lead, parts: written.update(lead=lead, parts=parts)
    )
    report.write_model_report(model, tmp_path / "r.html", model_name="run", again="creases fit homes.csv")
    return written


def test_the_report_leads_with_whether_the_model_is_good(sections):
    groups = list(dict.fromkeys(section["group"] for section in sections["parts"]))
    assert groups == [report.GOOD, report.DOES, report.GREW, report.ROWS, report.WRONG, report.CERTAIN, report.USE]
    assert "test R²" in sections["lead"]


def test_scores_stand_beside_a_linear_model_and_a_constant(sections, model):
    scores = sections["parts"][0]
    assert [bar["name"] for bar in scores["bars"]] == [
        "this model",
        *(each.name for each in model_baselines(model)[1:]),
    ]
    assert "Better than Ridge" in scores["text"]


def test_a_row_is_explained_by_amounts_that_add_up(sections):
    rows = [section for section in sections["parts"] if section["group"] == report.ROWS]
    for section in rows:
        *parts, total = [float(cell.replace("−", "-").replace("+", "")) for _, cell in section["table"]["rows"]]
        assert sum(parts) == pytest.approx(total, rel=0.02, abs=0.2)


def test_large_amounts_of_a_row_have_all_their_digits(model):
    answer = replace(report._explain(model, 0), start=2252.4, total=12345.6)
    rows = report._row_section(answer, ())["table"]["rows"]
    assert (rows[0][1], rows[-1][1]) == ("2,252", "12,346")


def test_facts_say_that_a_prediction_is_the_sum_of_the_curves(sections):
    facts = next(section for section in sections["parts"] if section["title"] == "Facts")
    assert facts["text"].startswith("The curves are all there is: a prediction is their sum.")


@pytest.mark.slow
def test_facts_say_how_far_the_sum_is_from_the_network():
    rows = "".join(f"{k % 40},{['Ulm', 'Bonn', 'Kiel'][k % 3]},{abs(k % 40 - 15) * (k % 3)}\n" for k in range(120))
    model = fit_table(parse_table("size,town,y\n" + rows, "homes.csv"), family="normal")
    assert model.planes or model.function.units is not None  # a product is no sum of curves
    gap = float(proved_section(model)["text"].split("largest difference ")[1].split(")")[0])
    assert gap < 1e-9


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_charts_hold_the_values_of_the_model(n_classes):
    model, problem = random_model(2, n_classes)
    graphs = model_graphs(model, X=problem.X)
    for graph, chart in zip(graphs, column_charts(graphs), strict=True):
        if isinstance(graph, NumberGraph):
            lines = [series for series in chart["series"] if series["kind"] == "line"]
            assert np.allclose([line["y"] for line in lines], graph.values.T, rtol=1e-5, atol=1e-5)
            assert chart["y"]["name"] == (graph.unit or graph.outputs[0])
            assert sum(next(s for s in chart["series"] if s["kind"] == "density")["y"]) == len(graph.rows)
        else:
            assert isinstance(graph, LevelGraph)
            assert len(chart["levels"]) == len(graph.levels)
            assert chart["limit"] >= np.abs(graph.values).max()


def test_a_pair_of_a_number_and_a_category_is_a_chart_with_a_line_for_each_value():
    model, problem = random_model(2, 0, plane=True)
    pair = model_graphs(model, X=problem.X)[-1]
    assert {series["name"] for series in pair_chart(pair)["series"]} == set(pair.second.levels)


def test_a_fit_is_reported_from_its_folder_and_is_no_growth_run(tmp_path):
    (tmp_path / "homes.csv").write_text(TEXT)
    settings = FitSettings(data=str(tmp_path / "homes.csv"), config=CurveConfig())
    folder = tmp_path / "run"
    folder.mkdir()
    settings.save(folder)
    fit_table(tmp_path / "homes.csv").save(folder)
    assert report.write_table_report(folder, tmp_path / "report.html") == len(TEXT.splitlines()) - 1
    assert (tmp_path / "report.html").stat().st_size > 0
    with pytest.raises(FileError, match="was made by creases fit, not by creases grow"):
        write_growth_report(folder, tmp_path / "report.html")


def test_long_names_of_classes_are_without_their_brackets(monkeypatch, tmp_path):
    names = ("Adelie Penguin (Pygoscelis adeliae)", "Gentoo penguin (Pygoscelis papua)")
    text = "size,species\n" + "".join(f"{k % 40},{names[(k % 40 + k % 7) > 21]}\n" for k in range(120))
    written = []
    monkeypatch.setattr(report, "write_sections", lambda path, title, lead, parts: written.extend(parts))
    fitted = fit_table(parse_table(text, "penguins.csv"))
    report.write_model_report(fitted, tmp_path / "r.html", model_name="run", again="creases fit penguins.csv")
    matrix = next(section["matrix"] for section in written if "matrix" in section)
    assert matrix["rows"] == ["Adelie Penguin", "Gentoo penguin"]
    told = [section for section in written if section["group"] in (report.ROWS, report.WRONG)]
    assert "Pygoscelis" not in json.dumps(told)
