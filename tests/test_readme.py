"""Every code block of the README runs, in order, in one folder, and shows something."""

import json
import re

import pytest

from documents import ROOT, run_blocks, run_until

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(ROOT / "README.md")
    for name in ("map.png", "run/growth.png", "run.html", "safety.png", "difference.png"):
        assert (tmp_path / name).stat().st_size > 1000
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    linear = metrics["baselines"]["LogisticRegression"]["accuracy"]
    assert metrics["network"]["test"]["accuracy"] > linear + 0.05


@pytest.mark.slow
def test_the_first_map_shows_both_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    partition = run_until(ROOT / "README.md", "creases.plane(")["partition"]
    areas = partition.boundary().areas()
    assert partition.count > 10
    assert min(areas) > 0.2 * sum(areas)


def test_the_first_thing_after_the_badges_is_a_picture_smaller_than_300_kb():
    _, badges, first, *_ = README.split("\n\n")
    assert all("badge" in line for line in badges.splitlines())
    path = re.fullmatch(r"!\[.*\]\((.*)\)", first)[1]
    assert (ROOT / path).read_bytes().startswith(b"\x89PNG")
    assert (ROOT / path).stat().st_size < 300_000


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\((?!https:)([^)]*)\)", README))))
def test_links_lead_somewhere(path):
    assert (ROOT / path).exists()


def test_links_out_of_the_project_are_badges():
    assert all("badge" in link or link.endswith("/ci.yml") for link in re.findall(r"\((https:[^)]*)\)", README))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(creases/[\w/]+\.py)`", README))))
def test_files_named_exist(path):
    assert (ROOT / "src" / path).is_file()
