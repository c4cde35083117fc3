"""A report in a browser: opened from disk without a network, pointed at, scrubbed, by keyboard, at two widths."""

import re
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from browsing import PALE, SIZES, UNNAMED


@pytest.fixture(params=list(SIZES))
def size(request):
    return request.param


def test_a_report_of_growth_is_read_by_pointer_and_keys(visit, reports, size):
    one = visit(size, offline=True)
    page = one.page
    page.goto(reports("plane"))
    one.drawn()
    track, when = page.locator(".track"), page.locator(".when")
    # time by keys: the start, then the first growth step and its card
    track.focus()
    page.keyboard.press("Home")
    when.filter(has_text=re.compile("^Start")).wait_for()
    page.keyboard.press("PageDown")
    when.filter(has_text=re.compile("^Growth step 1")).wait_for()
    card = page.locator(".card").inner_text()
    assert re.search(r"A unit was added at epoch \d+ because .*\. Its crease was put through \(.*\)", card)
    assert "moment=" in page.url or page.wait_for_url(re.compile("moment=")) is None
    # a unit by keys, and the plane by keys
    page.get_by_role("button", name=re.compile("^Unit 1 of")).focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^Unit 1 of"), pressed=True).wait_for()
    plane, region = page.get_by_role("application"), page.locator(".region")
    plane.focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    facts = re.compile(
        r"Region\s*\d+ of \d+, area .*Predicts.*(upper|lower) moon.*"
        r"Nearest flip.*(upper|lower) moon.*if x[12] (in|de)creases by .*"
        r"In this region.*x1.*Activation pattern\s*[01]+.*Data inside",
        re.DOTALL,
    )
    region.filter(has_text=facts).wait_for()
    page.keyboard.press("+")
    page.get_by_role("button", name="Reset view", exact=True).click()
    page.keyboard.press("Escape")
    # time by dragging, to the network that was kept
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    when.filter(has_text="Final network").wait_for()
    # all is there: the curves, the sections with pictures, the way to load the network
    assert page.locator(".curve").count() == 2
    assert page.locator(".sections img").count() >= 1
    assert "creases.read" in page.locator("body").inner_text()
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(PALE) == []
    assert one.overflows() <= 0
    assert one.asked == [page.url.partition("#")[0]], "nothing is fetched"


def test_pointing_looks_into_regions_and_clicking_keeps_one(visit, reports):
    one = visit()
    page = one.page
    page.goto(reports("plane"))
    one.drawn()
    box = page.locator(".plane").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".region").filter(has_text="Activation pattern").wait_for()
    page.mouse.down()
    page.mouse.up()
    kept = page.locator(".region").inner_text()
    page.mouse.move(5, 5)
    page.wait_for_timeout(300)
    assert page.locator(".region").inner_text() == kept
    one.until("document.querySelectorAll('.plane canvas:not([hidden])').length === 5")  # the way to the flip, too
    # two moments side by side, each with its own curve; dark paper is readable too
    page.get_by_role("button", name="Compare").click()
    page.locator(".track").focus()
    page.keyboard.press("Home")
    page.locator(".pin").filter(has_text="Pinned").wait_for()
    assert page.get_by_role("application").count() == 2
    page.get_by_role("button", name="Dark").click()
    for colors in ("Confidence", "Regions"):
        page.get_by_role("button", name=colors).click()
    assert page.evaluate(PALE) == []
    # the same moment is there again when the address is opened anew
    page.wait_for_url(re.compile("moment=0"))
    page.reload()
    one.drawn()
    page.locator(".when").filter(has_text=re.compile("^Start")).wait_for()


def test_every_stop_of_the_tab_key_is_seen(visit, reports):
    one = visit()
    page = one.page
    page.goto(reports("plane"))
    one.drawn()
    seen = []
    for _ in range(25):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """(() => { const e = document.activeElement, s = getComputedStyle(e);
                const c = e.querySelector?.("circle"), inner = c ? getComputedStyle(c).strokeWidth : "";
                return [e.className?.baseVal ?? e.className, s.outlineStyle !== "none" || inner === "4px"]; })()"""
            )
        )
    assert all(visible for _, visible in seen), seen
    assert any("track" in str(name) for name, _ in seen)
    assert any("plane" in str(name) for name, _ in seen)


def test_a_report_of_one_input_shows_breakpoints_and_changes_of_slope(visit, reports, size):
    one = visit(size, offline=True)
    page = one.page
    page.goto(reports("line"))
    one.drawn()
    line = page.locator("svg.line")
    line.filter(has_text="slope change at breakpoints").wait_for()
    line.focus()
    page.keyboard.press("ArrowRight")
    page.locator(".region").filter(has_text=re.compile(r"In this region.*f = .* x.*pattern", re.DOTALL)).wait_for()
    knot = page.get_by_role("button", name=re.compile("^Breakpoint at")).first
    knot.focus()
    page.keyboard.press("Enter")
    page.locator(".knot.lit").first.wait_for()
    page.get_by_role("button", name="Compare").click()
    assert line.count() == 2
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(PALE) == []
    assert one.overflows() <= 0


def test_a_report_of_more_inputs_shows_slices_with_the_data_near_them(visit, reports):
    one = visit(offline=True)
    page = one.page
    page.goto(reports("slices"))
    one.drawn()
    choice = page.get_by_label("Slice")
    assert choice.locator("option").count() >= 2
    choice.select_option(index=1)
    page.get_by_text("points farther from this slice").wait_for()
    page.locator(".plane").scroll_into_view_if_needed()
    box = page.locator(".plane").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".region").filter(has_text="Nearby data").wait_for()
    page.wait_for_url(re.compile("slice=1"))


def test_a_report_of_a_map_leaves_out_what_is_about_time(visit, reports, size):
    one = visit(size, offline=True)
    page = one.page
    page.goto(reports("map"))
    one.drawn()
    assert page.locator(".timeline, .card, .curve").count() == 0
    assert page.get_by_text("Why this unit").count() == 0
    assert page.evaluate(UNNAMED) == []
    assert one.overflows() <= 0


def test_a_broken_report_says_what_to_do(visit, reports, tmp_path):
    whole = Path(url2pathname(urlparse(reports("plane")).path)).read_text()
    head, mark, tail = whole.partition('id="creases-report">')
    broken = tmp_path / "broken.html"
    broken.write_text(head + mark + tail[400:])
    page = visit().page
    page.goto(broken.as_uri())
    page.get_by_text("Create it again with: creases report").wait_for()
