"""Tables larger than memory: the same rows, the same model, whatever reads them."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import creases
import report_pages
from creases._engines import start_engine
from creases._engines._local import Serial
from creases.errors import FileError, InputError
from creases.show.report._table_model import write_model_report
from creases.tables import CurveConfig, TableSplit, count_rows, read_table
from creases.tables._encoding.encoding import column_note
from creases.tables._reading.options import ReadOptions
from creases.tables._split.split import row_keys
from creases.tables._streaming import passes
from creases.tables._streaming import table as streamed
from creases.tables._streaming.files import find_files
from creases.tables._streaming.table import copy_rows, open_table

from .conftest import make_table, write_parts

READING = ReadOptions(target="y")


def difference(one, two) -> float:
    """Return by how much the outputs of two models differ at most, on the rows of the first."""
    X = one.data.problem.X
    return float(np.abs(one._outputs(X) - two._outputs(X)).max())


@pytest.mark.slow
@pytest.mark.parametrize("classes", [0, 2, pytest.param(3, marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("small_limits")
def test_the_model_is_that_of_the_table_in_memory(tmp_path, classes):
    whole = make_table(9_000, classes=classes)
    pq.write_table(whole, tmp_path / "whole.parquet")
    memory = creases.fit_table(tmp_path / "whole.parquet", "y")
    stream = creases.fit_table(write_parts(whole, tmp_path), "y", engine="serial")
    assert count_rows(stream) == count_rows(memory)
    assert count_rows(memory)["train"] > 7_000
    assert len(stream.data.train) == 4_200  # stages were chosen on a sample, coefficients fitted to all rows
    n_train = f"{count_rows(memory)['train']:,}"
    assert f"other models in the scores were fitted to a sample of 4,200 of the {n_train} rows" in " ".join(
        stream._facts.notes
    )
    write_model_report(stream, tmp_path / "report.html", model_name="model", again="")
    assert f"a sample of 4,200 of the {n_train} rows" in str(report_pages.read(tmp_path / "report.html"))
    assert stream.schema.encoding.to_dict() == memory.schema.encoding.to_dict()
    assert [step.stage for step in stream.function.steps] == [step.stage for step in memory.function.steps]
    np.testing.assert_allclose(stream.schema.ranges, memory.schema.ranges, rtol=0, atol=0)
    np.testing.assert_allclose(stream.schema.center, memory.schema.center, rtol=1e-12)
    np.testing.assert_allclose(stream.schema.spread, memory.schema.spread, rtol=1e-9)
    assert difference(memory, stream) < 1e-9


@pytest.mark.thorough
@pytest.mark.usefixtures("small_limits")
def test_all_rows_are_fitted_not_only_the_sample(tmp_path):
    pattern = write_parts(make_table(9_000), tmp_path)
    with open_table(find_files(pattern), READING, CurveConfig(), engine="serial") as table:
        from creases.tables._fit.fit_table import fit_curve_model

        names = {"features": table.data.problem.features, "classes": None, "targets": ("y",)}
        options = names | {"encoding": table.data.problem.encoding}
        sampled = fit_curve_model(table.data, CurveConfig(), **options)
        fitted = fit_curve_model(table.data, CurveConfig(), **options, stream=table)
    assert difference(sampled, fitted) > 1e-4


@pytest.mark.thorough
@pytest.mark.usefixtures("small_limits")
def test_class_weights_and_thresholds_are_those_in_memory(tmp_path):
    whole = make_table(9_000, classes=2)
    pq.write_table(whole, tmp_path / "whole.parquet")
    options = {"class_weight": "balanced", "threshold": "f1", "seed": 3}
    memory = creases.fit_table(tmp_path / "whole.parquet", "y", **options)
    stream = creases.fit_table(write_parts(whole, tmp_path), "y", engine="serial", **options)
    assert difference(memory, stream) < 1e-9
    assert stream.schema.threshold == pytest.approx(memory.schema.threshold, abs=1e-9)
    np.testing.assert_allclose(stream.data.class_weights, memory.data.class_weights, rtol=1e-12)


def write_csv(whole, folder):
    text = [f.cast(pa.string()) if pa.types.is_date(f.type) else f for f in whole.columns]
    table = pa.table(dict(zip(whole.column_names, text, strict=True)))
    half = len(whole) // 2
    for k in range(2):
        pyarrow.csv.write_csv(table.slice(half * k, half), folder / f"part-{k}.csv")
    return str(folder / "part-*.csv")


def write_folder(whole, folder):
    (folder / "parts").mkdir()
    write_parts(whole, folder / "parts")
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def write_feather(whole, folder):
    for k in range(2):
        pyarrow.feather.write_feather(whole.slice(1_000 * k, 1_000), folder / f"part-{k}.feather")
    return str(folder / "part-*.feather")


def as_dataset(whole, folder):
    write_parts(whole, folder)
    return pyarrow.dataset.dataset(folder)


def write_categories(whole, folder):
    town = whole["town"].combine_chunks().dictionary_encode()
    return write_parts(whole.set_column(4, "town", town), folder)


WAYS = [write_parts, write_csv, write_folder, write_feather, as_dataset, write_categories]


@pytest.mark.slow
@pytest.mark.parametrize("write", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("missing", ["indicate", "drop"])
@pytest.mark.usefixtures("small_limits")
def test_rows_of_every_format_are_those_in_memory_bit_for_bit(tmp_path, write, missing):
    whole = make_table(2_000)
    data = write(whole, tmp_path)
    expected = TableSplit.from_problem(
        read_table(whole.to_pandas(), "y", missing=missing), CurveConfig(test_fraction=0)
    )
    config = CurveConfig(test_fraction=0)
    with open_table(find_files(data), replace(READING, missing=missing), config, engine="serial") as table:
        assert table.n_train == len(expected.train)
        assert table.data.problem.features == expected.problem.features
        np.testing.assert_array_equal(table.data.rows.X, expected.rows.X)
        np.testing.assert_array_equal(table.data.rows.y, expected.rows.y)
        np.testing.assert_array_equal(table.data.rows.weight, expected.rows.weight)


@pytest.mark.usefixtures("small_limits")
def test_names_of_folders_are_columns(tmp_path):
    whole = make_table(2_000)
    for town in ("Rom", "Ulm"):
        folder = tmp_path / f"town={town}"
        folder.mkdir()
        mask = pa.compute.equal(whole["town"], town)
        pq.write_table(whole.filter(mask).drop_columns(["town"]), folder / "part.parquet")
    with open_table(find_files(tmp_path), READING, CurveConfig(), engine="serial") as table:
        assert {"town=Rom", "town=Ulm"} <= set(table.data.problem.features)


@pytest.mark.usefixtures("small_limits")
def test_repeated_rows_are_sampled_with_their_counts_and_dealt_to_both_parts(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (6_000, 2))
    y = (x.sum(axis=1) + rng.integers(0, 2, 6_000)) % 2
    whole = pa.table({"a": x[:, 0].astype(str), "b": x[:, 1].astype(str), "y": y})
    with open_table(find_files(write_parts(whole, tmp_path)), READING, CurveConfig(), engine="serial") as table:
        train, _, test = table.data.parts
        assert table.data.rows.count[train].sum() == table.n_train
        assert table.data.rows.count[test].sum() == table.n_test
        assert abs(table.n_test - 1_200) < 150
        assert {tuple(row) for row in table.data.rows.X[test]} == {tuple(row) for row in table.data.rows.X[train]}


@pytest.mark.slow
def test_a_small_table_of_many_files_is_fitted_as_one_file(tmp_path):
    whole = make_table(300)
    pq.write_table(whole, tmp_path / "whole.parquet")
    memory = creases.fit_table(tmp_path / "whole.parquet", "y")
    stream = creases.fit_table(write_parts(whole, tmp_path), "y")
    assert stream.function.to_dict() == memory.function.to_dict()


def test_a_file_is_read_in_blocks_if_it_takes_more_than_the_limit(tmp_path):
    pq.write_table(make_table(2_000), tmp_path / "whole.parquet")
    assert find_files(tmp_path / "whole.parquet") is None
    assert find_files(tmp_path / "whole.parquet", max_memory=1e6).label == "whole.parquet"


def test_rows_that_are_kept_do_not_keep_the_rest_of_their_block():
    (batch,) = make_table(9_000).combine_chunks().to_batches()
    few = copy_rows(batch, np.arange(90))
    assert few.equals(batch.slice(0, 90))
    assert few.get_total_buffer_size() < batch.get_total_buffer_size() / 50


class Rounded:
    """A reader of numbers whose sum depends on the order; one process that reads it dies once."""

    n_tasks = 20

    def __init__(self, folder: str = "") -> None:
        self.folder = folder

    def read(self, task):
        mark = Path(self.folder, "ended")
        if self.folder and task == 11 and not mark.exists():
            mark.touch()
            os._exit(1)
        rng = np.random.default_rng(task)
        for _ in range(3):
            yield rng.normal(size=1_000) * 10.0 ** rng.integers(-8, 8)


def total(block):
    return block.sum()


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_a_sum_is_the_same_bit_for_bit_on_any_number_of_processes_one_of_which_dies(tmp_path, n_jobs):
    expected = passes.sum_blocks(Serial(passes.sum_task), total, Rounded())
    assert expected != sum(total(block) for task in range(20) for block in Rounded().read(19 - task))
    engine = start_engine("local", passes.sum_task, 20, n_jobs, None)
    try:
        assert passes.sum_blocks(engine, total, Rounded(str(tmp_path))) == expected
        assert (tmp_path / "ended").exists()
    finally:
        engine.close()


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_parts, pytest.param(write_csv, marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("small_limits")
def test_the_model_is_the_same_bit_for_bit_on_any_number_of_processes(tmp_path, monkeypatch, write):
    monkeypatch.setattr(streamed, "SMALL", 0)  # the first pass is by processes too
    pattern = write(make_table(9_000, classes=2), tmp_path)
    serial, two = (creases.fit_table(pattern, "y", n_jobs=n_jobs) for n_jobs in (1, 2))
    assert serial.function.to_dict() == two.function.to_dict()
    assert serial.schema.encoding.to_dict() == two.schema.encoding.to_dict()
    np.testing.assert_array_equal(serial.schema.center, two.schema.center)


class Readers:
    """A reader of files that says which process read each part, once two processes have begun."""

    def __init__(self, files, folder):
        self.files, self.folder, self.n_tasks = files, folder, files.n_tasks

    def read(self, task):
        Path(self.folder, f"{os.getpid()}").touch()
        end = time.monotonic() + 60
        while len(list(Path(self.folder).iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        yield [(task, os.getpid(), sum(batch.num_rows for batch in self.files.read(task, ["a"])))]


def same(block):
    return block


@pytest.mark.slow
def test_text_files_are_read_by_several_processes(tmp_path):
    files, folder = find_files(write_csv(make_table(2_000), tmp_path)), tmp_path / "processes"
    folder.mkdir()
    engine = start_engine("local", passes.sum_task, files.n_tasks, 2, None)
    try:
        (first, *begun), (second, *_) = passes.sum_blocks(engine, same, Readers(files, folder))
    finally:
        engine.close()
    assert (first, begun[-1], second) == (0, 1_000, 1)
    assert len(list(folder.iterdir())) == 2


def test_keys_of_rows_are_spread_evenly_and_do_not_depend_on_their_order():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    y = np.arange(20_000.0)[:, None]
    keys = row_keys(X, y, 1)
    assert len(np.unique(keys)) == len(keys)
    np.testing.assert_allclose(np.bincount((keys >> np.uint64(60)).astype(int)), 1_250, rtol=0.15)
    np.testing.assert_array_equal(row_keys(X[::-1], y[::-1], 1), keys[::-1])
    assert (row_keys(X, y, 2) != keys).all()


BAD = {
    "'a' with infinite values": (1, "a", lambda n: pa.array([*range(n - 1), np.inf])),
    "no values": (6, "y", lambda n: pa.nulls(n, pa.float64())),
}


@pytest.mark.parametrize("message", BAD)
@pytest.mark.usefixtures("small_limits")
def test_bad_cells_are_refused(tmp_path, message):
    place, name, cells = BAD[message]
    whole = make_table(2_000).set_column(place, name, cells(2_000))
    with pytest.raises(InputError, match=message):
        creases.fit_table(write_parts(whole, tmp_path), "y", engine="serial")


@pytest.mark.usefixtures("small_limits")
def test_bad_arguments_are_refused(tmp_path):
    pattern = write_parts(make_table(2_000), tmp_path)
    with pytest.raises(InputError, match=r"missing values, got 'b' \d+, 'town' \d+; fill them in, drop those rows"):
        creases.fit_table(pattern, "y", missing="error", engine="serial")
    with pytest.raises(InputError, match="table must fit in memory"):
        creases.tables.grow_table(pattern, "y")
    with pytest.raises(FileError, match="no file matches"):
        creases.fit_table(str(tmp_path / "nothing-*.parquet"), "y")
    (tmp_path / "part-9.csv").write_text("a,y\n1,2\n")
    with pytest.raises(InputError, match=r"all of one kind, got \.csv, \.parquet"):
        creases.fit_table(str(tmp_path / "part-*"), "y")
    (tmp_path / "part-8.parquet").write_text("nonsense")
    with pytest.raises(FileError, match=r"cannot read .*part-"):
        creases.fit_table(pattern, "y", engine="serial")


def test_text_files_with_columns_in_another_order_are_refused(tmp_path):
    (tmp_path / "part-0.csv").write_text("a,b,y\n1,2,3\n")
    (tmp_path / "part-1.csv").write_text("b,a,y\n1,2,3\n")
    expected = r"part-1.csv must have the same first row as part-0.csv: a, b, y, got b, a, y; give all files the same"
    with pytest.raises(InputError, match=expected):
        find_files(str(tmp_path / "part-*.csv"))
    (tmp_path / "part-1.csv").write_text("1,2,3\n4,5,6\n")  # no names: its first row would be lost
    with pytest.raises(InputError, match="got 1, 2, 3"):
        find_files(str(tmp_path / "part-*.csv"))


def test_empty_text_files_are_left_out(tmp_path):
    (tmp_path / "part-0.csv").touch()
    (tmp_path / "part-1.csv").write_text("a,y\n1,2\n")
    (tmp_path / "part-2.csv").write_text("a,y\n")
    (tmp_path / "part-3.csv").write_text("a,y\n3,4\n")
    files = find_files(str(tmp_path / "part-*.csv"))
    assert [row for batch in files.read_all(["a", "y"]) for row in batch.to_pylist()] == [
        {"a": "1", "y": "2"},
        {"a": "3", "y": "4"},
    ]


def test_columns_have_types_that_hold_the_values_of_all_files(tmp_path):
    """A column without values in the first file, and one of whole numbers there."""
    pq.write_table(pa.table({"a": pa.nulls(2), "b": [1, 2]}), tmp_path / "part-0.parquet")
    pq.write_table(pa.table({"b": [0.5, 1.5], "a": ["x", "y"]}), tmp_path / "part-1.parquet")
    files = find_files(str(tmp_path / "part-*.parquet"))
    rows = [row for batch in files.read_all(["a", "b"]) for row in batch.to_pylist()]
    assert rows == [{"a": None, "b": 1.0}, {"a": None, "b": 2.0}, {"a": "x", "b": 0.5}, {"a": "y", "b": 1.5}]


@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
def test_texts_are_read_in_blocks_as_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    n = 9_000
    minutes, weight, risk, age = (
        rng.integers(0, 1440, n),
        rng.normal(60, 9, n),
        rng.integers(0, 3, n),
        rng.integers(0, 4, n),
    )
    month, y = rng.integers(0, 40, n), np.sin(minutes / 240) + 0.1 * weight + risk + (age == 2) + rng.normal(size=n)
    whole = pa.table(
        {
            "when": [f"{m // 60:02d}:{m % 60:02d}" for m in minutes],
            "took": [f"{m // 60} h {m % 60}" for m in rng.permutation(minutes)],
            "weight": [f"{w:.1f} kg" if k % 5 else f"{1000 * w:.0f} g" for k, w in enumerate(weight)],
            "risk": np.array(["low", "medium", "high"])[risk],
            "age": np.array(["<18", "18-35", "35-65", "65+"])[age],
            "month": [f"{2020 + m // 12}Q{m % 12 // 3 + 1}" for m in month],
            "code": rng.choice(["B", "A", "C"], n),
            "y": (y + 0.02 * month).round(6),
        }
    )
    pq.write_table(whole, tmp_path / "whole.parquet")
    kinds = {"code": "ordinal"}
    memory = creases.fit_table(tmp_path / "whole.parquet", "y", kinds=kinds)
    stream = creases.fit_table(write_parts(whole, tmp_path), "y", engine="serial", kinds=kinds)
    assert stream.schema.encoding.to_dict() == memory.schema.encoding.to_dict()
    assert [*stream.schema.encoding.kinds.values()] == [
        "time", "duration", "quantity", "ordinal", "interval", "month", "ordinal", "number",
    ]  # fmt: skip
    assert count_rows(stream) == count_rows(memory)
    assert difference(memory, stream) < 1e-9


@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("missing", ["indicate", "drop"])
def test_words_among_numbers_are_counted_in_all_rows_as_in_memory(tmp_path, missing):
    rng = np.random.default_rng(0)
    numbers = [f"{value:.3f}" for value in rng.normal(size=9_000)]
    answers = np.where(rng.random(9_000) < 0.5, "yes", "no").tolist()
    days = [f"2024-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(9_000)]
    for k in (10, 6_000, 8_999):
        numbers[k] = f"about {k}"
    days[7_000] = "soon"
    columns = {"a": numbers, "answer": answers, "day": days, "y": rng.normal(size=9_000)}
    text = [",".join(columns), *map(",".join, zip(*(map(str, each) for each in columns.values()), strict=True))]
    for number in range(3):
        part = [text[0], *text[1 + 3_000 * number : 3_001 + 3_000 * number]]
        (tmp_path / f"part-{number}.csv").write_text("\n".join(part))
    (tmp_path / "whole.csv").write_text("\n".join(text))
    problem = read_table(tmp_path / "whole.csv", target="y", missing=missing)
    files, reading = find_files(str(tmp_path / "part-*.csv")), replace(READING, missing=missing)
    with open_table(files, reading, CurveConfig(), engine="serial") as table:
        notes = {column.name: column_note(column) for column in table.data.problem.encoding.columns}
    assert notes == {column.name: column_note(column) for column in problem.encoding.columns}
    assert notes["a"] == "read with footnote marks, multiples (k, M) and parentheses for minus"
    assert notes["day"].endswith("1 cell read as missing, such as 'soon'")
