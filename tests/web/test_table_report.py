"""The report of a model of a table in a browser: not too long on a phone, readable in both themes."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from browsing import PALE, UNNAMED
from creases.cli import app

#: Pixels that a report of twelve columns may be high on a phone.
TALLEST = 7500  # with calibration


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> str:
    """The address of a report of twelve columns, with a date, categories, gaps and three classes with long names."""
    rng, n = np.random.default_rng(0), 300
    columns = {f"length {k} (mm)": rng.normal(40 + k, 5, n).round(1) for k in range(7)}
    columns |= {
        "egg": pd.Timestamp("2007-11-09") + pd.to_timedelta(rng.integers(0, 760, n), "D"),
        "island": rng.choice(["Biscoe", "Dream", "Torgersen"], n),
        "sex": rng.choice(["female", "male", None], n),
        "clutch": rng.choice(["yes", "no"], n),
        "mass (g)": rng.integers(2700, 6300, n),
    }
    second, size = columns["length 1 (mm)"], columns["length 0 (mm)"] + (columns["mass (g)"] - 4500) / 400
    size = size + sum(columns[f"length {k} (mm)"] - 40 - k for k in range(2, 7)) + 6 * (columns["clutch"] == "yes")
    number = (size > 43).astype(int) + ((second > 43) & (columns["island"] != "Dream"))
    names = np.array(["Adelie Penguin (Pygoscelis adeliae)", "Chinstrap penguin (P. antarctica)", "Gentoo (P. papua)"])
    home = tmp_path_factory.mktemp("report")
    pd.DataFrame({**columns, "species": names[number]}).to_csv(home / "birds.csv", index=False)
    for words in (
        ["fit", home / "birds.csv", "--target", "species", "--out", home / "run"],
        ["report", home / "run", "--out", home / "report.html"],
    ):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
    return (home / "report.html").as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["1280", "390"])
def test_all_of_it_has_a_name_and_contrast_and_fits(visit, report, size, scheme):
    one = visit(size, scheme=scheme, offline=True)
    one.page.goto(report)
    one.page.locator(".chart").first.wait_for()
    assert one.page.evaluate(UNNAMED) == []
    assert one.page.evaluate(PALE) == []
    assert one.overflows() <= 0
    assert one.page.evaluate("document.documentElement.scrollHeight") <= TALLEST


def test_all_lines_of_a_long_table_are_there_on_demand(visit, report):
    one = visit("390", offline=True)
    one.page.goto(report)
    words = one.page.locator("section").filter(has=one.page.get_by_role("heading", name="In words"))
    words.get_by_role("button", name="Show all").click()
    assert words.locator("tbody tr").count() > 8
