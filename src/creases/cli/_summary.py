"""Summarize a plane partition: counts, sizes, and a check against the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from creases._text import plural

if TYPE_CHECKING:
    from creases.regions import PlanePartition

#: Random points at which the pieces are compared with the network, and the seed that draws them.
CHECKED_POINTS, SEED = 10_000, 0


def largest_difference(partition: PlanePartition) -> float:
    """Return the largest ``|f(x) - (J t + y)|`` over random points of the box, the piece found by ``locate``."""
    import numpy as np

    low, high = partition.box[:, 0], partition.box[:, 1]
    t = np.random.default_rng(SEED).uniform(low, high, (CHECKED_POINTS, 2))
    region = partition.locate(t)
    piece = partition.pieces()
    by_piece = np.einsum("nmk,nk->nm", piece.J[region], t) + piece.y[region]
    by_network = np.asarray(partition.net(partition.points(t))).reshape(by_piece.shape)
    return float(np.abs(by_piece - by_network).max())


def summarize(partition: PlanePartition, seconds: float) -> dict[str, Any]:
    """Return the summary of a partition that took ``seconds``, ready for JSON."""
    areas = partition.areas()
    boundary = partition.boundary()
    return {
        "network": repr(partition.net),
        "box": partition.box.tolist(),
        "regions": partition.count,
        "vertices": len(partition.vertices),
        "edges": len(partition.edges),
        "area": {"all": float(areas.sum()), "largest": float(areas.max()), "smallest": float(areas.min())},
        "boundary": {"segments": len(boundary.edges), "length": boundary.length},
        "certificate": {"points": CHECKED_POINTS, "largest_difference": largest_difference(partition)},
        "seconds": round(seconds, 6),
    }


def summary_rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the summary as rows of names and values."""
    area, boundary, certificate = summary["area"], summary["boundary"], summary["certificate"]
    box = " x ".join(f"[{low:g}, {high:g}]" for low, high in summary["box"])
    return [
        ("network", summary["network"]),
        ("box", box),
        ("regions", f"{summary['regions']:,}"),
        ("vertices, edges", f"{summary['vertices']:,}, {summary['edges']:,}"),
        ("largest, smallest area", f"{area['largest']:.4g}, {area['smallest']:.4g}"),
        ("boundary", f"{boundary['length']:.6g} long, {plural(boundary['segments'], 'segment')}"),
        (
            "check",
            f"differs from the network by at most {certificate['largest_difference']:.1e} at "
            f"{certificate['points']:,} random points",
        ),
        ("time", f"{summary['seconds']:.3g} s"),
    ]
