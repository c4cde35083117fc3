"""Baselines beside a model are those of its rows, or are fitted again."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

import creases
from creases.tables import RunFile, model_baselines
from creases.tables._scores import baselines as stored


@pytest.fixture(scope="module", params=["number", "class"])
def model(request: pytest.FixtureRequest) -> creases.tables.TableModel:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    y = x + 0.1 * rng.normal(size=80) if request.param == "number" else np.where(x > 0, "yes", "no")
    return creases.fit_table(pd.DataFrame({"x": x, "y": y}), "y")


def test_baselines_are_read_as_they_were_written(model, tmp_path) -> None:
    model.save(tmp_path)
    found = stored.load_baselines(tmp_path / RunFile.BASELINES, model.data)
    assert found is not None
    for ours, theirs in zip(model_baselines(model), found, strict=True):
        assert (ours.name, ours.test, ours.error) == (theirs.name, theirs.test, theirs.error)
        np.testing.assert_array_equal(ours.predictions, theirs.predictions)
        assert ours.metrics is not None
        assert theirs.metrics is not None
        assert asdict(ours.metrics) == asdict(theirs.metrics)
        if ours.probabilities is not None:
            np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)


def test_baselines_of_other_rows_or_a_damaged_file_are_not_used(model, tmp_path) -> None:
    model.save(tmp_path)
    path = tmp_path / RunFile.BASELINES
    swapped = creases.fit_table(pd.DataFrame({"x": np.arange(80.0), "y": np.arange(80.0) % 7}), "y")
    assert stored.load_baselines(path, swapped.data) is None
    path.write_bytes(path.read_bytes()[:200])
    assert stored.load_baselines(path, model.data) is None
    path.unlink()
    assert stored.load_baselines(path, model.data) is None


def test_baselines_of_large_tables_are_not_written(model, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(stored, "MOST_NUMBERS", 10)
    model.save(tmp_path)
    assert not (tmp_path / RunFile.BASELINES).exists()
