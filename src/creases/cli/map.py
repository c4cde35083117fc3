"""``creases map``: map every region of a network on a plane."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases._document import facts
from creases._files import write_json
from creases._text import plural
from creases.cli._arguments import check_outputs, input_shape_of, parse_box, parse_shape, read_npy
from creases.cli._model import Points, load_model, read_points
from creases.cli._options import Model, complete_files
from creases.cli._table_options import AsJson
from creases.cli.console import (
    INTERRUPTED,
    command,
    load_kernels,
    note,
    option_panels,
    print_facts,
    print_json,
    print_next,
    repeat_command,
    show_progress,
)
from creases.errors import CreasesError, InputError, LimitError

if TYPE_CHECKING:
    from creases._document import Document
    from creases._typing import Floats
    from creases.network import Network
    from creases.regions import PlanePartition

    Corners = list[Floats] | None


#: Seconds from which on an estimate is worth a line, and units up to which a plane takes less time than the estimate.
WORTH, FEW_UNITS = 5.0, 100

#: Random points at which the pieces are compared with the network.
CHECKED_POINTS = 10_000

plane_option, compute_option, output_option = option_panels("Plane", "Computation", "Output")

#: How regions are coloured.
Color = StrEnum("Color", {"regions": "regions", "value": "value", "classes": "class"})


def map_plane(
    model_: Model,
    box: Annotated[
        str | None, plane_option("LO,HI,LO,HI", "Rectangle to map, in the plane's coordinates; default: -1,1,-1,1.")
    ] = None,
    through: Annotated[
        tuple[Path, Path, Path] | None,
        plane_option("A B C", "Plane through three inputs (.npy files).", autocompletion=complete_files(".npy")),
    ] = None,
    axes: Annotated[
        str | None,
        plane_option(
            "I,J", "Plane along two inputs, numbered from 0; the others stay at --origin, the mean of --data, or 0."
        ),
    ] = None,
    origin: Annotated[Path | None, plane_option("FILE", "A point of the plane (.npy, n numbers).")] = None,
    basis: Annotated[Path | None, plane_option("FILE", "Two directions of the plane (.npy, n x 2).")] = None,
    input_shape: Annotated[str | None, plane_option("C,H,W", "Shape of one input.")] = None,
    out: Annotated[
        list[Path] | None, output_option("FILE", "File to write: .png, .svg, .npz or .json; may be repeated.")
    ] = None,
    exact: Annotated[bool, compute_option("", "Decide every sign in exact arithmetic (slower).", "--exact")] = False,
    data: Annotated[
        Path | None, output_option("FILE", "Points to draw: .npz with X (and y), or .csv with a point per line.")
    ] = None,
    tiles: Annotated[
        int | None, compute_option("N", "Compute N x N tiles into the folder --out, for planes too large for memory.")
    ] = None,
    engine: Annotated[
        str, compute_option("NAME", "Where tiles are computed: local processes, serial or ray.")
    ] = "local",
    n_jobs: Annotated[
        int | None, compute_option("N", "Processes that compute tiles; default: the number of cores.", "--jobs")
    ] = None,
    address: Annotated[
        str | None, compute_option("HOST", "Address of a running Ray cluster; default: start one here.")
    ] = None,
    max_memory: Annotated[
        float | None, compute_option("GB", "Stop before the work takes more than about this many gigabytes.")
    ] = None,
    device: Annotated[str, compute_option("DEVICE", "Torch device: cpu, cuda, cuda:1, ...")] = "cpu",
    color: Annotated[Color, output_option("WHAT", "What the colors show: regions, value or class.")] = Color.classes,
    columns: Annotated[str | None, plane_option("A,B", "Growth runs: plane along two columns.")] = None,
    as_json: AsJson = False,
) -> None:
    """Map and draw every linear region of a network on a plane.

    Regions, their linear functions and the decision boundary are exact. A network with two inputs is mapped as it is;
    for more inputs choose a plane by --axes, by --through, or by --origin and --basis. For the folder of a growth run
    the plane follows its two most important numeric columns, with the rows of the table and a small map for each
    category.

    A plane of millions of regions is computed in --tiles: memory is bounded by a tile, and the same command resumes
    after an interruption.

    For example:
      creases map net.onnx --box -2,2,-2,2 --out map.png
      creases map five_inputs.onnx --axes 0,3 --out map.png
      creases map resnet.onnx --through a.npy b.npy c.npy --out map.npz
      creases map wide.onnx --tiles 8 --out tiles
    """
    paths = out or []
    if through and (box or origin or basis or axes):
        raise InputError("through", "be given without a box, axes, an origin or a basis", hint="it chooses all of them")
    corners = None if through is None else [read_npy(path, "through") for path in through]
    shape = parse_shape(input_shape) or (input_shape_of(corners[0]) if corners else None)
    if tiles is not None:
        unused = {"data": data, "axes": axes, "columns": columns, "exact": exact or None, "max_memory": max_memory}
        for name, given in unused.items():
            if given is not None:
                raise InputError(name, "be left out where tiles are computed")
        if len(paths) != 1 or paths[0].suffix or Path(model_).is_dir():
            expected = "have a network and one folder to write to"
            raise InputError("tiles", expected, hint="use {0}", settings=[("out", "DIR")])
        options: dict[str, Any] = {"tiles": tiles, "engine": engine, "n_jobs": n_jobs, "address": address}
        options |= {"through": corners, "box": None if box is None else parse_box(box, 2)}
        options["origin"] = None if origin is None else read_npy(origin, "origin").ravel()
        options["basis"] = None if basis is None else read_npy(basis, "basis")
        return _map_tiles(load_model(model_, shape), paths[0], options, as_json)
    check_outputs(paths, (".png", ".svg", ".npz", ".json"))
    if Path(model_).is_dir():
        planes = {"through": through, "axes": axes, "box": box, "origin": origin, "basis": basis, "data": data}
        for name, value in planes.items():
            if value is not None:
                raise InputError(name, "be given for a network only, not for a growth run", str(value), "use {0}",
                                 [("columns", "A,B")])  # fmt: skip
        return _map_run(Path(model_), columns, paths, as_json)
    if columns is not None:
        raise InputError("columns", "be given for the folder of a growth run only", columns)
    if axes and basis:
        raise InputError("axes", "be given without a basis", hint="it is one")
    if not axes and (origin is None) != (basis is None):
        raise InputError("origin", "be given together with the basis: a point of the plane and its two directions")
    with show_progress(4 + len(paths)) as begin:
        begin("reading the network")
        net = load_model(model_, shape).to(device)
        points = None if data is None else read_points(data, None, net.n_in, net.n_out)
        if net.n_units > FEW_UNITS:
            begin("loading the kernels")
            load_kernels()
        begin("finding the regions")
        options = {"exact": exact, "max_memory": None if max_memory is None else 1e9 * max_memory}
        chosen = (
            _choose_axes(net, box, axes, origin, points) if axes else _choose_plane(net, box, corners, origin, basis)
        )
        partition, seconds = _find_regions(net, chosen, options, begin)
        begin("checking the pieces")
        document = timed_document(partition, seconds)
        for path in paths:
            begin(f"writing {path.name}")
            _write(partition, path, document, points, corners, color)
    _print(document, paths, as_json)


def _map_run(folder: Path, columns: str | None, paths: list[Path], as_json: bool) -> None:
    """Map the network of a growth run on the slice that its report shows first."""
    from creases.show import save_figure
    from creases.show.report import plot_run_map
    from creases.tables import load_run

    with show_progress(2 + len(paths)) as begin:
        begin("reading the run")
        run = load_run(folder)
        load_kernels()
        begin("finding the regions")
        start = perf_counter()
        figure, partition = plot_run_map(run, columns)
        document = timed_document(partition, perf_counter() - start)
        for path in paths:
            begin(f"writing {path.name}")
            if path.suffix in (".npz", ".json"):
                _write(partition, path, document, None, None, Color.classes)
            else:
                save_figure(figure, path)
    _print(document, paths, as_json)


def timed_document(partition: PlanePartition, seconds: float) -> Document:
    """Return what is said of a partition, compared with its network, and of the time that it took."""
    from creases.regions.diagnostics import verify_partition

    error = verify_partition(partition, points=CHECKED_POINTS).error_at_points
    return _add_time(partition.describe(check=(CHECKED_POINTS, error)), seconds)


def _add_time(document: Document, seconds: float) -> Document:
    (section,) = document.sections
    rows = [*section["table"]["rows"], ["time", f"{seconds:.3g} s"]]
    values = {**document.values, "seconds": round(seconds, 6)}
    return replace(document, sections=[facts(section["title"], rows)], values=values)


def _print(document: Document, paths: list[Path], as_json: bool) -> None:
    """Print what is said of a partition and the files written."""
    if as_json:
        print_json({**document.values, "files": [str(path) for path in paths]})
        return
    print_facts(document, [("written", str(path)) for path in paths])
    if not paths:
        print_next(repeat_command("--out", "map.png", "--out", "map.npz"), "save a picture and the regions")
        return
    saved = [path for path in paths if path.suffix == ".npz"]
    if saved:
        print_next(command("report", saved[0], "--out", "map.html"), "explore the map in a browser")
    else:
        print_next(repeat_command("--out", "map.npz"), "save the regions, to explore them with creases report")


def _find_regions(
    net: Network, chosen: dict[str, Any], options: dict[str, Any], begin: Callable[..., None]
) -> tuple[PlanePartition, float]:
    """Return the regions and the seconds they took; say before what to expect, and after Ctrl-C what was found."""
    from creases.regions import estimate_regions, plane, plane_through

    so_far = 1

    def follow(what: str, count: int, total: int | None) -> None:
        nonlocal so_far
        so_far = count
        begin("finding the regions", count, None)

    start = perf_counter()
    try:
        if net.n_units > FEW_UNITS or options["exact"]:
            with suppress(CreasesError):  # the plane itself is refused in better words
                expected = estimate_regions(net, **chosen, exact=options["exact"])
                if expected.seconds > WORTH:
                    note(f"Estimate from small samples: {expected}. Press Ctrl-C to stop.")
        start = perf_counter()
        if "through" in chosen:
            found = plane_through(net, *chosen["through"], **options, progress=follow)
        else:
            found = plane(net, **chosen, **options, progress=follow)
        return found, perf_counter() - start
    except KeyboardInterrupt:
        seconds = perf_counter() - start
        note(
            f"Interrupted after {seconds:.0f} s with {plural(so_far, 'region')} so far; nothing was written. "
            "Map a smaller --box, or points that are closer together."
        )
        raise typer.Exit(INTERRUPTED) from None
    except LimitError as error:
        gigabytes = f"--max-memory {options['max_memory'] / 1e9:g}"
        hint = "nothing was written. Map a smaller --box, or use --tiles, whose memory is bounded by one tile"
        raise LimitError(gigabytes, error.what, hint) from None


def _choose_plane(
    net: Network, box: str | None, through: Corners, origin: Path | None, basis: Path | None
) -> dict[str, Any]:
    """Return the plane as arguments of Python."""
    if through is not None:
        return {"through": through}
    if origin is None and net.n_in != 2:
        raise InputError(
            "model",
            "have two inputs unless a plane is chosen",
            f"{net.n_in} inputs",
            "choose the plane by {0}, by {1}, or by {2} and {3}",
            [("axes", "0,1"), ("through", "a.npy b.npy c.npy"), ("origin", "o.npy"), ("basis", "b.npy")],
        )
    import numpy as np

    chosen: dict[str, Any] = {"box": np.array(parse_box(box or "-1,1,-1,1", 2))}
    if origin is not None and basis is not None:
        chosen["origin"] = read_npy(origin, "origin").ravel()
        chosen["basis"] = read_npy(basis, "basis")
    return chosen


def _choose_axes(net: Network, box: str | None, axes: str, origin: Path | None, data: Points | None) -> dict[str, Any]:
    """Return the plane along two inputs, in their own coordinates, as arguments of Python."""
    import numpy as np

    names = axes.split(",")
    chosen = [int(name) for name in names if name.strip().isdecimal() and int(name) < net.n_in]
    if len(names) != 2 or len(set(chosen)) != 2:
        raise InputError("axes", f"be two different inputs from 0 to {net.n_in - 1}, such as 0,1", repr(axes))
    point = np.zeros(net.n_in) if data is None else data.X.mean(axis=0)
    if origin is not None:
        point = read_npy(origin, "origin").ravel()
        if point.shape != (net.n_in,):
            raise InputError("origin", f"have {net.n_in} numbers", f"{point.size}")
    point = point.copy()
    point[chosen] = 0.0  # so that the plane's coordinates are the inputs themselves
    if box is None and data is not None:
        low, high = data.X[:, chosen].min(axis=0), data.X[:, chosen].max(axis=0)
        room = np.where(high > low, 0.05 * (high - low), 1.0)
        limits = np.stack([low - room, high + room], axis=1)
    else:
        limits = np.array(parse_box(box or "-1,1,-1,1", 2))
    return {"box": limits, "origin": point, "basis": np.eye(net.n_in)[:, chosen]}


def _write(
    partition: PlanePartition, path: Path, document: Document, data: Points | None, through: Corners, color: Color
) -> None:
    import numpy as np

    if path.suffix == ".npz":
        partition.save(path)
    elif path.suffix == ".json":
        write_json({"summary": dict(document.values), **partition.to_dict()}, path)
    else:
        from creases.show import mark_points, new_figure, plane_height, plot_plane, save_figure, style_context

        figure, (ax,) = new_figure(6.4, plane_height(partition, 6.4))
        with style_context():
            points: dict[str, Any] = {} if data is None else {"X": _on_plane(partition, data.X), "y": data.y}
            plot_plane(partition, ax=ax, color=color.value, islands=color is Color.classes, **points)
            if through:
                mark_points(ax, dict(zip("abc", _on_plane(partition, np.stack(through).reshape(3, -1)), strict=True)))
            ax.set_title(f"{partition.count:,} regions")
        save_figure(figure, path)


def _on_plane(partition: PlanePartition, points: Floats) -> Floats:
    """Coordinates t of inputs: of the nearest points of the plane, where they are not on it."""
    import numpy as np

    return np.asarray(np.linalg.lstsq(partition.basis, (points - partition.origin).T)[0].T)


def _map_tiles(net: Network, folder: Path, options: dict[str, Any], as_json: bool) -> None:
    """Compute a plane in tiles, or resume it, and print a summary."""
    from creases.regions import plane_tiles

    load_kernels()
    start = perf_counter()
    try:
        with show_progress(1) as begin:
            found = plane_tiles(net, folder, progress=begin, **options)
    except KeyboardInterrupt:
        done = len(list(folder.glob("tile-*.npz")))
        note(f"Interrupted: {done} of {options['tiles'] ** 2} tiles are in {folder}. Resume with: {repeat_command()}")
        raise typer.Exit(INTERRUPTED) from None
    document = _add_time(found.describe(), perf_counter() - start)
    if as_json:
        print_json({**document.values, "folder": str(folder)})
        return
    print_facts(document)
    print_next(command("report", folder / "tile-0-0.npz", "--out", "tile.html"), "explore one tile in a browser")
