"""The pages "Reproduction" and "Misprints" show the stored results."""

from __future__ import annotations

from creases_reproduction.pages import PAGES, claims_with_figure, figure_path, page_texts


def test_the_pages_are_as_fresh_as_the_results():
    stale = [path.name for path, text in page_texts().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python -m creases_reproduction.pages"


def test_every_figure_is_there_and_no_other_and_all_are_small():
    sizes = {path: path.stat().st_size for path in PAGES.rglob("*.png")}
    assert set(sizes) == {figure_path(claim) for claim, _ in claims_with_figure()}
    assert sum(sizes.values()) < 2_000_000


def test_a_page_shows_what_was_printed_what_was_measured_and_how_to_run_it():
    page = page_texts()[PAGES / "splines.md"]
    section = page[page.index("## splines/theorem-4b") :]
    section = section[: section.index("\n## ")]
    assert "**Printed:** 1 - exp(-N^2 / (H + 1))" in section
    assert "**Disagrees.**" in section
    assert "| N = 20, H = 800 | 0.3931 |" in section
    assert "![splines/theorem-4b](splines/theorem-4b.png)" in section
    assert "`creases reproduce splines/theorem-4b --scale full`" in section
    assert "[splines/theorem-4](../misprints.md#splines-theorem-4)" in section
