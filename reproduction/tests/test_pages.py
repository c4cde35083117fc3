"""The pages "Reproduction" and "Misprints" are those of the stored results."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("docs_reproduction", DOCS / "reproduction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_as_fresh_as_the_results(made):
    stale = [path.name for path, text in made.pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/reproduction.py"


def test_every_picture_is_there_and_no_other_and_all_are_small(made):
    pictures = {f"{claim.id}.png" for claim, _ in made.pictures()}
    found = {path.name: path.stat().st_size for path in made.PAGES.glob("*.png")}
    assert set(found) == pictures
    assert sum(found.values()) < 2_000_000


def test_a_page_tells_what_was_printed_what_we_got_and_how_to_run_it(made):
    page = made.pages()[made.PAGES / "003.md"]
    part = page[page.index("## splines/theorem-4b") :]
    part = part[: part.index("\n## ")]
    assert "**Printed:** 1 - exp(-N^2 / (H + 1))" in part
    assert "**Disagrees.**" in part
    assert "| N = 20, H = 800 | 0.3931 |" in part
    assert "![splines/theorem-4b](splines/theorem-4b.png)" in part
    assert "`creases reproduce splines/theorem-4b --scale full`" in part
    assert "[splines/theorem-4](../misprints.md#c003-theorem-4)" in part
