"""Create the screenshots of the studio: ``docs/studio-*.png`` and ``docs/studio-table-*.png``.

This needs the ``dev`` extra and chromium. ``python docs/studio.py table`` creates those of a table only.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).parent
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

#: The growth step of the default problem that is shown.
STEP = 5


@contextmanager
def studio(*words: str) -> Iterator[str]:
    """Run a studio; yield its address."""
    command = [sys.executable, "-m", "creases", "studio", *words, "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def take_screenshot(browser: Browser, address: str, prepare: Callable[[Page], None], scheme: str, name: str) -> None:
    """Store a page, 1280 pixels wide, in few colors."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    prepare(page)
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    picture.save(DOCS / name, optimize=True)
    context.close()


def grow_network(page: Page) -> None:
    """Run to the end, and go to one of the growth steps."""
    page.get_by_role("button", name="Start", exact=True).click(timeout=60_000)
    page.get_by_role("button", name="Continue training").wait_for(timeout=300_000)
    page.locator(".track").focus()
    page.keyboard.press("Home")
    for _ in range(STEP):
        page.keyboard.press("PageDown")
    page.locator(".when").filter(has_text=f"Growth step {STEP}").wait_for()
    page.locator(".track").blur()
    page.wait_for_timeout(1500)  # for the last frame


def drag_knot(page: Page) -> None:
    """Raise the last knot of the first curve."""
    page.locator(".cards .card").first.wait_for(timeout=120_000)
    box = page.locator(".card").first.locator(".handle").last.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 18)
    page.mouse.up()
    page.locator(".effect").first.wait_for(timeout=60_000)


def write_table(path: Path) -> None:
    """Write the table of the README."""
    sys.path.append(str(DOCS.parent / "tests"))
    from documents import run_until

    with chdir(path.parent):  # the page saves its picture
        run_until(DOCS.parent / "README.md", "creases.fit_table(")["days"].to_csv(path, index=False)


def main(names: list[str]) -> None:
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        if not names or "network" in names:
            with studio() as address:
                for scheme in ("light", "dark"):
                    take_screenshot(browser, address, grow_network, scheme, f"studio-{scheme}.png")
        if not names or "table" in names:
            table, run = Path(folder) / "days.csv", str(Path(folder) / "rides")
            write_table(table)
            fit = ["fit", str(table), "--target", "rides", "--out", run]
            subprocess.run([sys.executable, "-m", "creases", *fit], check=True, capture_output=True)
            with studio(run) as address:
                for scheme in ("light", "dark"):
                    take_screenshot(browser, address, drag_knot, scheme, f"studio-table-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
