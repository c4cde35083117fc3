"""The viewer in a browser: first picture, frames a second and CPU time a frame, for 54,515 regions.

    python bench/viewer.py                   make the page, open it in Chromium with software GL, print the figures
    python bench/viewer.py --rounds 3        measure more than once; the machine's load is printed with every round
    python bench/viewer.py PAGE.html ...     pages made before, in turns: to compare two builds under the same load

The page is a report of one network (2-195-195-3, He initialisation, seed 1) mapped on [-2, 2]^2, opened from a file.
Every frame of a measurement moves the pointer, drags the picture or turns the wheel. CPU time is that of all of
Chromium's processes: unlike frames a second it says what a frame costs whatever else the machine is doing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Page, sync_playwright

import creases
from creases.show import _viewer as viewer

ARGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FRAMES = 90

#: Moves the pointer, drags or turns the wheel once a frame; gives the times of the frames in ms.
MOVE = """async ([kind, frames]) => {
  const plane = document.querySelector(".plane"), box = plane.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  plane.setPointerCapture = () => {};
  const send = (type, x, y, more = {}) => plane.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(
    type, { clientX: x, clientY: y, pointerId: 1, bubbles: true, cancelable: true, ...more }));
  if (kind === "pan") send("pointerdown", x, y);
  const times = [];
  await new Promise((done) => requestAnimationFrame(function tick(now) {
    times.push(now);
    const k = times.length;
    if (k > frames) return done();
    if (kind === "hover") send("pointermove", x + 200 * Math.cos(k / 9), y + 180 * Math.sin(k / 7));
    if (kind === "pan") send("pointermove", x + 80 * Math.sin(k / 10), y + 60 * Math.sin(k / 14));
    if (kind === "zoom") send("wheel", x, y, { deltaY: 60 * Math.sin(k / 12) });
    requestAnimationFrame(tick);
  }));
  if (kind === "pan") send("pointerup", x, y);
  return times;
}"""


def page_of_regions(width: int = 195) -> str:
    """A report of a network with two layers of so many units: 54,515 regions for 195."""
    torch.manual_seed(1)
    sizes = [2, width, width, 3]
    modules: list[torch.nn.Module] = []
    for a, b in pairwise(sizes):
        modules += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    net = torch.nn.Sequential(*modules[:-1])
    for module in net:
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.kaiming_normal_(module.weight)
            torch.nn.init.uniform_(module.bias, -1, 1)
    read = creases.read(net)
    partition = creases.plane(read, [(-2, 2), (-2, 2)])
    X = np.random.default_rng(0).uniform(-2, 2, (500, 2))
    problem = {
        "name": "random network",
        "about": "",
        "task": "classification",
        "features": ["x1", "x2"],
        "classes": ["A", "B", "C"],
        "X": X.tolist(),
        "y": np.asarray(read(X)).argmax(1).tolist(),
        "split": [0] * len(X),
    }
    columns = ("epoch", "loss", "score", "validation_loss", "validation_score", "parameters")
    run = {
        "problem": problem,
        "setting": {},
        "measure": "",
        "epochs": {name: [] for name in columns},
        "records": [],
        "moments": [{"id": 0, "epoch": 0, "kind": "end", "record": None, "regions": partition.count}],
        "ended": "",
        "kept": 0,
        "sections": [],
    }
    data = viewer.report_frame(run, {"0": viewer.plane_frame(partition, about={"moment": 0, "slice": 0})})
    built = Path(viewer.__file__).parent / "built"
    page, script, style = ((built / name).read_text() for name in ("report.html", "studio.js", "studio.css"))
    return viewer.render_report(page, script, style, f"{partition.count} regions", data)


def cpu_seconds(root: int) -> float:
    """CPU time of a process and of all below it so far."""
    rows: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        rows[int(stat.parent.name)] = (int(rest[1]), (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK"))

    def below(pid: int) -> bool:
        while pid in rows and pid != root:
            pid = rows[pid][0]
        return pid == root

    return sum(seconds for pid, (_, seconds) in rows.items() if below(pid))


def measure(page: Page, kind: str) -> str:
    before = cpu_seconds(os.getpid())
    times = np.array(page.evaluate(MOVE, [kind, FRAMES]))
    spent = cpu_seconds(os.getpid()) - before
    gaps = np.diff(times)
    return (
        f"{kind:6} {1000 / gaps.mean():5.1f} frames/s (median gap {np.median(gaps):4.1f} ms, "
        f"95% {np.quantile(gaps, 0.95):5.1f} ms), {1000 * spent / len(gaps):5.1f} ms of CPU a frame"
    )


def opened(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(file.resolve().as_uri())
    page.wait_for_function("window.creasesTiming?.first > 0", timeout=60_000)
    first = page.evaluate("creasesTiming.first")
    print(f"first picture {first:.0f} ms after the page was asked for")
    page.wait_for_timeout(1000)
    for kind in ("idle", "hover", "pan", "zoom"):
        print(measure(page, kind))
        page.wait_for_timeout(700)
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the page is kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = given.pages
        if not pages:
            pages = [given.keep or Path(folder) / "regions.html"]
            pages[0].write_text(page_of_regions())
        for _ in range(given.rounds):
            for file in pages:
                browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGS)
                print(f"{file.name}: load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
                opened(browser, file)
                browser.close()


if __name__ == "__main__":
    main()
