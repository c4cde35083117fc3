"""A prediction is one, however it is asked for: the fixed part of bench/one_prediction.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from creases.tables._streaming import files as streaming
from documents import ROOT

sys.path.append(str(ROOT / "bench"))
from one_prediction import compare_ways, generate_table

NUMBERS = [pytest.param(k, marks=pytest.mark.slow if k < 24 else pytest.mark.thorough) for k in range(500)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", NUMBERS)
def test_all_ways_predict_the_same(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BLOCK_BYTES", 1)  # blocks of few rows
    compare_ways(generate_table(number), tmp_path)
