"""Every code block of the README runs, in order, in one folder."""

import re

import pytest

from documents import ROOT, run_blocks

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(ROOT / "README.md")
    for name in ("map.png", "map.svg", "map.npz"):
        assert (tmp_path / name).stat().st_size > 1000


def test_the_first_thing_is_a_picture_smaller_than_300_kb():
    first = README.split("\n\n")[1]
    path = re.fullmatch(r"!\[.*\]\((.*)\)", first)[1]
    assert (ROOT / path).read_bytes().startswith(b"\x89PNG")
    assert (ROOT / path).stat().st_size < 300_000


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)]*)\)", README))))
def test_links_lead_somewhere(path):
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(creases/[\w/]+\.py)`", README))))
def test_files_named_exist(path):
    assert (ROOT / "src" / path).is_file()
