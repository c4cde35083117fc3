"""Create ``docs/studio.png``, a screenshot of the studio; needs the ``dev`` extra and chromium."""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_name("studio.png")

#: A unit every fifteen epochs, on the default problem.
SETTINGS = "#when=15"
STEPS = 6


def take_screenshot(address: str) -> bytes:
    """Return the page as PNG, 1280 pixels wide, after some growth steps."""
    with sync_playwright() as driver:
        arguments = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.goto(address + SETTINGS)
        page.get_by_role("button", name="Start", exact=True).click(timeout=60_000)
        page.locator(".steps li").nth(STEPS - 1).wait_for(timeout=300_000)
        page.get_by_role("button", name="Pause", exact=True).first.click()
        page.get_by_role("button", name="Resume").wait_for()
        page.wait_for_timeout(1500)  # for the last frame
        picture = page.screenshot()
        browser.close()
    return picture


def main() -> None:
    command = [sys.executable, "-m", "creases.cli", "studio", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as studio:
        assert studio.stdout is not None
        try:
            picture = take_screenshot(studio.stdout.readline().split()[-1])
        finally:
            studio.terminate()
    colors = Image.open(BytesIO(picture)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    colors.save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
