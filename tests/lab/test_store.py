"""A sweep's folder: one definition, parts that are whole, merges that lose nothing."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from creases.errors import FileError, InputError
from creases.lab import Sweep
from creases.lab._sweeps import parts, store
from creases.lab._sweeps.functions import Outcome
from creases.lab._sweeps.store import Store

DEFINITION = {"function": "m:f", "seed": 0, "jobs": {"x": [1, 2, 3]}}


def outcome(**row):
    return Outcome([row], None, 0.1)


def rows(folder):
    table = Store(folder).records()
    return dict(zip(table[parts.KEY].to_pylist(), table["a"].to_pylist(), strict=True))


def test_parts_are_merged_and_merging_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_LOOSE_PARTS", 3)
    one = Store(tmp_path)
    with one.open_for_writing(DEFINITION):
        for number in range(8):
            one.add([f"k{number}"], [outcome(a=number)], 0.0)
        assert parts.spans(one.parts) == [(0, 2), (3, 5), (6, 6), (7, 7)]
        before = rows(tmp_path)
        one.merge()
    assert [path.name for path in one.parts.iterdir()] == ["00000000-00000007.parquet"]
    assert rows(tmp_path) == before == {f"k{number}": number for number in range(8)}


def test_what_a_killed_merge_left_does_not_count_twice(tmp_path):
    one = Store(tmp_path)
    with one.open_for_writing(DEFINITION):
        for number in range(3):
            one.add([f"k{number}"], [outcome(a=number)], 0.0)
        left = {path: path.read_bytes() for path in one.parts.iterdir()}
        one.merge()
    for path, content in left.items():
        path.write_bytes(content)
    (one.parts / ".00000003-00000003-abc.parquet").write_bytes(b"half a fi")
    (tmp_path / ".progress-abc.json").write_bytes(b"{")
    assert rows(tmp_path) == {"k0": 0, "k1": 1, "k2": 2}
    with Store(tmp_path).open_for_writing(DEFINITION):
        assert [path.name for path in one.parts.iterdir()] == ["00000000-00000002.parquet"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "parts", "sweep.json"]


def test_the_later_record_of_a_job_counts(tmp_path):
    one = Store(tmp_path)
    with one.open_for_writing(DEFINITION):
        one.add(["k0", "k1"], [Outcome([], "broken"), outcome(a=1)], 0.0)
        assert one.states() == {"k0": True, "k1": False}
        one.add(["k0"], [Outcome([{"a": 5}, {"a": 6}])], 0.0)
        assert one.states() == {"k0": False, "k1": False}
        one.merge()
    assert sorted(Store(tmp_path).records()["a"].to_pylist()) == [1, 5, 6]


def test_parts_can_be_read_by_anyone(tmp_path):
    Sweep(lambda x: {"half": x / 2}, {"x": [1, 2]}, tmp_path).run(engine="serial")
    (path,) = tmp_path.glob("parts/*.parquet")
    assert sorted(pq.read_table(path)["half"].to_pylist()) == [0.5, 1.0]


def test_a_damaged_part_is_named(tmp_path):
    one = Sweep(lambda x: {"half": x / 2}, {"x": [1, 2]}, tmp_path)
    one.run(engine="serial")
    (path,) = tmp_path.glob("parts/*.parquet")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(FileError, match=r"0000.*parquet: it is damaged .*; remove it to run its jobs again"):
        one.table()
    path.unlink()
    assert one.run(engine="serial").done == 2


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("sweep.columns", ['["half"]', "[\n"], "it is damaged .*remove it to run its jobs again"),
        ("sweep.columns", ['["half"]', '["third"]'], "the column sweep.columns must list columns of the table"),
        ("sweep.columns", ['["half"]', None], "the column sweep.columns must have no missing values"),
        ("sweep.row", ["a", "b"], "the column sweep.row must be of type int64, got string"),
        ("sweep.key", ["a", "b"], "it has results of a job that is not of this sweep"),
    ],
)
def test_a_forged_part_is_refused_in_words(tmp_path, name, values, words):
    one = Sweep(lambda x: {"half": x / 2}, {"x": [1, 2]}, tmp_path)
    one.run(engine="serial")
    (path,) = tmp_path.glob("parts/*.parquet")
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(name), name, pa.array(values)), path)
    for use in (one.table, one.status):
        with pytest.raises(FileError, match=words):
            use()


def test_a_changed_letter_of_a_part_is_noticed(tmp_path):
    one = Sweep(lambda x: {"half": "one" if x == 1 else "three"}, {"x": [1, 3]}, tmp_path)
    one.run(engine="serial")
    (path,) = tmp_path.glob("parts/*.parquet")
    content = path.read_bytes()
    assert content.count(b"three") > 0
    path.write_bytes(content.replace(b"three", b"seven", 1))
    with pytest.raises(FileError, match="damaged"):
        one.table()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"function": "m:g"}, "function must be m:f, as in the sweep in .*, got m:g; give another"),
        ({"seed": 1}, "seed must be 0, as in the sweep in .*, got 1"),
        (
            {"jobs": {"x": [2, 3, 4, 5]}},
            "jobs must be the 3 jobs .*, got 4 jobs, of which 2 are not among those, and without 1",
        ),
    ],
)
def test_another_definition_is_refused(tmp_path, change, error):
    with Store(tmp_path).open_for_writing(DEFINITION):
        pass
    with pytest.raises(InputError, match=error), Store(tmp_path).open_for_writing(DEFINITION | change):
        pass


def test_the_order_of_jobs_is_no_other_definition(tmp_path):
    with Store(tmp_path).open_for_writing(DEFINITION):
        pass
    with Store(tmp_path).open_for_writing(DEFINITION | {"jobs": [{"x": 3}, {"x": 1}, {"x": 2}]}):
        pass


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"creases-sweep": 99}', "version 99, expected 1"),
        (json.dumps({"creases-sweep": 1, "digest": "0", **DEFINITION}), "its digest does not match its content"),
    ],
)
def test_a_damaged_definition_is_told(tmp_path, content, error):
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(FileError, match=error):
        Sweep.open(tmp_path)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"cannot write to .*file: it is a file; give the name of a folder"):
        Sweep(lambda x: {}, {"x": 1}, tmp_path / "file").run(engine="serial")
    with pytest.raises(FileError, match=r"cannot open .*file: it is a file; give the folder of a sweep"):
        Sweep.open(tmp_path / "file")


def test_a_folder_that_cannot_be_written_is_refused():
    with pytest.raises(FileError, match="cannot write to /proc/sweep: "):
        Sweep(lambda x: {}, {"x": 1}, "/proc/sweep").run(engine="serial")


def test_a_folder_that_can_only_be_read_is_refused(tmp_path, monkeypatch):
    def refuse(self, timeout):
        raise PermissionError(13, "Permission denied")

    one = Sweep(lambda x: {"a": 1}, {"x": 1}, tmp_path)
    one.run(engine="serial")
    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    assert one.status().running is None
    assert len(one.table()) == 1
    with pytest.raises(FileError, match=r"cannot write to .*: Permission denied"):
        one.run(engine="serial")
