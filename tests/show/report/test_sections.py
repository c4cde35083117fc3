"""What a report says of a network is so, and it says something of every network."""

import base64
import json

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.show.report._network_sections import network_sections
from creases.show.report._page import format_float, format_integer
from creases.show.report._subject import count_parameters

BOX = [(-1.0, 1.0), (-1.0, 1.0)]
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 2))
Y = (X[:, 0] > 0).astype(int)

#: relu(x1 + x2 + 1/2) twice, a unit that is never on: f = relu(x1 + x2 + 1/2) - 1.
SPARE = creases.read([([[1.0, 1.0], [2.0, 2.0], [1.0, 0.0]], [0.5, 1.0, -5.0]), ([[0.5, 0.25, 1.0]], [-1.0])])


def told(sections):
    """Sections by title; each must be plain JSON without NaN."""
    json.dumps(sections, allow_nan=False)
    assert len({section["title"] for section in sections}) == len(sections)
    return {section["title"]: section for section in sections}


def rows(section):
    """A table of names and values."""
    return dict(section["table"]["rows"])


@pytest.fixture(scope="module")
def spare():
    return told(network_sections(SPARE, box=BOX, X=X, y=Y, classes=["low", "high"]))


def test_the_certificate_says_that_the_pieces_are_the_network(spare):
    section = spare["Exactness"]
    assert "agree with the network up to rounding" in section["text"]
    assert rows(section)["network"] == "2 inputs, 3 hidden units, 1 output"
    assert rows(section)["parameters"] == "13"


def test_the_census_is_that_of_the_partition(spare):
    found = rows(spare["Regions"])
    assert found["regions in the box"] == "2"
    assert found["total area"] == "4"
    corner = 1.5**2 / 2  # the triangle x1 + x2 < -1/2 of the box
    assert found["largest, median, smallest area"] == f"{4 - corner:g}, 2, {corner:g}"
    assert found["samples outside the box"] == "0"
    assert "Regions with data (60 samples): 2" in spare["Regions"]["text"]


def test_classes_have_the_area_where_they_are_decided(spare):
    high = 1.5**2 / 2 / 4  # f > 0 where x1 + x2 > 1/2
    table = spare["Predicted classes"]["table"]["rows"]
    assert table[1][:3] == ["high", f"{100 * high:.3g}%", "1"]
    assert [row[3] for row in table] == [str((Y == 0).sum()), str((Y == 1).sum())]


def test_dead_and_doubled_units_are_named(spare):
    notes = [row[2] for row in spare["Units"]["table"]["rows"]]
    assert notes == ["", "duplicate of unit 0 (same crease)", "dead: never active"]
    assert spare["Units"]["text"].startswith(
        "3 units. Proved over the whole box: 1 dead, 0 always active. 1 shares its"
    )


def test_pictures_come_for_light_and_for_dark_paper(spare):
    picture = spare["Dual plot of output"]["picture"]
    light, dark = (base64.b64decode(picture[name].split(",")[1]) for name in ("light", "dark"))
    assert light[:8] == dark[:8] == b"\x89PNG\r\n\x1a\n"
    assert light != dark


def test_the_accuracy_with_few_pieces_is_drawn_beside_the_networks_own(spare):
    section = spare["Number of pieces needed"]
    (chart,), (row,) = section["charts"], section["table"]["rows"]
    few, _, own = chart["series"]
    assert [f"{value:.3g}%" for value in (*few["y"], own["y"][0])] == row[1:]
    assert few["x"] == [int(k) for k in section["table"]["columns"][1:-1]]


def test_a_network_of_pieces_that_decide_alike_needs_one(spare):
    share = np.mean((np.asarray(SPARE(X[1::2]))[:, 0] > 0) == Y[1::2])
    assert spare["Number of pieces needed"]["table"]["rows"][0][-1] == f"{100 * share:.3g}%"


def test_the_share_of_the_area_with_data_is_that_of_its_regions():
    fold = creases.read([([[1.0, 0.0]], [-0.5]), ([[1.0]], [0.0])])  # folds at x1 = 1/2
    found = told(network_sections(fold, box=BOX, X=[[0.7, 0.0], [0.9, 0.5]], y=[1.0, 1.0]))["Regions"]
    assert "Regions with data (2 samples): 1, 25% of the area." in found["text"]


def test_parameters_are_those_that_torch_counts_also_with_pooling():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 3))
    assert count_parameters(creases.read(model, (1, 4, 4))) == sum(one.numel() for one in model.parameters())


def test_a_function_of_one_direction_is_told_by_it(spare):
    ((name, _, share, needed, direction),) = spare["Sensitivity"]["table"]["rows"]
    assert (name, share, needed) == ("output", "100%", "1")
    first, second = X.std(axis=0) / np.linalg.norm(X.std(axis=0))  # it is a function of x1 + x2
    assert direction in (f"+{first:.2f} x1, +{second:.2f} x2", f"+{second:.2f} x2, +{first:.2f} x1")


def test_the_units_of_a_column_do_not_decide_what_the_output_is_sensitive_to():
    weights, units = np.array([3.0, 1.0, 0.0]), np.array([1.0, 1e3, 1e-6])
    net = creases.read([([weights / units], [0.0])])
    found = network_sections(net, box=[(-9e3, 9e3)] * 3, X=[units, -units])
    (section,) = (one for one in found if one["title"] == "Sensitivity")
    assert section["table"]["rows"][0][4] == "+0.95 x1, +0.32 x2"
    assert section["text"].endswith("Inputs are in units of their standard deviations.")


def test_a_spline_is_listed_by_its_breakpoints_and_delta_slopes():
    bump = creases.read([([[1.0], [1.0], [1.0]], [0.0, -1.0, -2.0]), ([[1.0, -2.0, 1.0]], [0.5])])
    found = told(network_sections(bump, box=[(-1.0, 3.0)], X=[[0.5], [2.5]], y=[1.0, 0.5], features=["time"]))
    table = found["Breakpoints"]["table"]
    assert table["columns"] == ["time", "units", "Δ slope of output"]
    assert table["rows"] == [["0", "0", "1"], ["1", "1", "-2"], ["2", "2", "1"]]
    assert "0 at the left end and 0 at the right" in found["Breakpoints"]["text"]
    assert rows(found["Regions"])["total length"] == "4"
    assert "Predicted classes" not in found  # its output is a value


def test_pieces_that_are_not_the_network_are_said_so(monkeypatch, drawn):
    from creases.show.report import _subject as subject

    def wrong(net, box, *_):
        partition = creases.plane(net, box)
        partition.patterns[0] ^= 1
        return partition

    monkeypatch.setattr(subject, "plane", wrong)
    found = told(network_sections(SPARE, box=BOX))["Exactness"]
    assert "do NOT agree with the network" in found["text"]
    assert "creases map --exact" in found["text"]


def test_more_inputs_are_looked_at_sample_by_sample_or_on_a_slice(drawn):
    torch.manual_seed(0)
    net = creases.read(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)))
    points = RNG.uniform(-1, 1, (30, 4))
    box = [(-1.0, 1.0)] * 4
    labels = RNG.integers(0, 3, 30)
    found = told(network_sections(net, box=box, X=points, y=labels, classes=list("abc")))
    regions = len(np.unique(net.sides(points), axis=0))
    assert f"30 samples fall in {regions} regions" in found["Regions"]["text"]
    assert "Proved by bounds over the box" in found["Units"]["text"]
    (chart,) = found["Sensitivity"]["charts"]
    gradients = np.concatenate([part.J for part in net.jacobians(points)])[:, 0] * points.std(axis=0)
    expected = np.linalg.svd(gradients / np.sqrt(len(points)))[1]
    np.testing.assert_allclose(chart["series"][0]["y"], expected[: len(chart["series"][0]["y"])], rtol=1e-4)
    assert chart["series"][0]["x"] == [1, 2, 3, 4]
    cut = creases.plane_through(net, *points[:3])
    on_slice = told(network_sections(net, box=box, X=points, classes=list("abc"), partition=cut))
    assert rows(on_slice["Regions"])["regions in the slice"] == str(cut.count)
    assert rows(on_slice["Regions"])["regions of the whole input space that contain 30 samples"] == str(regions)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"X": X, "y": X[:, 0]},
        {"X": X[:1], "y": Y[:1], "classes": ["only"]},
        {"X": X[:0], "y": Y[:0], "classes": ["low", "high"]},
        {"X": 9 + X, "y": Y, "classes": ["low", "high"]},  # all outside the box
        {"X": np.where(X > 0.9, np.nan, X), "y": Y, "classes": ["low", "high"]},
    ],
    ids=["nothing", "regression", "one of one class", "no rows", "outside", "NaN"],
)
@pytest.mark.parametrize("hidden", [0, 3])
def test_there_is_something_to_say_of_every_network(drawn, hidden, given):
    torch.manual_seed(0)
    layers = [nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 2)] if hidden else [nn.Linear(2, 2)]
    found = told(network_sections(creases.read(nn.Sequential(*layers)), box=BOX, **given))
    assert {"Exactness", "Regions", "Units"} <= set(found)


def test_constant_networks_and_those_of_float32_have_sections_too(drawn):
    constant = creases.read([(np.zeros((3, 2)), np.zeros(3)), (np.zeros((1, 3)), np.ones(1))])
    found = told(network_sections(constant, box=BOX, X=X, y=Y, classes=["a", "b"]))
    assert found["Sensitivity"]["table"]["rows"][0][1:] == ["0", "–", "–", "constant"]
    single = told(network_sections(SPARE.to(torch.float32), box=BOX, X=X, y=Y, classes=["a", "b"]))
    assert rows(single["Exactness"])["precision"] == "float32"
    assert "agree with the network up to rounding" in single["Exactness"]["text"]


def test_of_many_units_those_with_a_note_are_listed_first(drawn):
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(150, 2)), rng.normal(size=150)
    W[149] = 2 * W[0]
    b[149] = 2 * b[0]
    net = creases.read([(W, b), (rng.normal(size=(1, 150)), np.zeros(1))])
    section = told(network_sections(net, box=[(-9.0, 9.0)] * 2))["Units"]
    listed = section["table"]["rows"]
    assert len(listed) == 100
    assert listed[-1][0] == "149"
    assert "50 more are not shown" in section["text"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"X": np.zeros((3, 5))}, "X must have 2 columns, one for each input, got 5"),
        ({"X": X, "y": Y[:4]}, "y must have 60 values, one for each sample, got 4"),
        ({"features": ["one"]}, "features must have 2 names, one for each input, got 1"),
        ({"box": [(0.0, 1.0)]}, r"box must be \(lo, hi\), or 2 pairs of them"),
    ],
)
def test_what_does_not_fit_the_network_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        network_sections(SPARE, **{"box": BOX, **given})


def test_numbers_are_short():
    assert format_float(float("nan")) == "–"
    assert format_float(1234.5678) == "1,235"
    assert format_integer(1234567) == "1,234,567"
    assert format_integer(2**100) == "about 10^30"
