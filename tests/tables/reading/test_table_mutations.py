"""Mutated CSV files are read, or refused in one sentence; ``bench/tables_fuzz.py`` tries many more."""

import pytest

from table_mutations import run_all


@pytest.mark.slow
def test_mutated_files_are_read_or_refused_in_one_sentence(tmp_path):
    counts = run_all(60, tmp_path)
    assert counts["read"] > 15
    assert counts["refused"] > 5
