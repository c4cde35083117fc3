import json
import os
import re

import numpy as np
import pytest

import creases
from creases.regions._boundary import cut_by_class
from creases.regions._counts import Estimate
from creases.regions._plane import partition as partition_module
from creases.regions._plane.partition import PlanePartition
from creases.regions._plane.tiles import PlaneTiles


def test_the_summary_tells_counts_boundary_and_certificate(run, fold):
    result = run("map", fold)
    assert result.exit_code == 0, result.output
    assert re.search(r"^regions +4 *$", result.stdout, re.M)
    assert re.search(r"^vertices, edges +9, 12 *$", result.stdout, re.M)
    assert re.search(r"^boundary +2\.70711 long, 3 segments *$", result.stdout, re.M)  # 2 + 0.5 sqrt(2)
    assert re.search(r"^check +differs from the network by at most \S+ at", result.stdout, re.M)
    assert "--out map.png --out map.npz  # save a picture and the regions" in result.stdout


def test_json_is_all_there_is_on_stdout(run, fold):
    result = run("map", fold, "--box", "-1,3,-1,1", "--json")
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    assert (summary["regions"], summary["vertices"], summary["edges"]) == (4, 9, 12)
    assert summary["box"] == [[-1, 3], [-1, 1]]
    assert summary["area"] == {"all": 8, "largest": 3, "smallest": 1}
    assert summary["certificate"]["largest_difference"] < 1e-12
    assert summary["files"] == []


@pytest.mark.slow
def test_out_may_be_repeated_and_the_ending_says_what_is_written(run, fold, tmp_path):
    names = ["a.png", "a.svg", "a.npz", "a.json"]
    result = run("map", fold, "--json", *(word for name in names for word in ("--out", name)))
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["files"] == names
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()
    assert PlanePartition.load(tmp_path / "a.npz").count == 4
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "fold.npz"])


def test_the_json_file_holds_polygons_and_pieces(run, fold, tmp_path):
    run("map", fold, "--out", "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    vertices, J, y = (np.array(part) for part in (found["vertices"], found["pieces"]["J"], found["pieces"]["y"]))
    assert found["summary"]["regions"] == len(found["regions"]) == 4
    for region, corners in enumerate(found["regions"]):
        by_piece = vertices[corners] @ J[region].T + y[region]
        np.testing.assert_allclose(by_piece, np.array(found["values"])[corners])
    assert len(found["boundary"]["segments"]) == 3


def test_a_plane_through_three_inputs_of_a_wider_network(run, wide, tmp_path):
    points = np.random.default_rng(1).normal(size=(3, 5))
    for name, point in zip("abc", points, strict=True):
        np.save(tmp_path / f"{name}.npy", point)
    result = run("map", wide, "--through", "a.npy", "b.npy", "c.npy", "--out", "p.npz", "--out", "p.png", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["certificate"]["largest_difference"] < 1e-12
    partition = PlanePartition.load(tmp_path / "p.npz")
    np.testing.assert_allclose(partition.points([[0.0, 0.0]])[0], points[0])


def test_the_shape_of_an_image_is_told_by_the_images(run, tmp_path):
    (tmp_path / "images.py").write_text(
        "from torch import nn\nnet = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))\n"
    )
    for name, image in zip("abc", np.random.default_rng(1).normal(size=(3, 1, 3, 3)), strict=True):
        np.save(tmp_path / f"{name}.npy", image)
    for words in (
        ["map", "images.py:net", "--through", "a.npy", "b.npy", "c.npy"],
        ["explain", "images.py:net", "a.npy"],
    ):
        result = run(*words, "--json")
        assert result.exit_code == 0, result.output
        assert "1x3x3" in json.loads(result.stdout)["network"]


def test_a_plane_by_origin_and_basis(run, wide, tmp_path):
    rng = np.random.default_rng(2)
    np.save(tmp_path / "o.npy", rng.normal(size=5))
    np.save(tmp_path / "b.npy", rng.normal(size=(5, 2)))
    result = run("map", wide, "--origin", "o.npy", "--basis", "b.npy", "--box", "-2,2,-2,2", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["area"]["all"] == pytest.approx(16)


def test_a_plane_along_two_inputs_has_their_coordinates_and_the_others_fixed(run, wide, tmp_path):
    X = np.random.default_rng(3).normal(size=(20, 5))
    np.savez(tmp_path / "d.npz", X=X)
    assert run("map", wide, "--axes", "3,0", "--box", "-2,2,0,1", "--out", "zero.npz").exit_code == 0
    np.testing.assert_array_equal(PlanePartition.load(tmp_path / "zero.npz").points([[2, 1]]), [[1, 0, 0, 2, 0]])
    assert run("map", wide, "--axes", "3,0", "--data", "d.npz", "--out", "mean.npz").exit_code == 0
    partition = PlanePartition.load(tmp_path / "mean.npz")
    np.testing.assert_allclose(partition.points([[2, 1]])[0, [1, 2, 4]], X.mean(axis=0)[[1, 2, 4]])
    assert (partition.box[:, 0] < X[:, [3, 0]].min(axis=0)).all()


def test_exact_arithmetic_finds_the_same_regions(run, fold):
    result = run("map", fold, "--exact", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["regions"] == 4


@pytest.mark.parametrize("color", ["regions", "value", "class"])
def test_data_is_drawn_in_every_colouring(run, fold, tmp_path, color):
    np.savez(tmp_path / "d.npz", X=np.random.default_rng(0).uniform(-1, 1, (20, 2)), y=np.arange(20) % 2)
    result = run("map", fold, "--data", "d.npz", "--color", color, "--out", "a.png")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.npz"], "cannot read nothing.npz: there is no such file"),
        (
            ["wide.npz"],
            "MODEL must have two inputs unless a plane is chosen, got 5 inputs; choose the plane by --axes",
        ),
        (["wide.npz", "--origin", "o.npy"], "--origin must be given together with the basis"),
        (
            ["wide.npz", "--box", "0,1,0,1", "--through", "a", "b", "c"],
            "--through must be given without a box, axes, an origin or a basis",
        ),
        (["wide.npz", "--axes", "0,5"], "--axes must be two different inputs from 0 to 4, such as 0,1, got '0,5'"),
        (["wide.npz", "--axes", "1"], "--axes must be two different inputs from 0 to 4, such as 0,1, got '1'"),
        (["wide.npz", "--axes", "0,1", "--origin", "two.npy"], "--origin must have 5 numbers, got 2"),
        (["wide.npz", "--through", "a.npy", "b.npy", "c.npy"], "--through must be an existing file, got a.npy"),
        (
            ["wide.npz", "--through", "one.npy", "one.npy", "one.npy"],
            "b must differ from a, got the same point; give three points that are not on one line",
        ),
        (["fold.npz", "--box", "1,2"], "--box must be 4 numbers, lo,hi for each input, got 2 numbers"),
        (["fold.npz", "--box", "1,-1,0,1"], "--box must have lo < hi on every axis, got (1.0, -1.0) on axis 0"),
        (["fold.npz", "--out", "a.gif"], "--out must be a file name ending in .png, .svg, .npz, .json, got 'a.gif'"),
        (["fold.npz", "--out", "nowhere/a.png"], "--out must be in an existing folder, got nowhere/a.png"),
        (["fold.npz", "--data", "d.csv"], "--data must be an existing file, got d.csv"),
        (["fold.npz", "--device", "nowhere"], "target must be an available device, got 'nowhere'"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(run, fold, wide, tmp_path, words, message):
    np.save(tmp_path / "one.npy", np.ones(5))
    np.save(tmp_path / "two.npy", np.ones(2))
    result = run("map", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_an_unknown_option_ends_in_exit_code_2(run, fold):
    assert run("map", fold, "--frobnicate").exit_code == 2


def test_an_unforeseen_error_ends_in_an_exit_code_that_no_verdict_has(run, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    result = run("map", "broken.py:net")
    assert result.exit_code == 70
    assert "ZeroDivisionError" in result.output


def test_an_interrupted_picture_leaves_no_file(run, fold, tmp_path, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", interrupt)
    result = run("map", fold, "--out", "a.png")
    assert result.exit_code != 0
    assert os.listdir(tmp_path) == ["fold.npz"]


def test_an_estimate_is_told_before_long_work_and_an_interrupt_after_it(run, fold, tmp_path, monkeypatch):
    monkeypatch.setattr("creases.cli.map.FEW_UNITS", 0)
    monkeypatch.setattr("creases.regions.estimate_regions", lambda *_, **__: Estimate(123_456, 600.0))

    def interrupt(*_, progress=None, **__):
        progress("finding regions", 7, None)
        raise KeyboardInterrupt

    monkeypatch.setattr("creases.regions.plane", interrupt)
    result = run("map", fold, "--out", "map.png")
    assert result.exit_code == 130
    said = " ".join(result.stderr.split())
    assert "Estimate from small samples: about 120,000 regions, 10 min. Press Ctrl-C to stop." in said
    assert "with 7 regions so far; nothing was written" in said
    assert not list(tmp_path.glob("*.png"))


def test_a_map_beyond_the_memory_limit_says_how_far_it_was(run, tmp_path):
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(300, 2)), 0.3 * rng.normal(size=300)), (np.ones((1, 300)), np.zeros(1))]
    creases.read(layers).save(tmp_path / "wide.safetensors")
    result = run("map", tmp_path / "wide.safetensors", "--max-memory", "0.002", "--out", "map.png")
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "error: --max-memory 0.002 reached with" in said
    assert "regions so far; nothing was written. Map a smaller --box, or use --tiles" in said
    assert not list(tmp_path.glob("*.png"))


def test_short_work_needs_no_estimate(run, fold):
    assert "Estimate" not in run("map", fold).stderr


@pytest.mark.slow
def test_tiles_are_written_to_a_folder_and_have_the_same_regions(run, fold):
    result = run("map", fold, "--box", "-1,1,-1,2", "--tiles", 3, "--engine", "serial", "--out", "tiles", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["regions"], summary["tiles"], summary["folder"]) == (4, 9, "tiles")
    refused = run("map", fold, "--tiles", 3, "--engine", "serial", "--jobs", 2, "--out", "others")
    assert (refused.exit_code, "--jobs must be 1 for the serial engine" in refused.stderr) == (2, True)
    again = run("map", fold, "--box", "-1,1,-1,2", "--tiles", 3, "--engine", "serial", "--out", "tiles")
    assert re.search(r"^regions +4 *$", again.stdout, re.M)
    assert run("report", "tiles/tile-0-0.npz", "--out", "tile.html").exit_code == 0


def test_tiles_of_a_plane_through_three_inputs(run, wide, tmp_path):
    points = np.random.default_rng(1).normal(size=(3, 5))
    for name, point in zip("abc", points, strict=True):
        np.save(tmp_path / f"{name}.npy", point)
    words = ["map", wide, "--through", "a.npy", "b.npy", "c.npy", "--json"]
    result = run(*words, "--tiles", 2, "--engine", "serial", "--out", "tiles")
    assert result.exit_code == 0, result.output
    whole = json.loads(run(*words).stdout)
    assert json.loads(result.stdout)["regions"] == whole["regions"]


def test_interrupted_tiles_can_be_resumed(run, fold, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PlaneTiles, "compute_tile", interrupt)
    result = run("map", fold, "--tiles", 2, "--engine", "serial", "--out", "tiles")
    assert result.exit_code == 130
    assert "0 of 4 tiles are in tiles. Resume with: creases map" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "map.png"], "--tiles must have a network and one folder to write to; use --out DIR"),
        ([], "--tiles must have a network and one folder to write to; use --out DIR"),
        (["--out", "tiles", "--exact"], "--exact must be left out where tiles are computed"),
        (["--out", "tiles", "--engine", "cloud"], "--engine must be"),
    ],
)
def test_tiles_that_cannot_be_computed_are_refused(run, fold, words, message):
    result = run("map", fold, "--tiles", 2, *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_map_with_its_islands_is_cut_by_class_once(run, fold, monkeypatch):
    cuts = []
    monkeypatch.setattr(partition_module, "cut_by_class", lambda *values: cuts.append(1) or cut_by_class(*values))
    assert run("map", fold, "--out", "map.png", "--out", "map.json").exit_code == 0
    assert len(cuts) == 1
