"""Every code block of the README runs, in order, in one folder, and shows something."""

import json
import re

import pytest

from documents import ROOT, blocks, run_blocks, run_until

README = (ROOT / "README.md").read_text()
REASON, MODEL = (text for language, text in blocks(ROOT / "README.md") if language == "text")


@pytest.mark.slow
def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(ROOT / "README.md")
    for name in ("curves.png", "map.png", "run/growth.png", "run.html", "safety.png", "difference.png"):
        assert (tmp_path / name).stat().st_size > 1000
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    linear = metrics["baselines"]["LogisticRegression"]["accuracy"]
    assert metrics["network"]["test"]["accuracy"] > linear + 0.05


@pytest.mark.slow
def test_the_reason_of_a_growth_step_is_the_one_that_is_quoted_but_for_numbers(capsys):
    run_until(ROOT / "README.md", "creases.grow(")
    assert re.sub(r"[-.\d]", "", capsys.readouterr().out).split() == re.sub(r"[-.\d]", "", REASON).split()


@pytest.mark.slow
def test_the_model_of_the_table_reads_as_it_is_quoted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_until(ROOT / "README.md", "creases.fit_table(")
    quoted = MODEL.splitlines()
    printed = capsys.readouterr().out.splitlines()[-len(quoted) :]
    scores = [dict(line.rsplit(maxsplit=1) for line in lines[:4]) for lines in (printed, quoted)]
    assert {name: float(score) for name, score in scores[0].items()} == {
        name: pytest.approx(float(score), abs=0.01) for name, score in scores[1].items()
    }
    assert [line.split(":")[0] for line in printed[4:]] == [line.split(":")[0] for line in quoted[4:]]


@pytest.mark.slow
def test_the_first_map_shows_both_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    partition = run_until(ROOT / "README.md", "creases.plane(")["partition"]
    areas = partition.boundary().areas()
    assert partition.count > 10
    assert min(areas) > 0.2 * sum(areas)


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
