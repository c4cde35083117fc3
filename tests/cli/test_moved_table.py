"""What is said of a table in a folder: new rows, a file that has moved, goals and options that advice names."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def homes(tmp_path):
    """Prices of homes, some without a price, some sold at no date."""
    rng = np.random.default_rng(0)
    area, sold = rng.uniform(40, 200, 120).round(), pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(120), "D")
    price = (3000 * area + rng.normal(0, 9000, 120)).round()
    frame = pd.DataFrame({"area": area, "sold": sold.strftime("%Y-%m-%d").to_numpy(object), "price": price})
    frame.loc[[5, 9], "price"] = np.nan
    frame.loc[[3, 17], "sold"] = ["soon", None]
    frame.to_csv(tmp_path / "homes.csv", index=False)
    frame.head(12).drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fit homes.csv --target price", "grow homes.csv --target price --budget 20"])
def test_explain_and_report_need_no_table_that_has_moved(run, homes, command):
    assert run(*command.split(), "--out", "run").exit_code == 0
    asked = [["explain", "run", "--row", "3"], ["explain", "run", "--row", "3", "--detail"]]
    asked.append(["report", "run", "--out", "report.html"])
    before = [run(*words) for words in asked]
    page = (homes / "report.html").read_text()
    (homes / "homes.csv").rename(homes / "elsewhere.csv")
    after = [run(*words) for words in asked]
    for one, two in zip(before, after, strict=True):
        assert one.exit_code == two.exit_code == 0, two.output
        assert one.stdout == two.stdout
    assert (homes / "report.html").read_text() == page
    assert "be a row with 'price'" in run("explain", "run", "--row", "5").stderr
    (homes / "run" / "rows.npz").write_bytes(b"PK")
    assert "cannot read" in run("explain", "run", "--row", "3").stderr
    (homes / "run" / "rows.npz").unlink()
    assert "homes.csv" in run("explain", "run", "--row", "3").stderr


@pytest.mark.slow
def test_new_rows_goals_and_advice(run, homes):
    text = " ".join(run("fit", "homes.csv", "--target", "price", "--out", "run").stdout.split())
    assert "--time sold (in Python time='sold') tests on the latest rows instead, and needs a date in every row" in text
    assert "2 cells of 'sold' (1 not dates, such as 'soon', 1 empty) have none" in text
    refused = run("fit", "homes.csv", "--target", "price", "--time", "sold", "--out", "other").stderr
    assert "--time must be a column with a date or number in every row, got 'sold' with 2 such cells" in refused
    assert "'soon' in row 3, an empty cell in row 17 (rows count from 0)" in refused
    printed = run("explain", "run", "--rows", "new.csv").stdout
    assert len(re.findall(r"^Row \d+: predicted price", printed, re.MULTILINE)) == 10
    assert "... and 2 more rows" in printed
    rows = json.loads(run("explain", "run", "--rows", "new.csv", "--json").stdout)["rows"]
    predicted = json.loads(run("predict", "run", "new.csv", "--json").stdout)["predictions"]
    for row, prediction in zip(rows, predicted, strict=True):
        total = row["start"] + sum(effect["amount"] for effect in row["effects"])
        assert total == pytest.approx(row["total"]) == pytest.approx(prediction["predicted price"])
    assert json.loads(run("explain", "run", "--rows", "new.csv", "--row", "2", "--json").stdout) == rows[2]
    for wrong in (["--row", "12"], ["--detail"]):
        assert run("explain", "run", "--rows", "new.csv", *wrong).exit_code == 2
    for row in ("0", "3"):
        total = rows[int(row)]["total"]
        sign, goal = re.search(r"--to '(>=|<=) ([\d.]+)'", run("explain", "run", "--row", row).stdout).groups()
        assert float(goal) > total if sign == ">=" else float(goal) < total
        assert " instead of " in run("explain", "run", "--row", row, "--to", f"{sign} {goal}").stdout


@pytest.mark.slow
def test_a_family_that_was_set_is_the_first_thing_to_change(run, homes):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (200, 4))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=X.sum(axis=1) + 0.1)
    frame.to_csv("line.csv", index=False)
    text = " ".join(run("fit", "line.csv", "--target", "y", "--family", "gamma", "--out", "run").stdout.split())
    assert "To try: --family auto (in Python family='auto'), as gamma was set" in text
    assert "gamma was set" not in run("fit", "line.csv", "--target", "y", "--out", "other").stdout.replace("\n", " ")
