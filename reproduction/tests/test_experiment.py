from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from creases.errors import FileError, InputError, ReadError
from creases_reproduction.experiment import ResultTable, check_scale, read_table, stored_table, write_table
from creases_reproduction.statistics import add_rates, explained_variance, mean_interval


def test_rates_have_wilson_intervals():
    table = add_rates(pd.DataFrame({"successes": [0, 7, 10], "trials": [10, 10, 10]}))
    z, n, p = 1.959963984540054, 10, np.array([0, 0.7, 1])
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    np.testing.assert_allclose(table["low"], np.maximum(middle - half, 0) / (1 + z**2 / n), atol=1e-12)
    np.testing.assert_allclose(table["high"], (middle + half) / (1 + z**2 / n), atol=1e-12)
    np.testing.assert_allclose(table["rate"], p)


def test_a_means_interval_holds_it_and_narrows_with_more_values():
    drawn = np.random.default_rng(0).normal(3, 1, 400)
    low, high = mean_interval(drawn)
    assert low < drawn.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * drawn.std() / 20, rel=0.1)
    assert mean_interval([2.0, 2.0]) == (2.0, 2.0)
    assert np.isnan(mean_interval([1.0, np.nan])).all()


def test_a_coordinate_explains_what_follows_it_and_no_noise():
    noise, t = np.random.default_rng(0).normal(size=2000), np.arange(2000.0)
    assert explained_variance(np.sin(t / 500), t) > 0.99
    assert abs(explained_variance(noise, t)) < 0.02
    assert np.isnan(explained_variance(np.ones(50), t[:50]))


def test_a_result_is_read_as_it_was_written(tmp_path):
    table = pd.DataFrame({"kind": ["none", "a; b: 1"], "rate": [0.25, np.nan], "count": [1, 2], "yes": [True, False]})
    path = write_table(ResultTable(table, {"command": "python -m one: two", "seed": "0"}), tmp_path / "one.csv")
    assert path.read_text().startswith("# command: python -m one: two\n# seed: 0\nkind,rate,")
    back = read_table(path)
    assert back.about == {"command": "python -m one: two", "seed": "0"}
    pd.testing.assert_frame_equal(back.table, table)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*nothing\.csv"):
        read_table(tmp_path / "nothing.csv")
    (tmp_path / "empty.csv").write_text("# seed: 0\n")
    with pytest.raises(ReadError, match=r"cannot read .*empty\.csv as the table of an experiment"):
        read_table(tmp_path / "empty.csv")
    with pytest.raises(InputError, match="name must be a table that comes with the package, got 'nothing'"):
        stored_table("nothing")
    with pytest.raises(InputError, match="scale must be 'quick' or 'full', got 'huge'"):
        check_scale("huge")
