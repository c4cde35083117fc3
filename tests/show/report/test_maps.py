"""The report of a map: one page with every region, from a partition or from a network."""

import numpy as np
import pytest

import creases
from creases.errors import FileError, InputError
from creases.show.report._maps import write_map_report
from report_pages import read

FOLD = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])


def test_a_partition_is_shown_as_it_was_saved(tmp_path, drawn):
    partition = creases.plane(FOLD, box=[(-1, 1), (-2, 2)])
    partition.save(tmp_path / "map.npz")
    out = write_map_report(tmp_path / "map.npz", tmp_path / "map.html", command=["creases", "report", "my map.npz"])
    run, frames = read(out)
    header, arrays = frames["0"]
    assert header["box"] == [[-1, 1], [-2, 2]]
    assert len(arrays["starts"]) - 1 == partition.count == run["moments"][0]["regions"]
    assert run["records"] == run["epochs"]["loss"] == run["problem"]["X"] == []
    assert run["problem"]["classes"] == ["class 0", "class 1"]
    titles = [section["title"] for section in run["sections"]]
    assert titles[0] == "Exactness"
    assert titles[-1] == "Reproduce it"
    assert run["sections"][-1]["code"] == "creases report 'my map.npz'"


def test_a_network_is_mapped_around_its_data_or_in_the_box_given(tmp_path, drawn):
    FOLD.save(tmp_path / "net.safetensors")
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (50, 2))
    np.savez(tmp_path / "data.npz", X=X, y=(X.sum(axis=1) > 1).astype(int))
    out = tmp_path / "report.html"
    run, frames = read(write_map_report(tmp_path / "net.safetensors", out, data=tmp_path / "data.npz"))
    (low, high), _ = frames["0"][0]["box"]
    assert low < X[:, 0].min() < X[:, 0].max() < high
    assert np.array(run["problem"]["X"]) == pytest.approx(X)
    assert run["problem"]["classes"] == ["0", "1"]
    shares = next(s for s in run["sections"] if s["title"] == "Number of pieces needed")["table"]["rows"][0]
    assert shares[-1] == "100%"  # the network decides as the data are
    _, frames = read(write_map_report(tmp_path / "net.safetensors", out, box=[(0, 2), (0, 3)]))
    assert frames["0"][0]["box"] == [[0, 2], [0, 3]]


def test_weights_in_an_npz_file_and_networks_of_one_input_are_maps_too(tmp_path, drawn):
    np.savez(tmp_path / "kink.npz", W0=[[1.0], [-1.0]], b0=[0.0, 0.5], W1=[[1.0, 1.0]], b1=[0.0])
    run, frames = read(write_map_report(tmp_path / "kink.npz", tmp_path / "kink.html", box=[(-2, 2)]))
    header, arrays = frames["0"]
    assert header["kind"] == "line"
    assert arrays["x"].tolist() == [-2, 0, 0.5, 2]
    assert run["problem"]["task"] == "regression"
    creases.line(creases.read(FOLD), [-1, 0.5], [1, 0.5]).save(tmp_path / "line.npz")
    assert read(write_map_report(tmp_path / "line.npz", tmp_path / "line.html"))[1]["0"][0]["kind"] == "line"


def test_a_slice_through_more_inputs_is_shown_on_its_plane(tmp_path, drawn):
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(6, 4)), rng.normal(size=6)), (rng.normal(size=(3, 6)), np.zeros(3))])
    creases.plane_through(net, *rng.normal(size=(3, 4))).save(tmp_path / "cut.npz")
    X = rng.normal(size=(20, 4))
    np.savez(tmp_path / "data.npz", X=X, y=rng.integers(0, 3, 20))
    run, frames = read(write_map_report(tmp_path / "cut.npz", tmp_path / "cut.html", data=tmp_path / "data.npz"))
    assert frames["0"][1]["points"].shape == (20, 2)
    assert len(run["problem"]["features"]) == 4


def test_a_unit_that_is_off_on_a_slice_is_not_dead_where_data_lie_beside_it(tmp_path, drawn):
    net = creases.read([([[0.0, 0.0, 1.0]], [-2.0]), ([[1.0]], [0.0])])  # on above x3 = 2
    creases.plane(net, [(-1, 1)] * 2, np.zeros(3), np.eye(3)[:, :2]).save(tmp_path / "cut.npz")
    np.savez(tmp_path / "data.npz", X=[[0.1, 0.2, 0.0], [0.0, 0.0, 5.0]], y=[0, 1])
    for given, note in (({}, "dead: never active"), ({"data": tmp_path / "data.npz"}, "")):
        run, _ = read(write_map_report(tmp_path / "cut.npz", tmp_path / "cut.html", **given))
        (units,) = (one for one in run["sections"] if one["title"] == "Units")
        assert units["table"]["rows"][0][2] == note


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("none.npz", {}, FileError, "cannot read .*: there is no such file"),
        ("notes.txt", {}, FileError, "cannot read .*: expected a map"),
        ("broken.npz", {}, FileError, "cannot read .*: it is not an .npz file of creases, or damaged"),
        ("cut.npz", {}, FileError, "cannot read .*: it is not an .npz file of creases, or damaged"),
        ("other.npz", {}, FileError, "must hold W0, b0"),
        (
            "wide.safetensors",
            {},
            InputError,
            "path must be a network of one or two inputs, or a map, got a network of 3 inputs",
        ),
        (
            "map.npz",
            {"box": [(0, 1), (0, 1)]},
            InputError,
            "box must be omitted for a map, which has its own box, got a box for map.npz",
        ),
        (
            "fold.safetensors",
            {"box": [(1, 0), (0, 1)]},
            InputError,
            "box must have lo < hi on every axis, got .* on axis 0",
        ),
        (
            "fold.safetensors",
            {"data": "three.npz"},
            InputError,
            "data must have 2 input columns, as the network, got 3 in three.npz",
        ),
        (
            "fold.safetensors",
            {"data": "many.npz"},
            InputError,
            "data must have at most 2 classes, as the network, got 3 in many",
        ),
    ],
)
def test_what_cannot_be_mapped_is_refused(tmp_path, name, options, error, said):
    (tmp_path / "notes.txt").write_text("no network")
    (tmp_path / "broken.npz").write_text("no archive")
    np.savez(tmp_path / "other.npz", a=1)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:60])
    creases.read([(np.ones((2, 3)), np.zeros(2))]).save(tmp_path / "wide.safetensors")
    creases.plane(FOLD).save(tmp_path / "map.npz")
    FOLD.save(tmp_path / "fold.safetensors")
    np.savez(tmp_path / "three.npz", X=np.arange(12.0).reshape(4, 3), y=[0, 1, 0, 1])
    np.savez(tmp_path / "many.npz", X=np.arange(12.0).reshape(6, 2), y=list("abcabc"))
    if "data" in options:
        options = {"data": tmp_path / options["data"]}
    with pytest.raises(error, match=said):
        write_map_report(tmp_path / name, tmp_path / "out.html", **options)
    assert not (tmp_path / "out.html").exists()


def test_classes_of_a_table_are_the_outputs_of_their_numbers(tmp_path, drawn):
    third = creases.read([(np.eye(2), np.zeros(2)), ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.1, 0.0, 0.0])])
    third.save(tmp_path / "three.safetensors")
    X = np.random.default_rng(0).uniform(0.2, 1, (30, 2))  # class 0 is decided nowhere here, and not in the table
    (tmp_path / "two.csv").write_text("\n".join(["a,b,y", *(f"{a},{b},{1 + (b > a)}" for a, b in X)]))
    run, _ = read(write_map_report(tmp_path / "three.safetensors", tmp_path / "page.html", data=tmp_path / "two.csv"))
    assert run["problem"]["classes"] == ["0", "1", "2"]
    assert set(run["problem"]["y"]) == {1, 2}
    found = next(s for s in run["sections"] if s["title"] == "Number of pieces needed")
    assert found["table"]["rows"][0][-1] == "100%"


def test_a_line_is_shown_without_samples_that_are_not_on_it(tmp_path, drawn):
    creases.line(FOLD, [-1, 0.5], [1, 0.5]).save(tmp_path / "line.npz")
    np.savez(tmp_path / "data.npz", X=np.arange(18.0).reshape(9, 2), y=np.arange(9) % 2)
    run, _ = read(write_map_report(tmp_path / "line.npz", tmp_path / "line.html", data=tmp_path / "data.npz"))
    assert run["problem"]["X"] == []
    creases.line(FOLD, [-1, 0.5], [1, 0.5], infinite=True).save(tmp_path / "endless.npz")
    with pytest.raises(
        InputError, match=r"path must be a map of a segment, got endless.npz, which covers an infinite line"
    ):
        write_map_report(tmp_path / "endless.npz", tmp_path / "endless.html")


def test_a_page_has_a_page_s_name(tmp_path):
    with pytest.raises(InputError, match=r"out must end in .html, got 'out.pdf'"):
        write_map_report(tmp_path / "map.npz", tmp_path / "out.pdf")
