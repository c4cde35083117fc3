"""Numbers that count time: seconds since 1970 and days of a spreadsheet become what dates become."""

import numpy as np
import pandas as pd
import pytest

import creases
import report_pages
from creases.errors import InputError
from creases.show.report._table_model import write_model_report
from creases.tables import read_table
from creases.tables._columns.dates import CLOCKS

MOMENTS = pd.to_datetime(
    np.random.default_rng(0).integers(1_560_000_000, 1_660_000_000, 400) * 1_000_000_000, unit="ns"
).to_series(index=range(400))


def numbers(clock: str) -> np.ndarray:
    size, start, _ = CLOCKS[clock]
    return ((MOMENTS - pd.Timestamp(start)) / pd.Timedelta(microseconds=size)).to_numpy()


def frame(cells: object, name: str = "when") -> pd.DataFrame:
    return pd.DataFrame({name: cells, "y": np.arange(400) % 7 + 0.5})


@pytest.mark.parametrize("clock", CLOCKS)
def test_numbers_are_encoded_as_the_moments_that_they_count(clock: str) -> None:
    counted, dated = read_table(frame(numbers(clock))), read_table(frame(MOMENTS))
    assert counted.encoding.kinds["when"] == "timestamp"
    assert counted.encoding.describe()["note"][0].startswith(clock)
    assert counted.features == dated.features
    np.testing.assert_allclose(counted.X, dated.X, rtol=0, atol=1e-8)


def test_a_file_reads_them_as_a_data_frame_does(tmp_path) -> None:
    frame(numbers("seconds since 1970").astype(int)).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert table.encoding.kinds["when"] == "timestamp"
    np.testing.assert_array_equal(table.X, read_table(frame(MOMENTS)).X)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("sold", np.linspace(40_000, 45_000, 400)),  # days of a spreadsheet only under the name of a date
        ("lap time", np.linspace(40_000, 45_000, 400)),
        ("when", np.linspace(1e8, 5e9, 400)),  # some are of no year that is likely
        ("x", np.linspace(1.5e9, 1.6e9, 400) + 0.25),  # fractions, and no name
        ("customer_id", np.arange(1_500_000_000, 1_500_000_400)),
    ],
)
def test_other_numbers_are_none(name: str, cells: np.ndarray) -> None:
    assert read_table(frame(cells, name), inputs=[name]).encoding.kinds[name] != "timestamp"


def test_a_user_says_what_numbers_are() -> None:
    seconds = numbers("seconds since 1970")
    assert read_table(frame(seconds), kinds={"when": "number"}).features == ("when",)
    early = read_table(frame(seconds - 1.5e9, "x"), kinds={"x": "timestamp"})
    assert early.encoding.kinds["x"] == "timestamp"
    with pytest.raises(InputError, match="which values such as"):
        read_table(frame(np.full(400, 1e18) + np.arange(400) * 1e15, "x"), kinds={"x": "timestamp"})


def test_the_number_to_predict_is_a_number() -> None:
    table = pd.DataFrame({"a": np.arange(400.0), "created_at": numbers("seconds since 1970")})
    assert read_table(table).encoding.kinds["created_at"] == "number"


def test_numbers_that_cannot_be_are_missing_and_counted() -> None:
    table = read_table(frame(numbers("seconds since 1970")))
    with pytest.warns(UserWarning, match="1 cell read as missing, not timestamps"):
        X = table.encoding.transform(pd.DataFrame({"when": [1e300, 1.6e9, np.nan]})).warn()
    np.testing.assert_array_equal(X[0], X[2])


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["seconds since 1970", "days of a spreadsheet"])
def test_exports_count_time_as_the_model_does(clock: str, tmp_path) -> None:
    hour, weekday, month = MOMENTS.dt.hour, MOMENTS.dt.day_of_week, MOMENTS.dt.month
    table = frame(numbers(clock)).assign(y=np.sin(hour / 4) + (weekday > 4) + month / 6)
    model = creases.fit_table(table, "y")
    for ending in ("py", "sql", "xlsx", "onnx"):
        assert model.export(tmp_path / f"model.{ending}").deviation < 1e-8
    loaded = creases.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    row = table.iloc[:1]
    text = str(model.explain(row))
    assert f"{MOMENTS[0]:%-d %B %Y}" in text


@pytest.mark.slow
def test_hour_and_weekday_of_one_timestamp_act_together(tmp_path) -> None:
    rng = np.random.default_rng(1)
    seconds = 1_600_000_000 + rng.integers(0, 2 * 365 * 86_400, 3000)
    moments = pd.to_datetime(seconds, unit="s")
    y = np.where(moments.day_of_week < 5, 3.0, -1.0) * np.sin(moments.hour * np.pi / 12) + rng.normal(0, 0.3, 3000)
    model = creases.fit_table(pd.DataFrame({"created_at": seconds, "y": y}), "y")
    assert model.scores.iloc[0]["test"] > 0.9
    assert {"created_at hour", "created_at weekday"} in map(set, model.planes)
    assert "hour of created_at and weekday of created_at together" in str(model)
    write_model_report(model, tmp_path / "report.html", model_name="visitors", again="")
    assert "hour of created_at and weekday of created_at" in str(report_pages.read(tmp_path / "report.html"))
