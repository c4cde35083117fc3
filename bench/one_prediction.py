"""One prediction by every way to it: of generated tables, from raw cells.

    python bench/one_prediction.py [--first 0] [--count 500]

Tables by number: gaps, levels, dates, truth values, units, pairs with a gap, repeated rows; some of the rows to predict
have gaps, spaces or unknown levels. Exports get them as the files say: numbers without units, dates of ISO 8601. The
exit status is 1 if a way predicts otherwise.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.tables._model.program import make_program
from creases.tables._streaming import files as streaming
from record import note

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from run_exports import RUNNERS

Make = Callable[[np.random.Generator, int], tuple[Any, Any]]  #: cells, and what they add to the target

GAPS = (None, "", "NA", "n/a", "?", " null ")


def _numbers(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.normal(0, 10.0 ** rng.integers(-2, 4), n).round(int(rng.integers(0, 4)))
    return x, np.abs(x - np.median(x)) / (np.ptp(x) or 1.0)


def _counts(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.poisson(3, n)
    return x, x / 3.0


def _levels(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    names = rng.permutation(["Ulm", "Köln", "a=b", "a: b", "1", "None", "x is missing", "=1+1", "Ulm Süd"])[:4]
    k = rng.integers(0, len(names), n)
    return names[k].astype(object), np.array([0.0, 1.0, -1.0, 0.5])[k]


def _dates(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    days = rng.integers(0, 900, n)
    dates = pd.Timestamp("2021-03-05") + pd.to_timedelta(days, "D")
    text = dates.strftime(str(rng.choice(["%Y-%m-%d", "%d.%m.%Y"]))).to_numpy(object)
    return (text if rng.random() < 0.5 else dates.to_numpy()), days / 450.0


def _truths(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    flag = rng.random(n) < 0.4
    words = np.array([["no", "yes"], ["False", "True"], ["n", "y"]], object)[rng.integers(0, 3)]
    return (flag if rng.random() < 0.5 else words[flag.astype(int)]), 1.0 * flag


def _quantities(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.uniform(0.2, 9.0, n).round(2)
    return np.array([f"{v:g} kg" if v > 1 else f"{1000 * v:.0f} g" for v in x], object), x / 4.0


def _shares(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    x = rng.integers(1, 100, n)
    return np.array([f"{v} %" for v in x], object), x / 50.0


KINDS: tuple[Make, ...] = (_numbers, _counts, _levels, _dates, _truths, _quantities, _shares)
NAMES = ("a", "a=b", "b is missing", "size: all", "c and d", "x0", "month of a", "A ", "predicted y")


@dataclass(frozen=True)
class GeneratedTable:
    """A table to fit and rows to predict."""

    frame: pd.DataFrame
    rows: pd.DataFrame  #: of its input columns: some of its rows, and some with gaps, padding and unknown levels
    target: str


def generate_table(seed: int) -> GeneratedTable:
    """Return the table with a number."""
    rng = np.random.default_rng([53, seed])
    n, d = int(rng.integers(60, 140)), int(rng.integers(2, 6))
    names = list(rng.permutation(NAMES)[:d])
    frame, effects, gaps = pd.DataFrame(index=range(n)), [], []
    for k, name in enumerate(names):
        cells, effect = KINDS[0 if k == 0 else rng.integers(len(KINDS))](rng, n)
        is_gap = rng.random(n) < rng.choice([0.0, 0.25])
        column = pd.Series(cells)
        if is_gap.any() and cells.dtype == object:
            column[is_gap] = [GAPS[k] for k in rng.integers(len(GAPS), size=int(is_gap.sum()))]
        elif is_gap.any():
            column = column.astype(object).mask(is_gap, None) if cells.dtype.kind == "b" else column.mask(is_gap)
        frame[name] = column
        effects.append(np.where(is_gap, 0.0, effect))
        gaps.append(is_gap)
    score = np.sum(effects, axis=0) + 3.0 * effects[0] * gaps[-1] + 2.0 * effects[0] * effects[1]
    score = score + rng.normal(0, 0.1, n)
    kind = rng.integers(3)
    if kind == 0:
        frame["y"] = score.round(3)
    else:
        classes = np.array([["no", "yes"], ["None", "NA"], ["low", "high"]][rng.integers(3)] + ["mid"])
        cuts = np.quantile(score, [0.5] if kind == 1 else [0.3, 0.7])
        frame["y"] = classes[np.digitize(score, cuts)]
    again = frame.iloc[rng.integers(0, n, n // 5)]
    frame = pd.concat([frame, again], ignore_index=True)
    return GeneratedTable(frame, _odd_rows(frame.drop(columns="y"), rng), "y")


def _odd_rows(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of a table, some with other cells: gaps, spaces around a text, a level that it does not have."""
    rows = frame.iloc[rng.integers(0, len(frame), 24)].astype(object).reset_index(drop=True)
    for i, row in enumerate(range(12, 24)):
        place = i % len(frame.columns)
        cell = rows.iat[row, place]
        if isinstance(cell, str) and cell.strip() and i % 3 != 0:
            rows.iat[row, place] = f"  {cell} " if i % 3 == 1 else cell
        else:
            rows.iat[row, place] = None
    return rows


#: Rounding, as a share of the predictions.
NEAR = 1e-9


def predictions(model: Any, rows: Any) -> Any:
    """Return the values (n, 1), or the probabilities (n, classes), of rows."""
    return model.predict(rows)[:, None] if model.classes is None else model.predict_proba(rows)


def to_predictions(model: Any, outputs: Any) -> Any:
    """Return the values or probabilities of outputs (n, m)."""
    if model.classes is None:
        return outputs
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def read_predictions(model: Any, path: Path) -> Any:
    """Return the values or probabilities in a file of predictions."""
    frame = pd.read_csv(path, keep_default_na=False) if path.suffix == ".csv" else pd.read_parquet(path)
    assert frame["row"].tolist() == list(range(len(frame)))
    names = [f"predicted {model.schema.target}"]
    names = names if model.classes is None else [f"probability {name}" for name in model.classes]
    return frame[names].to_numpy(float)


def exported_cell(cell: Any, about: str, suffix: str) -> Any:
    """Return a cell as a file takes it that says so: numbers without units, dates of ISO 8601."""
    if cell is None or cell != cell:
        return None
    text = str(cell).strip()
    if about.startswith("a date"):
        day = re.fullmatch(r"(\d\d)\.(\d\d)\.(\d{4})", text)
        return "{2}-{1}-{0}".format(*day.groups()) if day else text
    if about.startswith("text"):
        return str(cell) if suffix == ".onnx" else cell
    if number := re.fullmatch(r"([\d.]+) (kg|g|%)", text):
        grams = {"kg": 1000.0, "g": 1.0, "%": 1.0}
        unit = re.match(r"a number in (kg|g|%)", about)
        return float(number[1]) * grams[number[2]] / (grams[unit[1]] if unit else 100.0)
    return None if suffix == ".onnx" and isinstance(cell, str) else cell  # it takes nothing but numbers


def export_predictions(model: Any, rows: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Return the values or probabilities in the files of every format."""
    about = {each.name: each.about for each in make_program(model).inputs}
    cells = rows.rename(columns=str.strip)[list(about)]
    ways = {}
    for suffix, run_file in RUNNERS.items():
        export = model.export(folder / f"model{suffix}")
        plain = [
            {name: exported_cell(cell, about[name], suffix) for name, cell in row.items()}
            for row in cells.to_dict("records")
        ]
        ways[suffix] = run_file(export.path, plain, export.names)[0].astype(float)
    return ways


def run(*words: Any) -> None:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output


def compare_ways(table: GeneratedTable, folder: Path) -> None:
    """Compare all ways to a prediction."""
    table.frame.to_csv(folder / "table.csv", index=False)
    table.rows.to_csv(folder / "rows.csv", index=False)
    model = creases.fit_table(table.frame, table.target)
    expected = predictions(model, table.rows)
    ways = {
        "file": predictions(model, folder / "rows.csv"),
        "columns in another order": predictions(model, table.rows[table.rows.columns[::-1]]),
        "mappings": predictions(model, table.rows.to_dict("records")),
        "each row alone": np.concatenate([predictions(model, [row]) for row in table.rows.to_dict("records")]),
        "mapping of lists": predictions(model, table.rows.to_dict("list")),
    }
    parts = model.explain(table.rows).parts.to_numpy(float)
    sums = parts.reshape(len(parts), len(model.function.intercept), -1).sum(axis=2)
    ways["sum of the parts"] = to_predictions(model, model.function.to_outputs(sums))
    for row, each in enumerate(model.explain(table.rows)):
        amounts = each.start + sum(effect.amount for effect in each.effects)
        np.testing.assert_allclose(amounts, each.total, atol=NEAR)  # NaN for more than two classes
        if model.classes is not None:
            share = each.start_probability + sum(effect.share for effect in each.effects)
            known = expected[row, model.classes.index(each.explained)]
            np.testing.assert_allclose([share, each.probability], known, atol=1e-15)  # one of two is 1 less the other
    network = model.network(model.encode(table.rows).X)
    ways["network"] = to_predictions(model, np.exp(network) if model.function.link == "log" else network)
    moves = {
        name: {float(q): (float(q), value) for q, value in zip(curve.knots, curve.values, strict=True)}
        for name, curve in model.curves.items()
    }
    ways["edit of nothing"] = predictions(model.edit(move=moves).model, table.rows)
    model.save(folder / "saved")
    ways["loaded"] = predictions(creases.load(folder / "saved"), table.rows)
    run("predict", folder / "saved", folder / "rows.csv", "--out", folder / "command.csv")
    ways["command"] = read_predictions(model, folder / "command.csv")
    for suffix in (".csv", ".parquet"):
        model.write_predictions(folder / "rows.csv", folder / f"stream{suffix}", engine="serial")
        ways[f"stream to {suffix}"] = read_predictions(model, folder / f"stream{suffix}")
    ways |= export_predictions(model, table.rows, folder)
    for way, other in ways.items():
        np.testing.assert_allclose(other, expected, rtol=NEAR, atol=NEAR * (1 + np.abs(expected).max()), err_msg=way)


def main() -> None:
    """Compare all ways for many tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    streaming.BLOCK_BYTES = 1  # blocks of few rows
    failed = 0
    for number in range(arguments.first, arguments.first + arguments.count):
        with TemporaryDirectory() as folder:
            try:
                compare_ways(generate_table(number), Path(folder))
            except Exception as error:
                failed += 1
                print(f"table {number}: {type(error).__name__}: {str(error).strip()[:2000]}", flush=True)
    print(f"{arguments.count} tables, {failed} of which are predicted in two ways or not at all")
    note("tables", f"{arguments.count}")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
