"""The report of a growth run: one file that needs nothing else, and tells what the run was."""

import base64
import json
import re
import shutil
import zlib
from dataclasses import replace

import numpy as np
import pytest

import creases
from creases import problems
from creases.errors import InputError
from creases.growth import GrowthConfig, History
from creases.growth import _checkpoint as checkpoint
from creases.show.report import _growth as growth
from creases.show.report import _growth_sections as growth_sections
from creases.show.report import _slices as slices
from creases.show.report._growth import write_growth_report, write_run_report
from creases.show.report._quality import losses
from creases.tables import Experiment, RunSettings, TableSplit, load_run
from report_pages import decode_frame


def made(folder, data, missing="error", **config):
    """A run in a folder, as ``creases grow`` leaves it but for pictures."""
    folder.mkdir()
    given = RunSettings(data, missing=missing, config=GrowthConfig(**config))
    given.save(folder)
    experiment = Experiment.from_problem(given.load_problem(), given.config, folder=folder)
    experiment.run(progress=False)
    experiment.network.save(folder / "model.safetensors")
    experiment.history.save(folder / "history.json")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("growth")


@pytest.fixture(scope="module")
def circles(place):
    return made(place / "circles", data="xor_circles", budget=45, when=12)


@pytest.fixture(scope="module")
def iris(place):
    return made(place / "iris", data="iris", budget=30, when=10)


@pytest.fixture(scope="module")
def sine(place):
    return made(place / "sine", data="sine_curve", budget=40, when=15)


def read(path):
    """The run and the frames that a report's page holds."""
    packed = re.search(r'id="creases-report">([^<]*)<', path.read_text()).group(1)
    header, arrays = decode_frame(zlib.decompress(base64.b64decode(packed)))
    return header["run"], {name: decode_frame(data.tobytes()) for name, data in arrays.items()}


@pytest.fixture(scope="module")
def circles_report(circles):
    path = circles.parent / "circles.html"
    return write_growth_report(circles, path), *read(path)


@pytest.fixture(scope="module")
def iris_report(iris):
    path = iris.parent / "iris.html"
    return write_growth_report(iris, path), *read(path)


@pytest.fixture
def quick(monkeypatch):
    """Without the sections about the network itself, which have tests of their own."""
    monkeypatch.setattr(growth_sections, "network_sections", lambda net, **given: [])


def section(run, title):
    return next(one for one in run["sections"] if one["title"] == title)


@pytest.mark.slow
def test_the_page_refers_to_nothing_outside(circles_report):
    text = circles_report[0].path.read_text()
    assert set(re.findall(r"https?://[^\"'`\s)]*", text)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/XML/1998/namespace",
    }
    head = re.split(r"<script|<style", text)[0]
    assert all(address.startswith("data:") for address in re.findall(r'(?:href|src)="([^"]*)"', head))
    assert "<title>xor_circles: a growth run</title>" in text


def test_every_moment_has_a_frame_and_every_growth_step_a_moment(circles_report):
    _, found, frames = circles_report
    assert set(frames) == {str(moment["id"]) for moment in found["moments"]}
    steps = {moment["record"] for moment in found["moments"] if moment["record"] is not None}
    assert steps == {record["number"] for record in found["records"]} != set()
    for moment in found["moments"]:
        header, arrays = frames[str(moment["id"])]
        assert header["moment"] == moment["id"]
        assert len(arrays["patterns"]) == moment["regions"]
    assert [moment["kind"] for moment in found["moments"]][:: len(found["moments"]) - 1] == ["start", "end"]


def test_the_last_frame_is_of_the_network_that_was_kept(circles, circles_report):
    _, found, frames = circles_report
    kept = load_run(circles)
    header, arrays = frames[str(found["moments"][-1]["id"])]
    low, size = np.array(header["box"])[:, 0], np.diff(header["box"], axis=1)[:, 0]
    t = low + arrays["vertices"][: len(arrays["values"])].astype(float) * size
    assert np.allclose(arrays["values"], kept.net(t), atol=1e-3)
    assert found["kept"] == kept.epoch


def test_the_sections_tell_what_a_reader_asks(circles, circles_report):
    _, found, _ = circles_report
    titles = [one["title"] for one in found["sections"]]
    wanted = ["Scores", "Overview", "Growth steps", "Hardest samples", "Calibration", "Load the network"]
    assert [title for title in titles if title in wanted] == wanted
    assert titles[-1] == "About this report"
    assert found["sections"][0]["viewer"]  # of points in a plane the picture comes first
    questions = ["What does it do?", "Is it good?", "Why did it grow?", "Where is it wrong?", "How confident is it?"]
    assert list(dict.fromkeys(one["group"] for one in found["sections"]))[:5] == questions
    assert section(found, "Load the network")["code"].splitlines() == [
        "import creases",
        'net = creases.read("circles/model.safetensors")',
        "net(X)",
    ]
    again = section(found, "Reproduce it")["code"]
    assert again.startswith("creases grow xor_circles ")
    assert " --when 12 --budget 45 --out circles" in again
    for one in found["sections"]:
        table = one.get("table", {"columns": [], "rows": []})
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), one["title"]


def test_the_ledger_has_a_row_for_every_growth_step(circles, circles_report):
    _, found, _ = circles_report
    table = section(found, "Growth steps")["table"]
    history = History.load(circles / "history.json")
    columns = {name: [row[k] for row in table["rows"]] for k, name in enumerate(table["columns"])}
    assert columns["step"] == [str(record.number) for record in history.records]
    assert columns["predictions changed"] == [str(record.changed) for record in history.records]
    assert columns["loss before"] == [f"{record.before['loss']:.4f}" for record in history.records]
    assert all("because" in why for why in columns["why"])
    assert all(float(change) > 0 for change in columns["largest change"])


def test_the_ledger_tells_what_the_networks_before_and_after_each_step_do(circles, circles_report):
    _, found, _ = circles_report
    kept = load_run(circles)
    X, y, train = kept.data.problem.X, kept.data.problem.y, kept.data.train
    before = {one.epoch: one.net for one in kept.snapshots if one.kind == "before"}
    table = section(found, "Growth steps")["table"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    grown = [one for one in kept.snapshots if one.kind == "grown"]
    assert [one.record for one in grown] == [int(row["step"]) for row in rows]
    for one, row in zip(grown, rows, strict=True):
        old, new = before[one.epoch](X), one.net(X)
        assert float(row["largest change"]) == pytest.approx(np.abs(new - old).max(), rel=6e-3)
        assert int(row["predictions changed"]) == (new.argmax(axis=1) != old.argmax(axis=1))[train].sum()
        for name, f in (("loss before", old), ("right after", new)):
            expected = (np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(f)), y])[train].mean()
            assert float(row[name]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.thorough
def test_the_margin_is_that_to_the_best_of_the_other_classes(iris, iris_report):
    _, found, _ = iris_report
    kept = load_run(iris)
    table = section(found, "Hardest samples")["table"]
    at = {name: k for k, name in enumerate(table["columns"])}
    for row in table["rows"]:
        number = int(row[at["row"]])
        f, own = kept.net(kept.data.problem.X[number : number + 1])[0], kept.data.problem.y[number]
        assert float(row[at["margin"]]) == pytest.approx(f[own] - np.delete(f, own).max(), rel=6e-3)


@pytest.mark.thorough
def test_the_smallest_changes_are_those_of_the_smallest_margins_and_change_the_decision(iris, iris_report):
    _, found, _ = iris_report
    kept = load_run(iris)
    X, classes = kept.data.problem.X, kept.data.problem.classes
    f = np.sort(kept.net(X), axis=1)
    table = section(found, "What would flip a prediction")["table"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    test = kept.data.test
    closest = test[np.argsort((f[:, -1] - f[:, -2])[test])[:8]]
    assert {int(row["row"]) for row in rows} == set(closest.tolist())
    assert [float(row["size"]) for row in rows] == sorted(float(row["size"]) for row in rows)
    for row in rows[:3]:
        x = X[int(row["row"])].copy()
        for words in row["if"].replace(", ", " and ").split(" and "):
            name, after, before = re.fullmatch(r"(.+) is ([\d.]+) cm instead of ([\d.]+) cm", words).groups()
            column = kept.data.problem.features.index(f"{name} (cm)")
            assert float(before) == x[column]
            x[column] = float(after)
        becomes = classes[kept.net(x).argmax()]
        assert becomes != row["predicted"]
        assert re.fullmatch(rf"{becomes} [\d.]+ %", row["becomes"])


def test_the_hardest_instances_have_the_largest_losses(circles, circles_report):
    _, found, _ = circles_report
    kept = load_run(circles)
    table = section(found, "Hardest samples")["table"]
    loss, data = losses(kept.model, None), kept.data
    f = np.asarray(kept.net(data.problem.X))
    expected = -f[np.arange(len(f)), data.problem.y] + np.log(np.exp(f).sum(axis=1))
    assert np.allclose(loss, expected)
    at = {name: k for k, name in enumerate(table["columns"])}
    for part, rows in (("test", data.test), ("validation", data.validation), ("training", data.train)):
        shown = [int(row[at["point"]]) for row in table["rows"] if row[0] == part]
        assert set(shown) <= set(rows.tolist())
        assert loss[shown].min() >= np.delete(loss[rows], np.searchsorted(rows, shown)).max()
    for row in table["rows"]:
        wrong = float(row[at["margin"]]) < 0
        assert wrong == (row[at["true class"]] != row[at["predicted class"]])


def test_more_inputs_are_shown_on_slices_with_their_data(iris, iris_report):
    written, found, frames = iris_report
    assert len(found["slices"]) == 4
    assert found["slices"][0].count(" × ") == 1
    assert found["slices"][3] == "directions of largest variation"
    assert written.slices == tuple(found["slices"])
    names = {str(moment["id"]) + tail for moment in found["moments"] for tail in ("", "/1", "/2", "/3")}
    assert set(frames) == names
    X, features = np.array(found["problem"]["X"]), found["problem"]["features"]
    last = found["moments"][-1]["id"]
    for number, name in enumerate(found["slices"]):
        header, arrays = frames[f"{last}/{number}" if number else str(last)]
        assert header["slice"] == number
        low, size = np.array(header["box"])[:, 0], np.diff(header["box"], axis=1)[:, 0]
        t = low + arrays["points"].astype(float) * size
        if number < 3:
            pair = [features.index(one) for one in name.split(" × ")]
            assert np.allclose(t, X[:, pair], atol=1e-4)
            assert ((arrays["points"] > 0) & (arrays["points"] < 1)).all()
        else:
            assert name == "directions of largest variation"
            assert np.median(arrays["distance"]) < 1.0  # along the data
        kept = load_run(iris)
        inside = np.array(header["origin"]) + t[:5] @ np.array(header["basis"]).T
        assert kept.net(inside).shape == (5, 3)


@pytest.mark.thorough
def test_slices_that_are_asked_for_are_shown(iris, tmp_path, quick):
    asked = {"columns": ["sepal length (cm),3"], "through": ["0,60,120", "1,2,140"]}
    written = write_growth_report(iris, tmp_path / "r.html", **asked)
    assert written.slices == (
        "sepal length (cm) × petal width (cm)",
        "through rows 0, 60 and 120",
        "through rows 1, 2 and 140",
    )
    found, frames = read(tmp_path / "r.html")
    header, arrays = frames[f"{found['moments'][0]['id']}"]
    kept = load_run(iris)
    assert header["origin"] == [0, np.median(kept.data.problem.X[:, 1]), np.median(kept.data.problem.X[:, 2]), 0]
    assert "--columns 'sepal length (cm),3'" in section(found, "Reproduce it")["code"]
    assert len(arrays["points"]) == 150


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"columns": ["colour,3"]},
            "columns must be two of sepal length (cm), sepal width (cm), petal length (cm), petal width (cm), or "
            "their numbers, got 'colour'",
        ),
        ({"columns": ["3,3"]}, "columns must be two different columns such as sepal length"),
        ({"columns": ["1"]}, "columns must be two different columns"),
        ({"columns": ["0,sepal length (cm)"]}, "columns must be two different columns"),
        ({"columns": ["0,1,2"]}, "columns must be two different columns"),
        ({"through": ["1,2"]}, "through must be the numbers of three rows such as 0,1,2, got '1,2'"),
        ({"through": ["1,2,x"]}, "through must be the numbers of three rows"),
        ({"through": ["1,2,150"]}, "through must be rows from 0 to 149, got row 150"),
    ],
)
def test_slices_that_are_not_there_are_refused(iris, tmp_path, asked, said):
    with pytest.raises(InputError, match=re.escape(said)):
        write_growth_report(iris, tmp_path / "r.html", **asked)
    assert not (tmp_path / "r.html").exists()


def test_problems_of_two_inputs_have_no_slices_to_choose(circles, tmp_path):
    with pytest.raises(
        InputError, match="columns must be omitted for one or two inputs, which need no slice, got 2 inputs"
    ):
        write_growth_report(circles, tmp_path / "r.html", columns=["0,1"])


def test_columns_that_matter_most_come_first():
    data = TableSplit.from_problem(problems.get("iris"))
    weights = np.array([[0.0, 0, 3, 0.1], [0.0, 0, -3, 0], [0.0, 5, 0, 0]])  # sepal width, petal length, petal width
    net = creases.read([(weights, np.zeros(3)), (np.eye(3), np.zeros(3))])
    names = [cut.name for cut in slices.choose_slices(net, data)]
    assert names[0] == "sepal width (cm) × petal length (cm)"
    assert len(names) == 4


def test_one_input_is_shown_as_a_function(sine, tmp_path):
    write_growth_report(sine, tmp_path / "r.html")
    found, frames = read(tmp_path / "r.html")
    assert {header["kind"] for header, _ in frames.values()} == {"line"}
    assert "slices" not in found
    assert found["measure"] == "R²"
    table = section(found, "Hardest samples")["table"]
    assert "error" in table["columns"]
    assert "test RMSE" in section(found, "Scores")["table"]["columns"]


def test_a_report_stays_small_by_leaving_moments_and_rows_out(circles, tmp_path, monkeypatch, quick):
    monkeypatch.setattr(growth, "BUDGET", 5_000)
    monkeypatch.setattr(growth, "ROWS", 50)
    written = write_growth_report(circles, tmp_path / "r.html")
    found, frames = read(tmp_path / "r.html")
    assert len(frames) == len(found["moments"]) == written.moments[0] < written.moments[1]
    assert found["moments"][-1]["kind"] == "end"
    assert len(found["problem"]["X"]) == 50
    said = section(found, "About this report")["text"]
    assert f"{written.moments[0]} of the {written.moments[1]} networks" in said
    assert "50 of the 400 rows" in said
    for record in found["records"]:
        assert record["marks"].get("instance", 0) < 50
    assert any("instance" in record["marks"] for record in found["records"])


@pytest.mark.thorough
def test_of_large_networks_fewer_slices_are_shown_so_that_time_has_room(iris, tmp_path, monkeypatch, quick):
    monkeypatch.setattr(growth, "BUDGET", 20_000)
    found = write_growth_report(iris, tmp_path / "r.html")
    assert len(found.slices) == 2
    assert found.slices[1] == "directions of largest variation"
    asked = write_growth_report(iris, tmp_path / "r.html", columns=["0,1", "1,2", "2,3"])
    assert len(asked.slices) == 3


def test_a_run_that_has_not_ended_is_reported_as_far_as_it_is(circles, tmp_path, quick):
    folder = shutil.copytree(circles, tmp_path / "circles")
    (folder / "history.json").unlink()
    state = checkpoint.load_checkpoint(folder / "checkpoint.pt")
    history = History.from_json(state["history"])
    history.ended, history.epochs = "", history.epochs[:30]
    history.records = [record for record in history.records if record.epoch <= 30]
    checkpoint.save_checkpoint(folder / "checkpoint.pt", {**state, "history": history.to_json()})
    written = write_growth_report(folder, tmp_path / "r.html")
    found, _ = read(tmp_path / "r.html")
    assert not written.ended
    assert found["kept"] == found["moments"][-1]["epoch"] <= 30
    assert not any(record["undone"] for record in found["records"])
    assert "is not finished" in section(found, "Overview")["text"]
    assert section(found, "Load the network")["text"].endswith("its network is in circles/model.safetensors.")


def test_a_run_that_was_never_trained_is_refused(circles, tmp_path):
    kept = load_run(circles)
    with pytest.raises(InputError, match="run must have at least one epoch"):
        write_run_report(replace(kept, history=History()), tmp_path / "r.html", model="m", again="")


def test_rows_of_a_table_keep_their_numbers_when_some_are_left_out(tmp_path, quick):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    lines = [",".join([*(f"{value:.4f}" for value in row), label]) for row, label in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,answer", *[",1,2,no"] * 5, *lines]))
    folder = made(tmp_path / "o", data=str(tmp_path / "t.csv"), budget=20, when=8, missing="drop")
    write_growth_report(folder, tmp_path / "r.html", through=["5,6,64"])
    found, frames = read(tmp_path / "r.html")
    _, arrays = frames[str(found["moments"][-1]["id"])]
    assert np.allclose(arrays["distance"][[0, 1, 59]], 0, atol=1e-5)
    table = section(found, "Hardest samples")["table"]
    at = {name: k for k, name in enumerate(table["columns"])}
    for row in table["rows"]:
        line = lines[int(row[at["row"]]) - 5].split(",")
        assert row[at["true answer"]] == line[3]
        assert float(row[at["a"]]) == pytest.approx(float(line[0]), rel=1e-2)
    assert json.dumps(found, allow_nan=False)


@pytest.mark.slow
def test_few_rows_and_columns_that_tell_nothing_are_reported_too(tmp_path):
    lines = [f"{k},{k},5,{'red' if k % 2 else 'blue'},{'yes' if k > 5 else 'no'}" for k in range(11)]
    (tmp_path / "t.csv").write_text("\n".join(["a,same,constant,text,answer", *lines]))
    settings = {"data": str(tmp_path / "t.csv"), "budget": 8, "test_fraction": 0.3, "validation_fraction": 0.4}
    written = write_growth_report(made(tmp_path / "o", **settings), tmp_path / "r.html")
    found, _ = read(tmp_path / "r.html")
    assert len(written.slices) >= 3
    assert json.dumps(found, allow_nan=False)
