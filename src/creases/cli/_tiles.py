"""``creases map --tiles``: a plane that is too large for memory, tile by tile, in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.cli._kernels import load_kernels
from creases.cli.console import (
    INTERRUPTED,
    command,
    note,
    print_json,
    print_next,
    print_table,
    repeat_command,
    show_progress,
)  # fmt: skip
from creases.errors import InputError


def map_tiles(
    model_: str,
    plane: tuple[str | None, Path | None, Path | None, Sequence[Path] | None],
    input_shape: str | None,
    tiles: int,
    paths: list[Path],
    where: Mapping[str, Any],
    unused: Mapping[str, object],
    as_json: bool,
) -> None:
    """Compute a plane in tiles, or resume it, and print a summary.

    Parameters
    ----------
    model_
        The network.
    plane
        Box, origin, basis and three inputs, as options.
    input_shape
        Shape of an input, as an option.
    tiles, paths, where
        Number of tiles along each side, the folder (one path), and where they are computed: engine, n_jobs, address.
    unused
        Options that tiles do not have: each must be None.
    as_json
        Whether to print the summary as JSON.
    """
    from creases.regions import plane_tiles

    for name, value in unused.items():
        if value is not None:
            raise InputError(name, "be left out where tiles are computed")
    if len(paths) != 1 or paths[0].suffix or Path(model_).is_dir():
        raise InputError(
            "tiles", "have a network and one folder to write to", hint="use {0}", settings=[("out", "DIR")]
        )
    box, origin, basis, through = plane
    corners = None if through is None else [arguments.read_npy(path, "through") for path in through]
    shape = arguments.parse_shape(input_shape) or (arguments.input_shape_of(corners[0]) if corners else None)
    net = model.load_model(model_, shape)
    point = None if origin is None else arguments.read_npy(origin, "origin").ravel()
    directions = None if basis is None else arguments.read_npy(basis, "basis")
    limits = None if box is None else arguments.parse_box(box, 2)
    load_kernels()
    start = perf_counter()
    try:
        with show_progress(1) as begin:
            options = {"through": corners, "tiles": tiles, "progress": begin, **where}
            found = plane_tiles(net, paths[0], limits, point, directions, **options)
    except KeyboardInterrupt:
        done = len(list(paths[0].glob("tile-*.npz")))
        note(f"Interrupted: {done} of {tiles**2} tiles are in {paths[0]}. Resume with: {repeat_command()}")
        raise typer.Exit(INTERRUPTED) from None
    seconds = perf_counter() - start
    if as_json:
        result = {"network": repr(net), "box": found.box.tolist(), "regions": found.count, "tiles": len(found)}
        print_json({**result, "folder": str(paths[0]), "seconds": round(seconds, 6)})
        return
    rows = [("network", repr(net)), ("regions", f"{found.count:,}"), ("tiles", f"{len(found):,} in {paths[0]}")]
    print_table("Partition", [*rows, ("time", f"{seconds:.3g} s")])
    print_next(command("report", paths[0] / "tile-0-0.npz", "--out", "tile.html"), "explore one tile in a browser")
