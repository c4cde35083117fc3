"""Every code block of the README runs, in order, in one folder, and prints what is quoted."""

import json
import re

import pytest

from documents import ROOT, run_blocks

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_every_block_runs_and_prints_what_is_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    partition = run_blocks(ROOT / "README.md")["partition"]
    for name in ("curves.png", "map.png", "run/growth.png", "run.html", "safety.png", "difference.png"):
        assert (tmp_path / name).stat().st_size > 1000
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    linear = metrics["baselines"]["LogisticRegression"]["accuracy"]
    assert metrics["network"]["test"]["accuracy"] > linear + 0.05
    areas = partition.boundary().areas()
    assert partition.count > 10
    assert min(areas) > 0.2 * sum(areas), "the first map shows both classes"


def test_the_first_thing_is_a_picture_smaller_than_300_kb():
    _, first, *_ = README.split("\n\n")
    path = re.fullmatch(r"!\[.*\]\((.*)\)", first)[1]
    assert (ROOT / path).read_bytes().startswith(b"\x89PNG")
    assert (ROOT / path).stat().st_size < 300_000


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\((?!https:)([^)]*)\)", README))))
def test_links_lead_somewhere(path):
    assert (ROOT / path).exists()


def test_no_link_leads_out_of_the_project():
    assert not re.findall(r"\((https:[^)]*)\)", README)
