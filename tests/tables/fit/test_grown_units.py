"""Units of a table that grow one fold at a time: they are found, every reason is true, and words keep it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import creases
from creases import growth
from creases.tables import TableModel
from creases.tables._words.model_text import describe_model

LEFT_OUT = [3, 40]


def make_wave(n: int, seed: int) -> pd.DataFrame:
    """Return a wave along the sum of three columns, in columns of other units, and two columns of nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 5))
    y = 10 * np.sin(6 * X[:, :3].sum(axis=1)) + 0.5 * rng.normal(size=n)
    return pd.DataFrame(
        {"a": 1000 + 500 * X[:, 0], "b": 60 * X[:, 1], "c": X[:, 2], "d": X[:, 3], "e": X[:, 4], "y": y}
    )


@dataclass
class Fitted:
    """A model, its table, and what units grew on last."""

    model: TableModel
    table: pd.DataFrame
    X: Any
    y: Any
    offset: Any
    grown: Any


@pytest.fixture(scope="module")
def fitted() -> Any:
    table = make_wave(1500, 0)
    table.loc[LEFT_OUT, "y"] = np.nan  # rows are numbered as in the table
    calls: list[Any] = []
    real = growth.grow_units

    def watch(X: Any, y: Any, **options: Any) -> Any:
        calls.append((X, y, options["offset"], real(X, y, **options)))
        return calls[-1][-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "grow_units", watch)
        model = creases.fit_table(table, "y")
    return Fitted(model, table, *calls[-1])


def test_a_wave_along_three_columns_is_learned_by_a_few_units(fitted: Fitted) -> None:
    test = make_wave(1000, 1)
    error = fitted.model.predict(test.drop(columns="y")) - test.y
    assert 1 - (error**2).mean() / test.y.var() > 0.95
    assert [step.stage for step in fitted.model.function.steps if step.is_kept] == ["folds"]
    assert fitted.model.function.units is not None
    assert 3 <= len(fitted.model.function.units.biases) <= 15


def test_the_network_has_the_function_of_the_units(fitted: Fitted) -> None:
    X = fitted.model.data.problem.X
    assert np.allclose(np.asarray(fitted.model.network(X)), fitted.model._outputs(X), atol=1e-8)


def test_every_reason_is_true_of_the_rows(fitted: Fitted) -> None:
    units, data = fitted.model.function.units, fitted.model.data
    assert units is not None
    assert data is not None
    assert len(units.reasons) == len(units.biases)
    used = np.concatenate(data.parts[:2])
    scale, center = data.rows.y[used].std(), data.rows.y[used].mean()
    kept = np.flatnonzero(~np.isin(np.arange(len(fitted.table)), LEFT_OUT))
    by_row = {}
    for why in fitted.grown.reasons:
        W, b, V, c = why["units_before"]
        predicted = fitted.offset + np.maximum(fitted.X @ W.T + b, 0) @ V.T + c
        low = (fitted.y - predicted)[:, 0]
        row, alike = why["why"]["instance"], np.array(why["why"]["cluster"]["alike"])
        assert row in alike
        assert (np.sign(low[alike]) == np.sign(low[row])).all()
        target = center + scale * fitted.y[row, 0]
        by_row[len(alike), round(float(scale * low[alike].mean()), 6)] = target
    for k, reason in enumerate(units.reasons):
        assert reason.row is not None
        assert reason.row in kept
        target = by_row[reason.count, round(reason.errors[0], 6)]
        assert fitted.table.y[reason.row] == pytest.approx(target)
        x = fitted.model.encode(fitted.table.iloc[[reason.row]]).X
        assert reason.side == pytest.approx((units.spread(x) @ units.weights[k] + units.biases[k])[0])


def test_each_unit_is_told_by_its_crease_and_its_reason(fitted: Fitted) -> None:
    units = fitted.model.function.units
    assert units is not None
    lines = [line for line in describe_model(fitted.model) if line.startswith("unit ")]
    assert len(lines) == len(units.reasons)
    form = re.compile(r"unit (\d+): (rises|falls) (above|below) (.+) = (\S+); grown because (.+)")
    for k, (line, reason) in enumerate(zip(lines, units.reasons, strict=True)):
        found = form.fullmatch(line)
        assert found, line
        number, what, where, _, value, why = found.groups()
        assert int(number) == k + 1
        assert what == ("rises" if units.outputs[k, 0] > 0 else "falls")
        at = re.search(r"row (\d+) \(at (\S+)\)", why)
        assert at
        assert int(at[1]) == reason.row
        is_above = float(at[2].replace(",", "")) > float(value.replace(",", ""))
        assert (is_above == (where == "above")) == (reason.side > 0)
        assert f"too {'low' if reason.errors[0] > 0 else 'high'}" in why


def test_a_model_that_is_saved_and_loaded_or_edited_keeps_its_reasons(fitted: Fitted, tmp_path: Path) -> None:
    fitted.model.save(tmp_path / "run")
    units = [line for line in describe_model(fitted.model) if line.startswith("unit")]
    loaded = creases.load(tmp_path / "run")
    assert [line for line in describe_model(loaded) if line.startswith("unit")] == units
    edited = fitted.model.edit(flatten=["d"]).model
    assert [line for line in describe_model(edited) if line.startswith("unit")] == units


@pytest.mark.parametrize("is_class", [False, True])
def test_a_table_of_noise_gets_no_units(is_class: bool) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    y = table.a + rng.normal(size=400)
    table["y"] = np.where(y > 0, "yes", "no") if is_class else y
    assert creases.fit_table(table, "y").function.units is None


@pytest.mark.slow
def test_units_of_classes_say_which_classes_rows_were_confused() -> None:
    rng = np.random.default_rng(0)
    X, smoker = rng.uniform(size=(1500, 3)), rng.choice(["no", "yes"], 1500)
    s = X.sum(axis=1) - 0.4 * (smoker == "yes")
    table = pd.DataFrame(X, columns=list("abc")).assign(smoker=smoker, y=np.where(np.sin(4 * s) > 0, "ill", "well"))
    model = creases.fit_table(table, "y")
    assert model.function.units is not None
    lines = [line for line in describe_model(model) if line.startswith("unit ")]
    assert len(lines) == len(model.function.units.biases) <= 8
    assert all(re.search(r"classified as (ill instead of well|well instead of ill)$", line) for line in lines)
    assert any("if smoker is yes)" in line for line in lines)
    assert all(re.match(r"unit \d+: (rises|falls) for well (above|below)", line) for line in lines)
