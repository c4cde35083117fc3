"""Cards and reports on a page like a notebook's: names do no harm, the report's picture is drawn in its frame."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import creases

EVIL = "<img src=x onerror=alert(1)>"


@pytest.mark.slow
def test_names_do_no_harm_and_a_report_is_drawn_in_its_frame(visit, tmp_path):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = creases.read(nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2)))
    same = creases.compare.similarity({EVIL: net, "b": net}, torch.rand(5, 2))
    cards = [result._repr_html_() for result in (net, creases.plane(net, (-1, 1)), same, creases.report(net))]
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{''.join(cards)}")
    page = visit(offline=True).page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    page.frame_locator("iframe").get_by_role("application").wait_for()
    assert page.get_by_text(EVIL).count() > 0
    assert not dialogs
