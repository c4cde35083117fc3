"""One effect has one wording: the command line, reports, notebooks, the studio, loaded models and estimators agree."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
import report_pages
from creases.cli import app
from creases.show.studio._limits import Limits
from creases.show.studio._table_view import TableView
from creases.tables._words.model_text import describe_model


def make_rents(n: int = 240) -> pd.DataFrame:
    """Rents by town and season, which act together; rows occur more than once, the extreme ones in few rows."""
    rng = np.random.default_rng(0)
    town, season = rng.integers(0, 4, n), rng.integers(0, 3, n)
    together = np.array([[9.0, -4.0, 0.0], [-6.0, 8.0, 1.0], [0.0, -5.0, 6.0], [-3.0, 1.0, -7.0]])
    rent = 50 + 3.0 * town + together[town, season] + rng.normal(0, 0.4, n).round(1)
    names = np.array(["Bonn", "Kiel", "Trier", "Ulm"])[town], np.array(["spring", "summer", "winter"])[season]
    return pd.DataFrame({"town": names[0], "season": names[1], "rent (EUR)": rent.round(1)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("words")
    make_rents().to_csv(home / "rents.csv", index=False)
    words = ["fit", str(home / "rents.csv"), "--target", "rent (EUR)", "--out", str(home / "run")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    (home / "said.txt").write_text(result.stdout)
    return home


@pytest.fixture(scope="module")
def words(folder):
    """The model in words, a line for each effect."""
    lines = describe_model(creases.load(folder / "run"))
    assert any("together: " in line for line in lines)
    return lines


def said_in(text: str) -> str:
    return " ".join(text.split())


def test_the_command_line_says_what_the_loaded_model_says(folder, words):
    for voice in ((folder / "said.txt").read_text(), (folder / "run" / "report.txt").read_text()):
        assert [line for line in words if line not in said_in(voice)] == []


def test_printing_a_model_says_it_too(folder, words):
    assert str(creases.load(folder / "run")).splitlines() == words


def test_reports_of_the_folder_and_of_the_model_in_memory_say_it_too(folder, words):
    fitted = creases.fit_table(folder / "rents.csv", "rent (EUR)")
    for page in (creases.report(folder / "run"), creases.report(fitted)):
        run, _ = report_pages.parse(page.html)
        section = next(section for section in run["sections"] if section["title"] == "In words")
        said = [section["text"], *(": ".join(row) for row in section["table"]["rows"]), *section["note"].split("\n")]
        assert [line[1:] for line in said] == [line[1:] for line in words]


def test_notebooks_and_estimators_say_it_too(folder, words):
    model = creases.load(folder / "run")
    card = said_in(unescape(re.sub(r"<[^>]*>", " ", model._repr_html_())).replace(":", " "))
    assert [line for line in words if said_in(line.replace(":", " ")) not in card] == []
    table = make_rents()
    fitted = creases.TableRegressor(random_state=0).fit(table.drop(columns="rent (EUR)"), table["rent (EUR)"])
    assert fitted.summary().splitlines()[: len(describe_model(fitted.model_))] == describe_model(fitted.model_)


def test_the_studio_says_it_too(folder, words):
    table = TableView.from_folder(str(folder / "run"), Limits(), lambda: None).table_json()
    assert [table["opening"], *table["words"]] == words


def test_an_effect_is_as_large_as_it_is_in_the_rows_fitted(folder, words):
    model = creases.fit_table(folder / "rents.csv", "rent (EUR)")
    table = make_rents()
    parts = model.explain(table.iloc[model.data.train]).parts
    together = parts[[name for name in parts if "season" in name and "town" in name]].to_numpy()
    line = next(line for line in words if "together: " in line)
    numbers = [float(text) for text in re.findall(r"[+-]?\d+(?:\.\d+)?", line.split("together: ")[1].replace("±", ""))]
    expected = [np.abs(together).max()] if "±" in line else [together.min(), together.max()]
    assert numbers == pytest.approx(expected, rel=0.06)
