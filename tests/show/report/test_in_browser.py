"""Maps and comparisons in a browser: regions to point at, networks to choose from, on wide and narrow screens."""

import numpy as np
import pytest

import creases
from browsing import Visit, chromium
from creases.cli.compare import Samples, write_comparison
from creases.compare import similarity
from creases.compare.differences import difference_at_samples
from creases.show.report._maps import write_partition_report

#: Four regions and three, decided at x1 + x2 = 1 and at x1 = 1/2.
CROSS = creases.read([(np.eye(2), np.zeros(2)), ([[0.0, 0.0], [1.0, 1.0]], [1.0, 0.0])])
STRIPES = creases.read([([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.0]), ([[0.0, 0.0], [0.0, 1.0]], [0.5, 0.0])])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page of a map, and that of a comparison."""
    home = tmp_path_factory.mktemp("pages")
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    nets = {"cross": CROSS, "stripes": STRIPES}
    samples = Samples(X, (X[:, 0] > 0.5).astype(np.int64), None, "40 rows")
    changed = difference_at_samples(CROSS, STRIPES, X, samples.y)
    compared = write_comparison(
        similarity(nets, X, y=samples.y), changed, samples, nets, home / "compared", ["creases"]
    )
    return {"map": write_partition_report(creases.plane(CROSS), home / "map.html", name="cross"), "compared": compared}


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser, pages):
    """Opens a page without a network; at the end nothing may have gone wrong on it."""
    kept = []

    def open_page(name, size, scheme):
        found = Visit(browser, size, offline=True, scheme=scheme)
        kept.append(found)
        found.page.goto(pages[name].as_uri())
        found.drawn()
        return found

    yield open_page
    for found in kept:
        found.close()
        assert not found.errors
        assert not [url for url in found.asked if not url.startswith(("file:", "data:", "blob:"))]


def pointed(page, x, y):
    """What is told of the region at a share of the picture's width and height."""
    box = page.locator(".plane").first.bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    found = page.locator(".region dl")
    found.wait_for()
    return found.inner_text()


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "scheme"), [("1280", "light"), ("390", "dark")])
def test_a_map_has_regions_to_point_at_and_sections_that_fit_the_screen(visit, size, scheme):
    found = visit("map", size, scheme)
    page = found.page
    told = pointed(page, 0.85, 0.3)
    assert "of 4" in told
    assert "class 1 = x1 + x2" in told.replace("1 x", "x")
    titles = page.locator(".sections h2").all_inner_texts()
    assert {"Exactness", "Regions", "Predicted classes", "Units", "Dual plot of class 0"} <= set(titles)
    shown = page.locator(".sections img").first
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    assert found.overflows() <= 0
    assert page.locator(".timeline").count() == 0  # nothing in it changes with time


@pytest.mark.thorough
def test_of_a_comparison_each_network_can_be_chosen_and_set_beside_another(visit):
    page = visit("compared", "1280", "dark").page
    assert "of 4" in pointed(page, 0.85, 0.3)
    page.get_by_role("button", name="Compare").click()
    page.locator("select").first.select_option(label="stripes")
    page.get_by_text("3 regions").wait_for()
    assert page.locator(".pin").all_inner_texts() == ["stripes", "Pinned: cross"]
    assert "of 3" in pointed(page, 0.85, 0.3)
    assert page.locator(".sections h2", has_text="Where they disagree").count() == 1
