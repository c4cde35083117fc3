"""The plane's drawing: what a lost WebGL context, a browser without WebGL, fingers and many regions do to it."""

import re

import numpy as np
import pytest

import creases
from creases.show.report._maps import write_map_report

#: The coefficients and the offset in a line about a piece.
NUMBERS = re.compile(r"[+-]? ?[\d.]+(?:e-?\d+)?(?= x|$)")


def test_a_lost_context_is_told_and_the_picture_comes_back(visit, reports):
    one = visit()
    page = one.page
    page.goto(reports("plane"))
    one.drawn()
    page.evaluate(
        """() => { const gl = document.querySelector(".plane canvas").getContext("webgl2");
        window.lose = gl.getExtension("WEBGL_lose_context"); lose.loseContext(); }"""
    )
    page.get_by_text("The graphics driver was reset").wait_for()
    page.locator(".track").focus()
    page.keyboard.press("Home")  # the page goes on
    page.locator(".when").filter(has_text="Start").wait_for()
    page.evaluate("lose.restoreContext()")
    page.get_by_text("The graphics driver was reset").wait_for(state="detached")
    page.keyboard.press("End")
    before = page.evaluate("creasesTiming.frames")
    page.locator(".plane").focus()
    page.keyboard.press("+")
    one.until(f"creasesTiming.frames > {before}")
    box = page.locator(".plane").bounding_box()
    shot = page.screenshot(clip={**box, "x": box["x"] + 100, "y": box["y"] + 100, "width": 200, "height": 200})
    assert len(shot) > 2000, "a picture, not an empty plane"


#: A browser that has no WebGL.
WITHOUT = """HTMLCanvasElement.prototype.getContext = ((usual) => function (kind, ...more) {
  return kind === "webgl2" ? null : usual.call(this, kind, ...more);
})(HTMLCanvasElement.prototype.getContext)"""


def test_a_browser_without_webgl_is_told_and_the_rest_works(visit, reports):
    page = visit().page
    page.add_init_script(WITHOUT)
    page.goto(reports("plane"))
    page.get_by_text("The map needs WebGL2").wait_for()
    page.locator(".track").focus()
    page.keyboard.press("Home")
    page.keyboard.press("PageDown")
    page.locator(".card").filter(has_text="because").wait_for()


def test_two_fingers_zoom(visit, reports):
    one = visit("390")
    page = one.page
    page.goto(reports("plane"))
    one.drawn()
    page.locator(".plane").scroll_into_view_if_needed()
    box = page.locator(".plane").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    wire = one.context.new_cdp_session(page)
    for k, apart in enumerate((40, 60, 80, 100)):
        fingers = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        wire.send("Input.dispatchTouchEvent", {"type": "touchMove" if k else "touchStart", "touchPoints": fingers})
    wire.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.get_by_role("button", name="Reset view").wait_for()
    one.until("Number((new URLSearchParams(location.hash.slice(1)).get('view') ?? ',,0').split(',')[2]) > 2.1")
    zoom = float(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('view').split(',')[2]"))
    assert zoom == pytest.approx(2.5, rel=0.15)


def test_what_is_said_of_a_region_is_what_the_library_computes(visit, tmp_path):
    """The reader, the finder of regions and the pieces, against the network itself at nine points."""
    draw = np.random.default_rng(4).normal
    net = creases.read([(draw(size=(8, 2)), draw(size=8)), (draw(size=(2, 8)), draw(size=2))])
    net.save(tmp_path / "net.safetensors")
    one = visit()
    one.page.goto(
        write_map_report(tmp_path / "net.safetensors", tmp_path / "map.html", box=[(-1, 1), (-1, 1)]).as_uri()
    )
    one.drawn()
    page, point = one.page, np.zeros(2)
    page.get_by_role("application").focus()
    for key, move in {"ArrowLeft": (-0.04, 0), "ArrowUp": (0, 0.04), "ArrowRight": (0.04, 0)}.items():
        for _ in range(3):
            for _ in range(5):
                page.keyboard.press(f"Shift+{key}")
                point = point + move
            pattern = "".join("01"[on] for on in np.ravel(net.unpack(net.pattern(point[None]))).astype(int))
            page.locator(".region").filter(has_text=re.compile(rf"pattern\s*{pattern}(?![01])")).wait_for()
            said = page.locator(".region").inner_text().replace("−", "-")
            for line, value in zip(re.findall(r"= (.*)", said), np.ravel(net(point[None])), strict=True):
                a, b, c = (float(part.replace(" ", "")) for part in NUMBERS.findall(line))
                assert a * point[0] + b * point[1] + c == pytest.approx(value, abs=0.02)
