"""A model of a table in the studio, in a browser: knots are dragged, scores follow, files are saved."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from browsing import PALE, UNNAMED, Visit
from creases.cli import app
from studio_wire import Studio


@pytest.fixture(scope="module")
def studio(tmp_path_factory) -> Iterator[Studio]:
    """A studio that opens a model of rides with a curve that bends, a category and a plane."""
    home = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    warm, rain, free = rng.uniform(-5, 38, 400).round(1), rng.gamma(2, 2, 400).round(1), rng.random(400) < 0.4
    rides = 90 + 9 * np.minimum(warm, 50 - warm) + np.where(free, 60 - 9 * rain, -3 * rain) + rng.normal(0, 15, 400)
    days = {"temperature": warm, "rain": rain, "weekend": np.where(free, "yes", "no"), "rides": rides.round()}
    pd.DataFrame(days).to_csv(home / "days.csv", index=False)
    words = ["fit", str(home / "days.csv"), "--target", "rides", "--out", str(home / "run")]
    grown = CliRunner().invoke(app, words)
    assert grown.exit_code == 0, grown.output
    started = Studio(home, str(home / "run"))
    yield started
    assert started.end() == (0, "")


@pytest.fixture(scope="module")
def wide(browser, studio) -> Iterator[Visit]:
    one = Visit(browser, "1280")
    one.page.goto(studio.address)
    one.page.locator(".cards .card").first.wait_for()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def _clean(request) -> Iterator[None]:
    """Each test begins with the model as it was fitted, and leaves no error on the console."""
    yield
    one = request.getfixturevalue("wide") if "wide" in request.fixturenames else None
    while one is not None and changes(one):
        undo(one)
    if one is not None:
        found, one.errors = one.errors, []
        assert found == []


def changes(one: Visit) -> int:
    return one.page.locator(".changes li").count()


def undo(one: Visit) -> None:
    left = changes(one) - 1
    one.page.get_by_role("button", name="Undo").click()
    one.until(f"document.querySelectorAll('.changes li').length === {left}")


def card(one: Visit, name: str):
    return one.page.locator(".card").filter(has=one.page.get_by_role("heading", name=name, exact=True))


def drag(one: Visit, handle, right: float, down: float) -> None:
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    one.page.mouse.move(x, y)
    one.page.mouse.down()
    one.page.mouse.move(x + right / 2, y + down / 2)
    one.page.mouse.move(x + right, y + down)
    one.page.mouse.up()


def height(handle) -> float:
    """Of a knot, as its label says it."""
    return float(handle.get_attribute("aria-label").split(": ")[1].split()[0].strip(".").replace("−", "-"))


def scores(one: Visit) -> list[list[float]]:
    """Before and after, of each part of the rows."""
    rows = one.page.locator(".effect tbody tr").all()
    return [[float(cell.text_content()) for cell in row.locator(".number-cell").all()] for row in rows]


def test_dragging_a_knot_changes_the_scores_and_undo_returns(wide):
    curve = card(wide, "temperature").locator("svg")
    before = curve.inner_html()
    assert "→" not in wide.page.locator(".scoreboard").inner_text()
    drag(wide, card(wide, "temperature").locator(".handle").nth(3), 0, 30)
    wide.page.locator(".effect").first.wait_for()
    held, fitted, *_ = scores(wide)
    assert held[1] < held[0]
    assert fitted[1] < fitted[0]
    assert "→" in wide.page.locator(".scoreboard").inner_text()
    assert re.search(r"\d+ rows of 3\d\d predicted otherwise", wide.page.locator("main").inner_text())
    assert curve.inner_html() != before
    undo(wide)
    assert wide.page.locator(".effect").count() == 0
    assert curve.locator("path").last.get_attribute("d") in before


def test_the_problem_named_is_the_table_that_was_opened(wide):
    panel = wide.page.locator("section").filter(has=wide.page.get_by_role("heading", name="Problem"))
    assert re.search(r"days: 400 rows, predicting rides", panel.inner_text())
    assert "Disc and ring" not in panel.inner_text()


def test_test_scores_are_closed_again_after_each_change(wide):
    def shown() -> bool:
        return wide.page.get_by_text("Test rows (").is_visible()

    wide.page.get_by_role("button", name="Flatten weekend").click()
    wide.until("document.querySelectorAll('.changes li').length === 1")
    assert not shown()
    assert "test" not in wide.page.locator(".scoreboard").inner_text().lower()
    wide.page.get_by_text("Test scores, for the end").click()
    assert shown()
    assert wide.page.get_by_text("invite tuning on them").is_visible()
    handles = card(wide, "temperature").locator(".handle")
    handles.nth(2).focus()
    wide.page.keyboard.press("ArrowUp")
    wide.until("document.querySelectorAll('.changes li').length === 2")
    assert not shown()


def test_a_bar_is_dragged_and_moved_by_keys(wide):
    grip = wide.page.get_by_role("slider", name="weekend, yes")
    before = float(grip.get_attribute("aria-valuenow"))
    drag(wide, grip, 25, 0)
    wide.until("document.querySelectorAll('.changes li').length === 1")
    after = float(grip.get_attribute("aria-valuenow"))
    assert after > before
    assert "for yes" in wide.page.locator(".changes").inner_text()
    grip.focus()
    wide.page.keyboard.press("ArrowLeft")
    wide.until("document.querySelectorAll('.changes li').length === 2")
    assert float(grip.get_attribute("aria-valuenow")) < after


def test_the_keyboard_moves_and_removes_knots(wide):
    handles = card(wide, "temperature").locator(".handle")
    count = handles.count()
    assert count > 3
    rises = []
    for presses in (1, 1, 5):  # the first comes to a round height
        before = height(handles.nth(2))
        handles.nth(2).focus()
        for _ in range(presses):
            wide.page.keyboard.press("ArrowUp")
        wide.until(f"document.querySelectorAll('.changes li').length === {1 + len(rises)}")  # one for quick keys
        rises.append(height(handles.nth(2)) - before)
    assert rises[2] == pytest.approx(5 * rises[1], rel=0.05)
    handles.nth(2).focus()
    wide.page.keyboard.press("Delete")
    wide.until("document.querySelectorAll('.changes li').length === 4")
    assert handles.count() == count - 1


def test_columns_are_flattened_and_planes_forbidden(wide):
    cards = wide.page.locator(".card").count()
    planes = wide.page.get_by_role("button", name=re.compile("^Forbid"))
    assert planes.count() > 0
    planes.first.click()
    wide.until(f"document.querySelectorAll('.card').length === {cards - 1}")
    wide.page.get_by_role("button", name="Flatten weekend").click()
    wide.until("document.querySelectorAll('.changes li').length === 2")
    assert card(wide, "weekend").count() == 0


def test_the_changed_model_is_downloaded_under_its_name(wide):
    wide.page.get_by_role("button", name="Flatten weekend").click()
    wide.until("document.querySelectorAll('.changes li').length === 1")
    wide.page.get_by_label("Name").fill("rides without weekends")
    with wide.page.expect_download() as download:
        wide.page.get_by_role("button", name="ONNX").click()
    assert download.value.suggested_filename == "rides_without_weekends.onnx"


def test_a_page_that_is_loaded_again_keeps_the_changes(wide):
    wide.page.get_by_role("button", name="Flatten weekend").click()
    wide.until("document.querySelectorAll('.changes li').length === 1")
    wide.page.reload()
    wide.page.locator(".changes li").first.wait_for()
    assert "weekend" in wide.page.locator(".changes").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["1280", "390"])
def test_all_of_it_has_a_name_and_contrast_and_fits(visit, studio, size, scheme):
    one = visit(size, scheme=scheme)
    one.page.goto(studio.address)
    one.page.locator(".cards .card").first.wait_for()
    assert one.page.evaluate(UNNAMED) == []
    assert one.page.evaluate(PALE) == []
    assert one.overflows() <= 0


# After all that share one page: a page that opens takes the session over.
def test_on_a_phone_the_effect_and_undo_stay_in_view_while_a_finger_drags_a_knot(visit, studio):
    one = visit("390")
    one.page.goto(studio.address)
    one.page.locator(".cards .card").first.wait_for()
    bar = one.page.get_by_role("region", name="Effect of the changes")
    handle = card(one, "temperature").locator(".handle").nth(3)
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    wire, scrolled = one.context.new_cdp_session(one.page), one.page.evaluate("scrollY")
    for k in range(5):
        event = {"type": "touchMove" if k else "touchStart", "touchPoints": [{"x": x, "y": y + 5 * k, "id": 0}]}
        wire.send("Input.dispatchTouchEvent", event)
    assert re.search(r"temperature at [\d.]+: ", bar.inner_text())
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert one.page.evaluate("scrollY") == scrolled
    one.until("document.querySelectorAll('.changes li').length === 1")
    assert re.search(r"Held-out R2? ?.*→", bar.inner_text().replace("²", "2"))
    place = bar.bounding_box()
    assert place["y"] + place["height"] <= 844
    assert place["y"] > y
    bar.get_by_role("button", name="Undo").click()
    one.until("document.querySelectorAll('.changes li').length === 0")
