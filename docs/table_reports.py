"""Create the gallery's pictures of reports of tables: ``python docs/table_reports.py FOLDER``.

The folder holds ``penguins.csv``, ``cars.csv`` and ``houses.csv``, as ``bench/tables.py --folder FOLDER`` writes them.
This needs the ``dev`` extra and chromium.
"""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from notebooks import reduce_colors
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PICTURES = Path(__file__).parent / "tables"

TARGETS = {"penguins": "Species", "cars": "Miles_per_Gallon", "houses": "price"}

#: Widths of a wide and a narrow screen, the height that is shown of both, and their size in the picture.
WIDTHS, HEIGHT, SCALE, GAP = (1440, 390), 1500, 8 / 15, 16


def write_report(table: Path, target: str, folder: Path) -> Path:
    """Fit a table and write its report; return the file."""
    run, page = folder / table.stem, folder / f"{table.stem}.html"
    for words in (["fit", table, "--target", target, "--out", run], ["report", run, "--out", page]):
        subprocess.run([sys.executable, "-m", "creases", *map(str, words)], check=True, capture_output=True)
    return page


def take_picture(browser: Browser, page: Path, scheme: str) -> bytes:
    """Return the beginning of a report on both screens, side by side, as PNG in few colors."""
    screens = []
    for width in WIDTHS:
        context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
        tab = context.new_page()
        tab.goto(page.as_uri())
        tab.locator(".chart").first.wait_for()
        image = Image.open(BytesIO(tab.screenshot())).convert("RGB")
        screens.append(image.resize((round(width * SCALE), round(HEIGHT * SCALE)), Image.Resampling.LANCZOS))
        context.close()
    wide, narrow = screens
    picture = Image.new("RGB", (wide.width + GAP + narrow.width, wide.height), "gray")
    picture.paste(wide, (0, 0))
    picture.paste(narrow, (wide.width + GAP, 0))
    file = BytesIO()
    picture.save(file, format="png")
    return reduce_colors(file.getvalue())


def main(tables: Path) -> None:
    with sync_playwright() as driver, TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, target in TARGETS.items():
            page = write_report((tables / f"{name}.csv").resolve(), target, Path(folder))
            for scheme in ("light", "dark"):
                (PICTURES / f"report-{name}-{scheme}.png").write_bytes(take_picture(browser, page, scheme))
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
