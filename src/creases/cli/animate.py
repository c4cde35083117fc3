"""``creases animate``: a growth run as a GIF or MP4."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from creases._text import plural
from creases.cli._arguments import check_outputs
from creases.cli._options import AsJson, complete_files
from creases.cli.console import argument, command, load_kernels, note, option, print_json, print_next, show_progress
from creases.cli.console import out as stdout
from creases.errors import FileError

#: What is beside the picture, and what it is drawn on.
Panel = StrEnum("Panel", ["curves", "network", "dual"])
Paper = StrEnum("Paper", ["light", "dark"])


def animate_run(
    folder: Annotated[Path, argument("DIR", "Folder of a growth run (creases grow).", autocompletion=complete_files())],
    out: Annotated[Path, option("FILE", "The .gif or .mp4 file to write (MP4: the extra 'video').", "--out")] = Path(
        "growth.gif"
    ),
    beside: Annotated[
        list[Panel] | None,
        option(
            "PANEL", "Panel beside the map: curves, network or dual; may be repeated.", show_default="curves, network"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        option("A,B", "More than two inputs: slice along these two columns.", show_default="the most important"),
    ] = None,
    frames: Annotated[int, option("N", "Maximum number of frames.", min=1, max=1000)] = 120,
    fps: Annotated[float, option("N", "Frames per second.", min=0.1, max=60)] = 4,
    dpi: Annotated[int, option("N", "Resolution; a frame is about nine inches wide.", min=20, max=300)] = 80,
    theme: Annotated[Paper, option("NAME", "light or dark.")] = Paper.light,
    as_json: AsJson = False,
) -> None:
    """Turn a run of creases grow into a GIF or MP4.

    Shows the regions, the decision boundary, the data and each new crease. Growth steps are held a little longer, with
    the reason below the map.

    For example:
      creases animate out/moons --out moons.gif --fps 8
    """
    check_outputs([out], (".gif", ".mp4"))
    if not folder.exists():
        raise FileError(f"there is no folder {folder}")
    from creases.show import theme as use_theme
    from creases.show.report import animate_run as write_film
    from creases.tables import load_run

    load_kernels()
    run = load_run(folder)
    with use_theme(theme.value), show_progress(1) as begin:
        begin("drawing")
        panels = [panel.value for panel in beside] if beside else None
        look: dict[str, Any] = {"beside": panels, "frames": frames, "fps": fps, "dpi": dpi}
        cut = write_film(run, out, columns=columns, progress=lambda _, *so_far: begin("drawing", *so_far), **look)
    if not run.history.ended:
        note(f"The run is not finished; this shows it so far. Resume with: creases grow --resume {folder}")
    if as_json:
        size = out.stat().st_size
        print_json({"file": str(out), "bytes": size, "moments": len(run.snapshots), "slice": cut or None})
        return
    on = f" on the slice {cut}" if cut else ""
    shot = min(frames, len(run.snapshots))
    stdout.print(
        f"Wrote {out} ({shot} of {plural(len(run.snapshots), 'snapshot')}{on}, {out.stat().st_size / 1e6:.2g} MB)",
        soft_wrap=True,
    )
    print_next(command("report", folder, "--out", "report.html"), "the same run as an interactive page")
