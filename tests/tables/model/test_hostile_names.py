"""Names are data: none is run, none makes a wrong number, none ends in a traceback."""

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from hostile_tables import hostile_tables, walk


def run_series(count: int, folder: Path) -> tuple[Counter[tuple[str, str]], dict[tuple[str, str], str]]:
    """Return how many faults of each kind there are in so many tables, and the first of each."""
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}

    @settings(max_examples=count, suppress_health_check=list(HealthCheck), database=None, deadline=None)
    @given(hostile_tables())
    def series(table: object) -> None:
        place = folder / str(counts["tables", ""])
        place.mkdir()
        os.chdir(place)
        counts["tables", ""] += 1
        for fault in walk(table, place):
            counts[fault.kind, fault.where] += 1
            first.setdefault((fault.kind, fault.where), f"{fault.what}\n    {table!r:.1500}")

    series()
    return counts, first


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.thorough)])
def test_hostile_names_pass_through_everything_as_text(count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    counts, first = run_series(count, tmp_path)
    text = "\n".join(f"{number:6} {kind}: {where}" for (kind, where), number in sorted(counts.items()))
    examples = "\n".join(f"{kind}: {where}: {what}" for (kind, where), what in first.items())
    print(f"{text}\n\n{examples}")
    assert not [kind for kind, _ in counts if kind in ("executed", "wrong", "traceback")], f"{text}\n\n{examples}"
