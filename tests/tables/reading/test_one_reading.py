"""One reading of cells for every way in: what a column of a DataFrame is, its cells in a file are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases import TableClassifier
from creases.cli import app
from creases.errors import InputError
from creases.tables import read_table
from creases.tables._streaming import files as streaming


def make_frame(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Return rows of every type that pandas has and creases reads, with gaps in each."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a ": rng.normal(size=n).round(3),
            "count": rng.integers(0, 50, n),
            "member": rng.random(n) < 0.5,
            "vip": pd.array(rng.choice([True, False, None], n), "boolean"),
            "town": rng.choice(["Ulm", " Bonn", "NA", "None", "1"], n),
            "size": rng.choice(["1.5 kg", "800 g", "2 kg", ""], n),
            "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "account": 400000000000000000 + rng.integers(0, 8, n),
            "seats": pd.array(rng.choice([2, 4, 5, None], n), "Int64"),
        }
    )
    frame.loc[rng.random(n) < 0.1, ["a ", "sold"]] = None
    y = frame["a "].fillna(0) + 2.0 * frame["member"] + 0.5 * (frame["town"] == "Ulm") + (frame["account"] % 2)
    return frame.assign(y=(y + rng.normal(0, 0.1, n)).round(4))


def ways_in(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Return rows as a frame, as files, as mappings, and as an array."""
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    lists = frame.astype(object).where(frame.notna(), None)
    return {
        "frame": frame,
        "csv": folder / "rows.csv",
        "parquet": folder / "rows.parquet",
        "mappings": lists.to_dict("records"),
        "mapping of lists": lists.to_dict("list"),
    }


@pytest.mark.parametrize("seed", range(3))
def test_a_table_is_the_same_problem_by_every_way_in(seed: int, tmp_path: Path) -> None:
    frame = make_frame(seed=seed)
    ways = ways_in(frame, tmp_path)
    expected = read_table(ways.pop("frame"), "y")
    assert expected.encoding.kinds["account"] == "category"
    for name in ("csv", "parquet"):
        problem = read_table(ways[name], "y")
        assert problem.encoding.kinds == expected.encoding.kinds
        assert problem.features == expected.features
        np.testing.assert_allclose(problem.X, expected.X)
        assert problem.encoding.read_as_missing == expected.encoding.read_as_missing
    for rows in ways.values():
        encoded = expected.encoding.transform(rows)
        np.testing.assert_allclose(encoded.X, expected.X)
        assert encoded.notes == ()
    array = frame[[column.name if column.name != "a" else "a " for column in expected.encoding.inputs]].to_numpy(object)
    np.testing.assert_allclose(expected.encoding.transform(array).X, expected.X)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_in_blocks_is_read_as_a_whole_one(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 1)  # blocks of 256 rows
    monkeypatch.setattr("creases.tables._streaming.table.KIND_ROWS", 300)
    frame = make_frame(900)
    path = ways_in(frame, tmp_path)[ending]
    whole = creases.fit_table(frame, "y", engine="serial")
    blocks = creases.fit_table(str(path.with_name("row*" + path.suffix)), "y", engine="serial")
    assert blocks.schema.encoding is not None
    assert whole.schema.encoding is not None
    assert blocks.schema.encoding.kinds == whole.schema.encoding.kinds
    assert blocks.schema.features == whole.schema.features
    assert blocks.schema.encoding.read_as_missing == whole.schema.encoding.read_as_missing
    out = blocks.write_predictions(str(path), tmp_path / "out.csv", engine="serial")
    assert out["rows"] == 900
    assert out["notes"] == []
    predicted = pd.read_csv(tmp_path / "out.csv")["predicted y"]
    np.testing.assert_allclose(predicted, blocks.predict(frame))


@pytest.mark.parametrize("names", [["None", "NA"], ["nan", "null", "?"], ["True", "False"], ["1", "NA"], ["None", "x"]])
def test_classes_may_be_called_what_is_missing_elsewhere(names: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = np.array(names)[np.digitize(x, np.linspace(-0.5, 0.5, len(names) - 1))]
    frame = pd.DataFrame({"x": x, "y": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for table in (frame, tmp_path / "rows.csv"):
        model = creases.fit_table(table, "y")
        assert model.data is not None
        assert sorted(model.classes or ()) == sorted(names)
        assert len(model.data.problem.X) == 200
    estimator = TableClassifier(random_state=0).fit(frame[["x"]], frame["y"])
    assert sorted(estimator.classes_) == sorted(names)
    if set(names) & {"NA", "nan", "None"}:
        assert f"not {sorted(names)[0]!r}" in str(model) or "a class unless missing_marks says so" in str(model)


def test_whoever_means_missing_says_so(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": ["1", "-", "3", "NA"] * 30, "y": ["no", "yes", "unknown", "no"] * 30})
    marked = read_table(frame, "y", missing_marks=["-", "unknown"])
    assert marked.classes == ("no", "yes")
    assert marked.encoding.kinds["x"] == "category"  # 1, 3 and NA
    assert marked.encoding.read_as_missing == "30 cells of 'x' (30 '-'), 30 cells of 'y' (30 'unknown')"
    usual = read_table(frame, "y")
    assert usual.classes == ("no", "unknown", "yes")
    none = read_table(frame, "y", missing_marks=[])
    assert none.encoding.read_as_missing == ""
    with pytest.raises(InputError, match="missing_marks"):
        read_table(frame, "y", missing_marks="-")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    result = CliRunner().invoke(
        app,
        ["fit", str(tmp_path / "rows.csv"), "--target", "y", "--missing-mark", "-", "--missing-mark", "unknown",
         "--out", str(tmp_path / "run")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    said = "read as missing: 30 cells of 'x' (30 '-'), 30 cells of 'y' (30 'unknown')"
    assert said in " ".join(result.output.split())
    loaded = creases.load(tmp_path / "run")
    assert said in str(loaded)
    assert said in " ".join((tmp_path / "run" / "report.txt").read_text().split())
    assert loaded.encode([{"x": "-"}]).X.tolist() == marked.X[1:2].tolist()


def test_truth_values_are_read_alike_beside_texts() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"flag": rng.random(100) < 0.5, "z": rng.normal(size=100)})
    model = creases.fit_table(frame.assign(y=3.0 * frame["flag"] + frame["z"]), "y")
    rows = [{"flag": flag, "z": z} for flag, z in zip([True, "no way", "TRUE", 1, "1", "0.0"], range(6), strict=True)]
    with pytest.warns(creases.errors.ColumnWarning, match="'no way'"):
        values = model.predict(rows)
    whole = model.predict(
        [{"flag": flag, "z": z} for flag, z in zip([True, None, True, True, True, False], range(6), strict=True)]
    )
    assert np.array_equal(values, whole)


def test_an_empty_line_keeps_the_numbers_of_rows(tmp_path: Path) -> None:
    frame = make_frame(60)
    model = creases.fit_table(frame, "y")
    model.save(tmp_path / "run")
    lines = frame.to_csv(index=False).splitlines()
    text = "\n\n" + "\n".join([*lines[:3], "", *lines[3:], "", "", ""])
    (tmp_path / "rows.csv").write_text(text)
    predicted = model.predict(tmp_path / "rows.csv")
    assert len(predicted) == 61
    np.testing.assert_allclose(np.delete(predicted, 2), model.predict(frame))
    summary = model.write_predictions(tmp_path / "rows.csv", tmp_path / "out.csv", engine="serial")
    assert summary["rows"] == 61
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["predicted y"], predicted)
    arguments = ["predict", str(tmp_path / "run"), str(tmp_path / "rows.csv"), "--out", str(tmp_path / "p.csv")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    written = pd.read_csv(tmp_path / "p.csv")
    assert written["row"].tolist() == list(range(61))
    np.testing.assert_allclose(written["predicted y"], predicted)


def test_spaces_around_names_do_not_count(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a ": np.arange(40.0) % 7, " b": np.arange(40) % 3, "y": np.arange(40.0) % 7})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for table, target in ((frame, "y"), (tmp_path / "rows.csv", " y ")):
        model = creases.fit_table(table, target, drop=["b "])
        assert model.schema.features == ("a",)
        assert np.array_equal(model.predict(frame), model.predict(tmp_path / "rows.csv"))
    with pytest.raises(InputError, match="different name"):
        read_table(frame.assign(b=1.0), "y")


def test_long_account_numbers_are_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    accounts = 400000000000000000 + np.arange(30)
    account = rng.choice(accounts, 300)
    frame = pd.DataFrame({"account": account, "z": rng.normal(size=300)})
    frame["y"] = (account % 5) + 0.1 * frame["z"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = creases.fit_table(frame, "y")
    assert model.schema.encoding is not None
    assert model.schema.encoding.kinds["account"] == "category"
    assert model.scores.loc["curves" if "curves" in model.scores.index else model.scores.index[0], "test"] > 0.9
    assert np.array_equal(model.predict(tmp_path / "rows.csv"), model.predict(frame))
    assert np.array_equal(model.predict([{"account": int(a), "z": 0.0} for a in accounts]),
                          model.predict([{"account": str(a), "z": 0.0} for a in accounts]))  # fmt: skip


def test_long_numbers_that_differ_as_numbers_are_numbers() -> None:
    stamps = 1_700_000_000_000_000_000 + 10**15 * np.arange(50)
    problem = read_table(pd.DataFrame({"at": stamps, "y": np.arange(50.0)}), "y")
    assert problem.encoding.kinds["at"] == "number"
    assert np.array_equal(problem.X[:, 0], stamps.astype(float))


def test_half_a_letter_is_refused_in_one_line_wherever_a_table_is_read() -> None:
    frame = make_frame()[["town", "seats", "y"]]
    model = creases.fit_table(frame, "y", n_jobs=1)
    odd, row = frame.assign(town=pd.Series(["\ud800"] * len(frame), dtype=object)), {"town": "\ud800", "seats": 2}
    named = frame.set_axis(pd.Index(["\ud800", "seats", "y"], dtype=object), axis=1)
    calls = [(creases.fit_table, table, "y") for table in (odd, named)]
    for call, *given in [
        *calls,
        *((model.predict, r) for r in (odd, row, [row], [["\ud800", 2]], {"town": ["\ud800"]})),
    ]:
        with pytest.raises(InputError, match=r"must be text of whole letters, got half of a surrogate pair, '\\ud800'"):
            call(*given)
