"""``creases demo``: grow a network on a two-dimensional problem, map it exactly and draw it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Annotated

from creases.cli.console import load_kernels, option, out, print_facts
from creases.cli.grow import interruptible
from creases.cli.map import timed_document
from creases.errors import CreasesError

PROBLEM = "xor_circles"
MAP = "map.png"


def run_demo(
    folder: Annotated[Path, option("DIR", "Folder for the pictures, the network and the report.", "--out")] = Path(
        "out/demo"
    ),
    seed: Annotated[int, option("N", "Random seed of the split, the initial network and the training.")] = 0,
) -> None:
    """Grow a small network, map its regions and draw them.

    Takes about ten seconds.
    """
    from creases.cli._table_result import grow_into, print_result
    from creases.growth import GrowthConfig
    from creases.regions import plane
    from creases.show import new_figure, plot_plane, save_figure, style_context
    from creases.tables import RunFile, RunSettings, data_box

    is_demo = False  # of a folder with one, which may be written over
    with suppress(CreasesError):
        is_demo = (folder / RunFile.SETTINGS).exists() and RunSettings.load(folder).data == PROBLEM
    settings = RunSettings(PROBLEM, config=GrowthConfig(seed=seed))
    model, files = interruptible(folder, lambda: grow_into(settings, folder, force=is_demo, fresh=True))
    X, y = model.data.problem
    load_kernels()
    start = perf_counter()
    partition = plane(model.network, data_box(X))
    document = timed_document(partition, perf_counter() - start)
    figure, (decision, sheet) = new_figure(12, 6.5, panels=2)
    with style_context():
        plot_plane(partition, ax=decision, color="class", X=X, y=y)
        decision.set_title(f"What it decides: {partition.count} regions, the boundary in black")
        plot_plane(partition, ax=sheet, color="regions")
        sheet.set_title("One affine function on each region: a folded sheet")
    files["map"] = save_figure(figure, folder / MAP)
    print_facts(document)
    out.print()
    print_result(model, files)
