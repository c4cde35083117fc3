"""Pages in Debian's Chromium, with software GL: what they complained of and asked for is kept."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

#: Software GL draws what a page draws by WebGL; the page itself is composed without it, in half the time.
ARGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing")

#: Widths and heights at which pages must be usable.
SIZES = {"1280": (1280, 800), "390": (390, 844)}

#: Milliseconds that a page is waited for: a busy machine is slow, a broken page waits for ever.
PATIENCE = 60_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; whoever asks for it is skipped where it, or playwright, is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright (creases[dev])")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("browser tests need chromium (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(ARGS))
        yield browser
        browser.close()


class Visit:
    """One page, with its errors and its requests."""

    def __init__(self, browser: Browser, size: str = "1280", *, offline: bool = False, scheme: str = "light") -> None:
        width, height = SIZES[size]
        self.width = width
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height},
            offline=offline,
            color_scheme=scheme,
            reduced_motion="reduce",
            has_touch=width < 500,
            accept_downloads=True,
        )
        self.context.set_default_timeout(PATIENCE)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def drawn(self) -> None:
        """Wait for the first picture of a network."""
        self.until("window.creasesTiming?.first > 0 || document.querySelector('svg.line .function') !== null")

    def until(self, expression: str) -> None:
        """Wait until this is so; the studio forbids its pages to evaluate text, so that they cannot wait themselves."""
        end = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, expression
            self.page.wait_for_timeout(50)

    def overflows(self) -> int:
        """Pixels that stick out at the side."""
        return self.page.evaluate("document.documentElement.scrollWidth") - self.width

    def close(self) -> None:
        self.context.close()


#: What a screen reader would find no name of.
UNNAMED = """[...document.querySelectorAll("button, input, select, a, [role], [tabindex='0']")].filter((e) =>
  !e.closest("[aria-hidden], [hidden]") && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")
  && !e.textContent.trim() && !e.labels?.length && !["alert", "status"].includes(e.getAttribute("role")))
  .map((e) => e.outerHTML.slice(0, 120))"""

#: Texts whose contrast with what is behind them is below WCAG AA: 4.5, or 3 for large or bold and large ones.
PALE = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest(":disabled, script, option")) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    if (svg && e.closest(".inside, .disc")) continue;
    const [a, b] = [light(parse(svg ? style.fill : style.color)), light(behind(e))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${e.outerHTML.slice(0, 100)}`);
  }
  return found;
})()"""
