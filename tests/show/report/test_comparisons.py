"""The report of a comparison: the networks beside each other, and where they decide differently."""

import json

import numpy as np
import pytest

import creases
from creases.cli.compare import Samples, write_comparison
from creases.compare import similarity
from creases.compare.differences import difference_at_samples
from creases.errors import FileError, InputError
from creases.show.report._comparisons import _choose_three, write_comparison_report
from report_pages import read

RNG = np.random.default_rng(0)
#: Class 1 where x1 > 0, and where x1 > 1/2.
OLD = creases.read([([[1.0, 0.0]], [0.0]), ([[0.0], [1.0]], [0.0, 0.0])])
NEW = creases.read([([[1.0, 0.0]], [-0.5]), ([[0.0], [1.0]], [0.0, 0.0])])


def compared(folder, nets, X, labels=None):
    """A folder as ``creases compare --out`` leaves it."""
    first, second, *_ = nets.values()
    changed = difference_at_samples(first, second, X, labels)
    own = Samples(X, labels, None, f"{len(X)} rows of data.csv")
    write_comparison(similarity(nets, X, y=labels), changed, own, nets, folder, ["creases", "compare", "old", "new"])
    return folder


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    X = np.concatenate([RNG.uniform(-1, 1, (40, 2)), [[-1, -1], [1, 1]]])
    labels = (X[:, 0] > 0).astype(np.int64)
    return compared(tmp_path_factory.mktemp("pair") / "out", {"old": OLD, "new": NEW}, X, labels)


def test_two_networks_of_two_inputs_are_maps_to_choose_from(pair):
    run, frames = read(pair / "report.html")
    assert (run["slices"], run["slices_are"]) == (["old", "new"], "Network")
    assert sorted(frames) == ["0", "0/1"]
    for name, bent in (("0", 0.0), ("0/1", 0.5)):
        header, arrays = frames[name]
        crease = arrays["vertices"][arrays["edges"][arrays["edge_units"] == 0]]
        (low, high), _ = header["box"]
        assert low + crease[..., 0] * (high - low) == pytest.approx(bent, abs=1e-6)
    sections = {section["title"]: section for section in run["sections"]}
    assert sections["Networks"]["table"]["rows"][0] == ["old", "100.00%", "7", "1", "2"]
    assert sections["Reproduce it"]["code"] == "creases compare old new"
    assert sections["Similarity"]["table"]["rows"][0][0] == "Agreement"


def test_where_they_decide_differently_is_told_exactly(pair):
    run, frames = read(pair / "report.html")
    (low, high), _ = frames["0"][0]["box"]
    section = next(s for s in run["sections"] if s["title"] == "Where they disagree")
    share = f"{100 * 0.5 / (high - low):.3g}%"
    assert f"old and new disagree on {share} of the inputs in the box." in section["text"]
    assert section["table"]["rows"] == [["1 and 0", "1 part", share]]
    assert section["picture"]["light"] != section["picture"]["dark"]


def test_samples_of_different_decisions_are_listed_with_the_truth(pair):
    run, _ = read(pair / "report.html")
    table = next(s for s in run["sections"] if s["title"].startswith("Classified differently"))["table"]
    assert table["columns"] == ["sample", "a predicts", "b predicts", "truth"]
    X = np.load(pair / "samples.npz")["X"]
    differ = np.flatnonzero((X[:, 0] > 0) & (X[:, 0] <= 0.5))
    assert sorted(int(row[0]) for row in table["rows"]) == differ.tolist()
    assert all(row[1:] == ["1", "0", "1"] for row in table["rows"])


def test_equal_networks_are_said_to_be_so(tmp_path, drawn):
    folder = compared(tmp_path / "out", {"a": OLD, "b": OLD}, RNG.uniform(-1, 1, (10, 2)))
    run, _ = read(folder / "report.html")
    titles = {section["title"]: section.get("text", "") for section in run["sections"]}
    assert titles["Where they disagree"] == "a and b are the same function in the box, up to rounding."
    assert not any(title.startswith("Classified differently") for title in titles)


@pytest.mark.slow
def test_three_networks_of_more_inputs_are_cut_through_samples_of_each_class(tmp_path, drawn):
    nets = {
        name: creases.read([(RNG.normal(size=(4, 3)), RNG.normal(size=4)), (RNG.normal(size=(3, 4)), np.zeros(3))])
        for name in "abc"
    }
    X = RNG.normal(size=(30, 3))
    folder = compared(tmp_path / "out", nets, X, np.arange(30) % 3)
    run, frames = read(folder / "report.html")
    assert run["slices"] == list("abc")
    header = frames["0"][0]
    means = np.stack([X[k::3].mean(axis=0) for k in range(3)])
    nearest = [X[k::3][np.linalg.norm(X[k::3] - mean, axis=1).argmin()] for k, mean in enumerate(means)]
    away = np.stack(nearest) - header["origin"]
    basis = np.array(header["basis"])
    assert away - away @ basis @ basis.T == pytest.approx(0, abs=1e-9)  # all three lie on the plane
    assert frames["0"][1]["points"].shape == (30, 2)
    titles = [section["title"] for section in run["sections"]]
    assert {"Agreement", "CKA", "Distance", "Cross-entropy"} <= set(titles)
    assert len(drawn) == 5  # and where the first two decide differently


def test_without_the_networks_the_page_is_of_sections_alone(pair, tmp_path):
    told = json.loads((pair / "comparison.json").read_text())
    (tmp_path / "comparison.json").write_text(json.dumps({**told, "networks": [], "names": ["<old>", "new"]}))
    page = write_comparison_report(tmp_path, tmp_path / "page.html")
    assert "<old>" not in page.read_text("utf-8")
    run, frames = read(page)
    assert not run["moments"]
    assert not frames
    assert run["lead"].startswith("2 networks compared. <old>, new, on ")
    assert "Agreement" in [row[0] for section in run["sections"] for row in section.get("table", {}).get("rows", [])]


def test_networks_of_one_input_are_lines(tmp_path, drawn):
    one, two = (creases.read([([[1.0]], [b]), ([[1.0], [0.0]], [0.0, 0.25])]) for b in (0.0, 0.5))
    folder = compared(tmp_path / "out", {"one": one, "two": two}, np.linspace(-1, 1, 9)[:, None])
    run, frames = read(folder / "report.html")
    assert [header["kind"] for header, _ in frames.values()] == ["line", "line"]
    assert "picture" not in next(s for s in run["sections"] if s["title"] == "Where they disagree")


def test_samples_on_one_line_are_no_plane():
    assert _choose_three(np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2]]), []) is None
    assert _choose_three(np.zeros((5, 3)), []) is None
    X = np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 0], [0, 0, 0]])
    assert _choose_three(X, [0, 4, 1]) == [0, 1, 3]  # 4 is 0 again, and 2 on the line of 0 and 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read .*comparison.json: there is no such file; pass a folder written by creases compare"),
        ("{", "is damaged"),
        ("[]", "it is damaged or from another version; missing: names"),
        ('{"names": ["a", "b"]}', "missing: samples, samples_of"),
    ],
)
def test_a_folder_without_a_comparison_is_refused(tmp_path, text, said):
    if text is not None:
        (tmp_path / "comparison.json").write_text(text)
    with pytest.raises(FileError, match=said):
        write_comparison_report(tmp_path, tmp_path / "page.html")


def test_a_page_has_a_page_s_name(pair):
    with pytest.raises(InputError, match=r"out must end in .html, got 'page.txt'"):
        write_comparison_report(pair, pair / "page.txt")
