"""``creases animate``: a growth run as a GIF or MP4."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from creases._text import plural
from creases.cli._arguments import check_outputs
from creases.cli._options import AsJson, complete_files
from creases.cli.console import command, load_kernels, note, print_json, print_next, show_progress
from creases.cli.console import out as stdout

#: What is beside the picture, and what it is drawn on.
Panel = StrEnum("Panel", ["curves", "network", "dual"])
Paper = StrEnum("Paper", ["light", "dark"])


def animate_run(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of a growth run (creases grow).", autocompletion=complete_files()),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The .gif or .mp4 file to write (MP4: the extra 'video').")
    ] = Path("growth.gif"),
    beside: Annotated[
        list[Panel] | None,
        typer.Option(
            metavar="PANEL",
            help="Panel beside the map: curves, network or dual; may be repeated.",
            show_default="curves, network",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="More than two inputs: slice along these two columns.",
            show_default="the most important",
        ),
    ] = None,
    frames: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Maximum number of frames.")] = 120,
    fps: Annotated[float, typer.Option(min=0.1, max=60, metavar="N", help="Frames per second.")] = 4,
    dpi: Annotated[
        int, typer.Option(min=20, max=300, metavar="N", help="Resolution; a frame is about nine inches wide.")
    ] = 80,
    theme: Annotated[Paper, typer.Option(metavar="NAME", help="light or dark.")] = Paper.light,
    as_json: AsJson = False,
) -> None:
    """Turn a run of creases grow into a GIF or MP4.

    Shows the regions, the decision boundary, the data and each new crease. Growth steps are held a little longer, with
    the reason below the map.

    For example:
      creases animate out/moons --out moons.gif --fps 8
    """
    from creases.show import animate
    from creases.show import theme as use_theme
    from creases.show.report import choose_slices
    from creases.tables import data_box, load_run

    check_outputs([out], (".gif", ".mp4"))
    load_kernels()
    run = load_run(folder)
    problem = run.data.problem
    decided = problem.classes is not None
    shown: dict[str, Any] = {
        "box": data_box(problem.X),
        "X": problem.X,
        "y": problem.y if decided or problem.X.shape[1] == 1 else None,  # a plane does not show values
        "features": problem.features,
    }
    shown["beside"], cut = [panel.value for panel in beside] if beside else None, None
    if problem.X.shape[1] > 2 or columns is not None:
        cut = choose_slices(run.net, run.data, [] if columns is None else [columns])[0]
        on_slice = {"origin": cut.origin, "basis": cut.basis, "box": cut.box, "features": cut.axes}
        shown = on_slice | {"beside": shown["beside"]}
    with use_theme(theme.value), show_progress(1) as begin:
        begin("drawing")
        animate(
            run.snapshots,
            out,
            history=run.history,
            classes=problem.classes,
            scaling=run.data.scaling,
            names=run.data.names,
            frames=frames,
            fps=fps,
            dpi=dpi,
            progress=lambda _, done, total: begin("drawing", done, total),
            **shown,
        )
    if not run.history.ended:
        note(f"The run is not finished; this shows it so far. Resume with: creases grow --resume {folder}")
    summary = {
        "file": str(out),
        "bytes": out.stat().st_size,
        "moments": len(run.snapshots),
        "slice": cut.name if cut else None,
    }
    if as_json:
        print_json(summary)
        return
    on = f" on the slice {cut.name}" if cut else ""
    shot = min(frames, len(run.snapshots))
    stdout.print(
        f"Wrote {out} ({shot} of {plural(len(run.snapshots), 'snapshot')}{on}, {out.stat().st_size / 1e6:.2g} MB)",
        soft_wrap=True,
    )
    print_next(command("report", folder, "--out", "report.html"), "the same run as an interactive page")
