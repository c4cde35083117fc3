"""All regions of a large plane, tile by tile, in files: memory is bounded by one tile for each process.

The box is divided into equal tiles, each a partition of its own in a file; a tile that is done is not done again. Tiles
cut regions. As a pattern has one region, which is convex, the parts of a region are those with the same pattern: to
count each region once, only the patterns of parts that touch a side between two tiles must be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._document import Document, facts
from creases._engines import check_engine, map_in_order, open_engine
from creases._files import open_npz, parse_json, read_bytes, read_text, write_atomically, write_json
from creases._program import pack_sides
from creases._text import OneLine
from creases._typing import Floats, Progress
from creases._validation import check_box, check_count, check_index
from creases.errors import FileError, InputError
from creases.network import Network, NetworkLike, PointsLike, as_network
from creases.regions._boundary import box_around, check_slice, slice_through
from creases.regions._plane.partition import PlanePartition
from creases.regions._plane.plane import MARGIN, plane

#: Files of a folder of tiles.
PLANE, NETWORK = "plane.json", "network.bin"

#: Most tiles along a side: each is two files.
MAX_TILES = 4096


@dataclass(frozen=True, eq=False, repr=False)
class PlaneTiles(OneLine):
    """The regions of a network in a box of the plane ``x = origin + basis t``, in the files of a folder.

    Iterate over it for the partitions of all tiles, one at a time.
    """

    net: Network
    folder: Path
    box: Floats  #: (2, 2) bounds of t
    origin: Floats  #: (n_in,)
    basis: Floats  #: (n_in, 2)
    tiles: int  #: number of tiles along each side of the box

    @classmethod
    def load(cls, folder: str | Path) -> PlaneTiles:
        """Open the folder that :func:`plane_tiles` wrote; not all tiles need be done."""
        folder = Path(folder)
        try:
            plane = parse_json(read_text(folder / PLANE))
            net = Network.from_bytes(read_bytes(folder / NETWORK), str(folder / NETWORK))
            box, origin, basis = (np.array(plane[name], float) for name in ("box", "origin", "basis"))
            return cls(net, folder, check_box(box, 2), *check_slice(net, origin, basis), _check_tiles(plane["tiles"]))
        except (OSError, ValueError, TypeError, KeyError, FileError) as error:
            raise FileError(f"{folder}: not a folder of tiles, or damaged: {error}") from None

    def describe(self) -> Document:
        """Return how many regions and tiles there are, and where."""
        values = {"network": repr(self.net), "regions": self.count, "tiles": len(self), "folder": str(self.folder)}
        rows = [(name, f"{value:,}" if isinstance(value, int) else value) for name, value in values.items()]
        return Document("PlaneTiles", "", [facts("Partition", rows)], values | {"box": self.box.tolist()})

    def __len__(self) -> int:
        """Return the number of tiles."""
        return self.tiles**2

    def __iter__(self) -> Iterator[PlanePartition]:
        for column, row in np.ndindex(self.tiles, self.tiles):
            yield self.tile(column, row)

    def tile(self, column: int, row: int) -> PlanePartition:
        """Return the partition of one tile; columns follow the first coordinate of t, rows the second."""
        return PlanePartition.load(self._file(column, row, "tile"))

    def tile_box(self, column: int, row: int) -> Floats:
        """Return the bounds (2, 2) of t in one tile; neighbors have equal numbers on their common side."""
        ends = [np.linspace(lo, hi, self.tiles + 1) for lo, hi in self.box]
        place = [check_index(i, self.tiles, name) for i, name in ((column, "column"), (row, "row"))]
        return np.stack([ends[k][i : i + 2] for k, i in enumerate(place)])

    @cached_property
    def count(self) -> int:
        """Number of regions; one that tiles cut counts once."""
        inner, shared = 0, list[NDArray[np.uint8]]()
        for column, row in np.ndindex(self.tiles, self.tiles):
            n_parts, patterns = self._shared_patterns(column, row)
            shared.append(patterns)
            inner += n_parts - len(patterns)
        return inner + len(np.unique(np.concatenate(shared), axis=0))

    def _shared_patterns(self, column: int, row: int) -> tuple[int, NDArray[np.uint8]]:
        """Return the number of parts in a tile, and the patterns (k, n_bytes) of those that reach into other tiles."""
        path = self._file(column, row, "shared")
        try:
            with open_npz(path) as arrays:
                n_parts, patterns = int(arrays["parts"]), arrays["patterns"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{path}: not done yet, or damaged: {error}") from None
        if patterns.dtype != np.uint8 or patterns.ndim != 2 or patterns.shape[1] != self._n_bytes:
            raise FileError(f"{path}: damaged: expected patterns of {self._n_bytes} bytes")
        if n_parts < len(patterns):
            raise FileError(f"{path}: damaged: {len(patterns)} of {n_parts} parts are in other tiles, too")
        return n_parts, patterns

    @property
    def _n_bytes(self) -> int:
        return int(pack_sides(self.net, np.zeros((1, self.net.n_units), np.int16)).shape[1])

    def compute_tile(self, column: int, row: int) -> None:
        """Compute one tile and write its files, the partition last: it tells that the tile is done."""
        part = plane(self.net, self.tile_box(column, row), self.origin, self.basis)
        a, b = (part.vertices[part.edges[:, i]] for i in (0, 1))
        on_side = (part.edge_units == -1)[:, None, None] & (a == b)[:, :, None] & (a[:, :, None] == part.box)
        between = on_side & (part.box != self.box)  # edges that other tiles have too
        patterns = part.patterns[np.unique(part.edge_regions[between.any(axis=(1, 2))].max(axis=1))]
        with write_atomically(self._file(column, row, "shared")) as temporary, open(temporary, "wb") as file:
            np.savez(file, parts=np.int64(part.count), patterns=patterns)
        part.save(self._file(column, row, "tile"))

    def _file(self, column: int, row: int, name: str) -> Path:
        return self.folder / f"{name}-{column}-{row}.npz"


def plane_tiles(
    net: NetworkLike,
    folder: str | Path,
    box: Any = None,
    origin: PointsLike | None = None,
    basis: PointsLike | None = None,
    *,
    through: Sequence[PointsLike] | None = None,
    tiles: int = 8,
    engine: str = "local",
    n_jobs: int | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> PlaneTiles:
    """Compute all regions of a plane that is too large for memory, tile by tile, in the files of a folder.

    When it is interrupted, even killed, call it again with the same arguments: tiles that are done stay.

    Parameters
    ----------
    net, box, origin, basis
        As for :func:`plane`.
    folder
        Where tiles are written. It holds one plane: with another network or plane it is refused.
    through
        Three points that choose the plane instead of box, origin and basis, as for :func:`plane_through`.
    tiles
        Number of tiles along each side of the box. A tile should have some hundred thousand regions at most.
    engine, n_jobs, address
        Where tiles are computed: ``"local"``, in so many processes of this machine (as many as cores); ``"serial"``, in
        this process; ``"ray"``, on a Ray cluster, whose workers must share the folder.
    progress
        Called as ``progress("tiles", done, total)`` after each tile.

    Examples
    --------
    >>> import creases, tempfile
    >>> net = creases.read([([[1, 0], [0, 1]], [0.1, 0.1]), ([[1, 1]], [0])])
    >>> creases.regions.plane_tiles(net, tempfile.mkdtemp(), tiles=2, engine="serial").count
    4
    """
    check_engine(engine, n_jobs, address)
    net = as_network(net)
    bounds, start, directions = choose_plane(net, box, origin, basis, through)
    folder = Path(folder).resolve()
    definition = {
        "box": bounds.tolist(), "origin": start.tolist(), "basis": directions.tolist(),
        "tiles": _check_tiles(tiles),
    }  # fmt: skip
    _define(folder, definition, net.to("cpu").to_bytes())
    found = PlaneTiles.load(folder)
    left = [place for place in np.ndindex(tiles, tiles) if not found._file(place[0], place[1], "tile").exists()]
    if left:
        with open_engine(engine, compute_tile, len(left), n_jobs, address) as workers:
            tasks = ((str(folder), column, row) for column, row in left)
            for done, _ in enumerate(map_in_order(workers, tasks), tiles**2 - len(left) + 1):
                if progress is not None:
                    progress("tiles", done, tiles**2)
    return found


def _check_tiles(tiles: Any) -> int:
    if check_count(tiles, "tiles") > MAX_TILES:
        raise InputError("tiles", f"be at most {MAX_TILES}", f"{tiles}")
    return int(tiles)


def choose_plane(net: Network, box: Any, origin: Any, basis: Any, through: Any) -> tuple[Floats, Floats, Floats]:
    """Return the box, origin and basis of the plane that arguments choose."""
    if through is None:
        return check_box((-1, 1) if box is None else box, 2), *check_slice(net, origin, basis)
    if not (box is None and origin is None and basis is None):
        raise InputError("through", "be given without a box, an origin or a basis", hint="it chooses all three")
    if not isinstance(through, Sequence | np.ndarray) or len(through) != 3:
        raise InputError("through", "be three points", f"{type(through).__name__}")
    start, directions, t = slice_through(net, list(through))
    return box_around(t, MARGIN), start, directions


def compute_tile(folder: str, column: int, row: int) -> bool:
    """Compute one tile of a folder: the task of :func:`plane_tiles`."""
    PlaneTiles.load(folder).compute_tile(column, row)
    return True


def _define(folder: Path, definition: dict[str, Any], network: bytes) -> None:
    """Write the plane of a folder; refuse a folder that holds another."""
    if (folder / PLANE).exists():
        try:
            same = parse_json(read_text(folder / PLANE)) == definition and read_bytes(folder / NETWORK) == network
        except (OSError, ValueError) as error:
            raise FileError(f"{folder}: not a folder of tiles, or damaged: {error}") from None
        if not same:
            raise InputError("folder", "be new, or hold tiles of the same network and plane", str(folder))
        return
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(folder / NETWORK) as temporary:
        temporary.write_bytes(network)
    write_json(definition, folder / PLANE)
