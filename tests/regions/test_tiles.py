from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import creases
from creases.errors import FileError, InputError
from creases.regions import PlaneTiles, plane_tiles
from reference import load_case

BOX = [(-1, 1), (-1, 0.5)]


@pytest.fixture(scope="module")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> PlaneTiles:
    net = creases.read(load_case("m2_16x2"))
    return plane_tiles(net, tmp_path_factory.mktemp("tiles"), BOX, tiles=3, engine="serial")


def test_tiles_have_the_regions_of_the_whole_plane_each_counted_once(tiles: PlaneTiles) -> None:
    whole = creases.plane(tiles.net, BOX)
    assert tiles.count == whole.count
    assert sum(part.count for part in tiles) > whole.count  # tiles do cut regions
    assert {p.tobytes() for part in tiles for p in part.patterns} == {p.tobytes() for p in whole.patterns}


def test_tiles_cover_the_box(tiles: PlaneTiles) -> None:
    assert len(tiles) == 9
    assert sum(part.areas().sum() for part in tiles) == pytest.approx(3.0, rel=1e-12)
    assert tiles.tile(1, 2).box.tolist() == tiles.tile_box(1, 2).tolist()
    assert tiles.tile_box(0, 1)[0, 1] == tiles.tile_box(1, 1)[0, 0]


def test_an_interrupted_plane_resumes(tmp_path: Path, monkeypatch) -> None:
    net = creases.read(load_case("m2_16x2"))
    compute, calls = PlaneTiles.compute_tile, list[tuple[int, int]]()

    def interrupt(self: PlaneTiles, column: int, row: int) -> None:
        calls.append((column, row))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(self, column, row)

    monkeypatch.setattr(PlaneTiles, "compute_tile", interrupt)
    with pytest.raises(KeyboardInterrupt):
        plane_tiles(net, tmp_path, tiles=2, engine="serial")
    with pytest.raises(FileError, match="not done"):
        _ = PlaneTiles.load(tmp_path).count
    found = plane_tiles(net, tmp_path, tiles=2, engine="serial")
    assert found.count == creases.plane(net, (-1, 1)).count
    assert len(calls) == 5  # four tiles, one of them begun twice


def test_a_folder_holds_one_plane(tiles: PlaneTiles) -> None:
    with pytest.raises(InputError, match="folder must be new"):
        plane_tiles(tiles.net, tiles.folder, BOX, tiles=2)
    with pytest.raises(InputError, match="folder must be new"):
        plane_tiles(creases.read(load_case("m2_32x3")), tiles.folder, BOX, tiles=3)


def test_a_tile_that_fails_is_told(tmp_path: Path, monkeypatch) -> None:
    def fail(self: PlaneTiles, column: int, row: int) -> None:
        raise ValueError("disk full")

    monkeypatch.setattr(PlaneTiles, "compute_tile", fail)
    with pytest.raises(ValueError, match="disk full"):
        plane_tiles(creases.read(load_case("m2_16x2")), tmp_path, tiles=2, engine="serial")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plane.json").write_text('{"box": 3}')
    with pytest.raises(FileError, match="not a folder of tiles"):
        PlaneTiles.load(tmp_path)


def test_a_folder_that_claims_billions_of_tiles_is_refused(tiles: PlaneTiles, tmp_path: Path) -> None:
    """Listing them would take all memory."""
    folder = shutil.copytree(tiles.folder, tmp_path / "tiles")
    text = (folder / "plane.json").read_text()
    (folder / "plane.json").write_text(text.replace('"tiles": 3', '"tiles": 2147483647'))
    with pytest.raises(FileError, match="tiles must be at most 4096, got 2147483647"):
        PlaneTiles.load(folder)
    with pytest.raises(InputError, match="tiles must be at most 4096"):
        plane_tiles(tiles.net, tmp_path / "more", tiles=10**6)


def test_a_damaged_folder_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "plane.json").write_text("{")
    with pytest.raises(FileError, match="not a folder of tiles, or damaged"):
        plane_tiles(creases.read(load_case("m2_16x2")), tmp_path, tiles=2)
    assert [path.name for path in tmp_path.iterdir()] == ["plane.json"]


def test_planes_through_many_inputs_are_tiled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(10, 4)), rng.normal(size=10)), (rng.normal(size=(2, 10)), np.zeros(2))])
    plane = (BOX, rng.normal(size=4), rng.normal(size=(4, 2)))
    found = plane_tiles(net, tmp_path, *plane, tiles=2, engine="serial")
    assert found.count == creases.plane(net, *plane).count


@pytest.mark.parametrize("content", [np.zeros(3, np.uint8), np.zeros((2, 1), np.uint8), np.zeros((2, 4)), None])
def test_damaged_patterns_are_refused(tiles: PlaneTiles, tmp_path: Path, content: np.ndarray | None) -> None:
    copy = Path(shutil.copytree(tiles.folder, tmp_path / "copy"))
    path = copy / "shared-0-1.npz"
    path.write_bytes(b"x") if content is None else np.savez(path, parts=np.int64(3), patterns=content)
    with pytest.raises(FileError, match=r"shared-0-1\.npz"):
        _ = PlaneTiles.load(copy).count


def test_three_points_choose_the_plane_of_tiles(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(10, 4)), rng.normal(size=10)), (rng.normal(size=(2, 10)), np.zeros(2))])
    points = rng.normal(size=(3, 4))
    found = plane_tiles(net, tmp_path, through=points, tiles=2, engine="serial")
    whole = creases.plane_through(net, *points)
    assert found.count == whole.count
    np.testing.assert_array_equal(found.box, whole.box)


@pytest.mark.parametrize(
    ("plane", "message"),
    [
        ({"through": [[0.0, 0], [1, 0]]}, "through must be three points"),
        ({"through": 3}, "through must be three points"),
        ({"through": [[0.0, 0], [1, 0], [0, 1]], "box": (-1, 1)}, "through must be given without a box"),
        ({"through": [[0.0, 0], [1, 0], [2, 0]]}, "c must not be on the line through a and b"),
    ],
)
def test_planes_that_cannot_be_chosen_are_refused(plane: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        plane_tiles(creases.read(load_case("m2_16x2")), tmp_path, **plane)  # type: ignore[arg-type]


RAY = """
import sys
from creases.regions import PlaneTiles, plane_tiles
of = PlaneTiles.load(sys.argv[1])
plane_tiles(of.net, sys.argv[2], of.box, tiles=of.tiles, engine="ray", n_jobs=2)
"""


@pytest.mark.thorough
def test_tiles_of_a_ray_cluster_are_those_of_one_process_bit_for_bit(tiles: PlaneTiles, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    environment = {**os.environ, "PYTHONPATH": str(Path(creases.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", RAY, str(tiles.folder), str(tmp_path)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    on_ray = PlaneTiles.load(tmp_path)
    assert on_ray.count == tiles.count
    for one, other in zip(on_ray, tiles, strict=True):
        for field in fields(one):
            if field.name != "net":
                np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), strict=True)
