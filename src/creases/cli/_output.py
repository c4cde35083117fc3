"""Write a plane partition as a picture, arrays or JSON, by the ending of the file name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from creases.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from creases.regions import PlanePartition

ENDINGS = (".png", ".svg", ".npz", ".json")


def check_outputs(paths: list[Path], endings: tuple[str, ...] = ENDINGS, param: str = "out") -> None:
    """Refuse a file name that cannot be written, before any work is done."""
    for path in paths:
        if path.suffix not in endings:
            raise InputError(param, f"be a file name ending in {', '.join(endings)}", repr(path.name))
        if not path.parent.is_dir():
            raise InputError(param, "be in an existing folder", str(path))


def partition_json(partition: PlanePartition, summary: dict[str, Any]) -> dict[str, Any]:
    """Return a partition as plain lists: polygons, the unit behind each edge, the affine function of each region."""
    corners, starts = partition.corners.tolist(), partition.starts.tolist()
    piece, boundary = partition.pieces(), partition.boundary()
    return {
        "summary": summary,
        "slice": {"origin": partition.origin.tolist(), "basis": partition.basis.tolist()},
        "vertices": partition.vertices.tolist(),
        "values": partition.values.tolist(),
        "edges": partition.edges.tolist(),
        "edge_units": partition.edge_units.tolist(),
        "edge_regions": partition.edge_regions.tolist(),
        "regions": [corners[a:b] for a, b in pairwise(starts)],
        "pieces": {"J": piece.J.tolist(), "y": piece.y.tolist()},
        "boundary": {"segments": boundary.segments.tolist(), "classes": boundary.classes.tolist()},
    }


def write_picture(
    partition: PlanePartition,
    path: Path,
    *,
    title: str,
    color: Literal["regions", "value", "class"],
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    marks: Mapping[str, ArrayLike] | None = None,
) -> Path:
    """Draw a partition into a ``.png`` or ``.svg`` file, with named points (slice coordinates) marked."""
    from creases.show import mark_points, new_figure, plane_height, plot_plane, save_figure, style_context

    figure, (ax,) = new_figure(6.4, plane_height(partition, 6.4))
    with style_context():
        plot_plane(partition, ax=ax, color=color, X=X, y=y)
        mark_points(ax, marks or {})
        ax.set_title(title)
    return save_figure(figure, path)
