"""``creases demo``: grow a network on a two-dimensional problem, map it exactly and draw it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from creases.cli.console import load_kernels, out, print_facts
from creases.cli.grow import interruptible
from creases.cli.map import timed_document
from creases.errors import CreasesError

if TYPE_CHECKING:
    from creases._document import Document
    from creases.cli.grow._result import Report
    from creases.regions import PlanePartition

PROBLEM = "xor_circles"
MAP = "map.png"


def run_demo(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the pictures, the network and the report.")
    ] = Path("out/demo"),
    seed: Annotated[
        int, typer.Option(metavar="N", help="Random seed of the split, the initial network and the training.")
    ] = 0,
) -> None:
    """Grow a small network, map its regions and draw them.

    Takes about ten seconds.
    """
    from creases.cli.grow._result import fit_into, print_result
    from creases.growth import GrowthConfig
    from creases.tables import RunSettings

    settings = RunSettings(PROBLEM, config=GrowthConfig(seed=seed))
    report, files = interruptible(folder, lambda: fit_into(settings, folder, force=is_demo(folder), fresh=True))
    partition, document = map_grown(report)
    files["map"] = draw(report, partition, folder / MAP)
    print_facts(document)
    out.print()
    print_result(report, files)


def is_demo(folder: Path) -> bool:
    """Whether a folder holds a demo, which may be written over."""
    from creases.tables import RunFile, RunSettings

    try:
        return (folder / RunFile.SETTINGS).exists() and RunSettings.load(folder).data == PROBLEM
    except CreasesError:
        return False


def map_grown(report: Report) -> tuple[PlanePartition, Document]:
    """Every region of the grown network around the data, and what is said of them."""
    from creases.regions import plane
    from creases.tables import data_box

    load_kernels()
    start = perf_counter()
    partition = plane(report.model.network, data_box(report.data.problem.X))
    return partition, timed_document(partition, perf_counter() - start)


def draw(report: Report, partition: PlanePartition, path: Path, *, dpi: int = 160) -> Path:
    """Draw what the network decides, with the data, beside its regions as a folded sheet."""
    from creases.show import new_figure, plot_plane, save_figure, style_context

    X, y = report.data.problem
    figure, (decision, sheet) = new_figure(12, 6.5, panels=2)
    with style_context():
        plot_plane(partition, ax=decision, color="class", X=X, y=y)
        decision.set_title(f"What it decides: {partition.count} regions, the boundary in black")
        plot_plane(partition, ax=sheet, color="regions")
        sheet.set_title("One affine function on each region: a folded sheet")
    return save_figure(figure, path, dpi=dpi)
