"""The curve of time behind the last rows of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import creases
from run_exports import run_python


def make_days(trend: float, n: int = 500) -> pd.DataFrame:
    """Return a number that changes by ``trend`` a day, and noise."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=n), "x": x})
    return frame.assign(y=trend * np.arange(n) + x + rng.normal(size=n))


@pytest.mark.parametrize("trend", [0.05, -0.05])
def test_a_trend_goes_on_where_later_rows_say_so(trend, tmp_path):
    frame = make_days(trend)
    later = frame[400:]
    model = creases.fit_table(frame[:400], "y", time="day")
    predicted = model.predict(later)
    assert np.sqrt(np.mean((predicted - later["y"]) ** 2)) < 1.3
    low, high = np.transpose(model.predict_interval(later))
    assert 0.8 < np.mean((low <= later["y"]) & (later["y"] <= high)) <= 1
    far = model.predict([{"day": f"20{year}-01-01", "x": 0.0} for year in (31, 41)])
    assert np.ptp(far) < 0.1  # a trend ends: it goes on for as long again as the table, and months differ a little
    rows = [{"day": str(day.date()), "x": x} for day, x in zip(later["day"], later["x"], strict=True)]
    exported, _ = run_python(model.export(tmp_path / "model.py").path, rows)
    assert np.abs(exported[:, 0].astype(float) - predicted).max() < 1e-9


def test_without_a_trend_or_without_time_the_last_value_stays():
    for trend, time in ((0.0, "day"), (0.05, None)):
        model = creases.fit_table(make_days(trend), "y", time=time)
        days = model.function.curves[model.schema.features.index("day days since 2020-01-01")]
        assert days.knots[-1] < 500


def make_walk(seed: int, n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"day": pd.date_range("2021-03-01", periods=n), "x": rng.normal(size=n)})
    return frame.assign(y=np.cumsum(rng.normal(0, 0.2, n)) + 0.5 * frame["x"] + rng.normal(0, 0.2, n))


def test_a_random_walk_goes_on_from_its_last_level_in_intervals_that_widen():
    held, far_off = [], []
    for seed in range(5):
        frame = make_walk(seed)
        model = creases.fit_table(frame[:400], "y", time="day", refit=True)
        assert "day month" not in model.schema.features  # no month has come again in more than one
        later = frame[400:]
        low, high = np.transpose(model.predict_interval(later))
        assert (high - low)[-1] > 1.5 * (high - low)[0]
        held.append(np.mean((low <= later["y"]) & (later["y"] <= high)))
        far_off.append(np.abs(model.predict(later) - later["y"])[:5].mean())
    assert np.mean(held) > 0.75
    assert np.mean(far_off) < 0.8  # the walk itself goes .2 a day


def test_intervals_of_later_rows_are_the_same_from_a_folder(tmp_path):
    frame = make_walk(0)
    model = creases.fit_table(frame[:400], "y", time="day")
    model.save(tmp_path / "walk")
    again = creases.load(tmp_path / "walk")
    assert np.array_equal(again.predict_interval(frame[400:]), model.predict_interval(frame[400:]))
