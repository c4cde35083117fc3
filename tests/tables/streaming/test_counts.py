"""Counts of very many different texts: bounded memory, an error with a bound, and the categories of memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
import pytest

from creases.errors import InputError
from creases.tables import CurveConfig, read_table
from creases.tables._encoding import columns
from creases.tables._encoding.columns import fit_category
from creases.tables._reading.options import ReadOptions
from creases.tables._streaming import blocks as counts
from creases.tables._streaming.blocks import ValueCounts
from creases.tables._streaming.files import find_files
from creases.tables._streaming.table import open_table

from .conftest import write_parts
from .test_stream import READING


@pytest.mark.parametrize("seed", range(5))
def test_no_count_is_off_by_more_than_its_share_of_the_rows(monkeypatch, seed):
    monkeypatch.setattr(counts, "MOST_VALUES", 40)
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in rng.zipf(1.3, 20_000).clip(0, 5_000)]
    blocks = [ValueCounts.from_values(Counter(words[k : k + 700])) for k in range(0, len(words), 700)]
    total, true = reduce(add, blocks), Counter(words)
    assert len(total.candidates) <= 40
    assert total.n_others > 0
    assert total.counts.total() + total.n_others == len(words)
    for word, count in true.items():
        assert count - len(words) / 40 <= total.counts[word] <= count
    assert {word for word, count in true.items() if count > len(words) / 40} <= set(total.counts)


def test_few_values_are_counted_exactly_with_the_missing_ones():
    blocks = [ValueCounts.from_values(Counter(text)) for text in (["a", "", "b"], ["b", "", ""])]
    total = blocks[0] + blocks[1]
    assert (total.counts, total.n_missing, total.n_others) == ({"a": 1, "b": 2}, 3, 0)
    assert total.candidates is None


def test_values_that_were_not_counted_pool_none_of_the_others():
    learned = fit_category(Counter({"a": 500, "b": 300, "c": 200}), "indicate", 400, n_others=50)
    assert (learned["levels"], learned["rare"], learned["common"]) == (("a", "b", "c"), (), "a")


def make_words(n, rng):
    """Return a table with a column of 25 frequent words of different counts, and hundreds of rare ones."""
    share = np.linspace(1, 2, 25)
    words = np.array([f"often {k}" for k in range(25)])[rng.choice(25, n, p=share / share.sum())].astype(object)
    rare = rng.random(n) < 0.2
    words[rare] = [f"seldom {k}" for k in rng.integers(0, 400, rare.sum())]
    words[rng.random(n) < 0.02] = None
    a = rng.normal(size=n).round(4)
    return pa.table({"a": a, "word": words, "y": (a + (words == "often 3") + rng.normal(size=n)).round(4)})


@pytest.mark.parametrize("missing", ["indicate", "mean", "drop"])
@pytest.mark.usefixtures("small_limits")
def test_rows_with_very_many_texts_are_those_in_memory_bit_for_bit_but_for_the_pool(tmp_path, monkeypatch, missing):
    whole = make_words(4_000, np.random.default_rng(0))
    monkeypatch.setattr(columns, "RARE_SHARE", 80)  # values that are counted at all are not rare
    expected = read_table(whole.to_pandas(), "y", missing=missing)
    monkeypatch.setattr(counts, "MOST_VALUES", 100)
    files, config = find_files(write_parts(whole, tmp_path)), CurveConfig(test_fraction=0)
    with open_table(files, replace(READING, missing=missing), config, engine="serial") as table:
        problem = table.data.problem
        assert problem.features == expected.features
        assert "word=other values" in problem.features
        own = [name != "word=other values" for name in problem.features]  # a text that was not counted is in no column
        np.testing.assert_array_equal(np.unique(problem.X[:, own], axis=0), np.unique(expected.X[:, own], axis=0))
        streamed, memory = (each.encoding.inputs[1] for each in (problem, expected))
        assert (streamed.n_missing, streamed.common) == (memory.n_missing, memory.common)
        assert len(streamed.levels) <= 101 < len(memory.levels)
        assert set(streamed.rare) < set(memory.rare)


@pytest.mark.usefixtures("small_limits")
def test_a_target_of_very_many_classes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "MOST_VALUES", 50)
    whole = make_words(4_000, np.random.default_rng(0))
    files = find_files(write_parts(whole.select(["a", "y", "word"]), tmp_path))
    with (
        pytest.raises(InputError, match="target must have at most 50 classes, got more in column 'word'"),
        open_table(files, ReadOptions(target="word"), CurveConfig(), engine="serial"),
    ):
        pass
