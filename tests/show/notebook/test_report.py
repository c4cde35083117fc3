"""Reports inside notebooks: the page in a sandboxed frame, and as a file."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
import torch
from torch import nn

import creases
from creases import problems
from creases.errors import InputError
from report_pages import parse


class Frame(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        assert tag == "iframe"
        self.frames.append(dict(attrs))


@pytest.fixture(scope="module")
def classifier():
    moons = problems.get("moons", n=120)
    return creases.GrowingClassifier(budget=20, random_state=0).fit(moons.X, moons.y)


@pytest.fixture(scope="module")
def plane():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return creases.plane(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)), (-1, 1))


@pytest.mark.slow
def test_a_partition_is_shown_in_a_frame_that_cannot_reach_the_notebook(plane):
    page = creases.report(plane, height=400)
    assert page.title == f"map: {plane.count} regions"
    (frame,) = Frame(page._repr_html_()).frames
    assert frame["sandbox"] == "allow-scripts allow-downloads"
    assert frame["height"] == "400"
    assert "src" not in frame
    inside = frame["srcdoc"]
    assert inside.replace("<script>history.replaceState = () => {};</script>", "") == page.html


@pytest.mark.slow
def test_the_page_is_saved_as_it_is(plane, tmp_path):
    page = creases.report(plane)
    assert page.save(tmp_path / "map.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(InputError, match=r"path must end in .html, got 'map.txt'"):
        page.save(tmp_path / "map.txt")


def test_networks_and_modules_are_reported_on_in_a_box():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    assert creases.report(module).title == "network: 3 inputs, 4 units"
    flat = creases.read([([[1.0], [-1.0]], [0.0, 2.0]), ([[1.0, 1.0]], [0.0])])
    assert creases.report(flat).title == "network: 2 regions"
    assert creases.report(flat, box=(-3, 3)).title == "network: 3 regions"


@pytest.mark.slow
def test_a_history_and_an_estimator_are_told_whole(classifier):
    history = creases.report(classifier.history_)
    run, _ = parse(history.html)
    found = {section["title"]: section for section in run["sections"]}
    assert found["Curves"]["picture"]["light"].startswith("data:image/png")
    assert classifier.history_.ending in found["Overview"]["text"]
    run, _ = parse(creases.report(classifier).html)
    assert any("The network is 2-" in section.get("text", "") for section in run["sections"])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (creases.GrowingClassifier(), "result must be fitted"),
        (creases.growth.History(), "history must have at least one epoch"),
        ("nowhere", "result must be an existing file or folder"),
        (3, "model must be a torch.nn.Module"),
    ],
)
def test_what_cannot_be_reported_on_is_refused_by_name(result, message):
    with pytest.raises(InputError, match=message):
        creases.report(result)
