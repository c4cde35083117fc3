"""Frames hold what they were given: bytes there and back, partitions of every kind of network."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.errors import FileError
from creases.show._viewer._frames import (
    encode_frame,
    line_frame,
    plane_frame,
    project_on_slice,
    render_report,
    report_frame,
)
from report_pages import decode_frame


def network(*widths, bend=nn.ReLU, dtype=torch.float64):
    """A network of random weights with these widths."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [part for a, b in pairwise(widths) for part in (nn.Linear(a, b), bend())][:-1]
    return creases.read(nn.Sequential(*layers).to(dtype), input_shape=(widths[0],))


def test_arrays_of_every_type_come_back_and_start_at_multiples_of_four():
    given = {"a": ("u1", np.arange(5)), "b": ("f4", np.ones((2, 3))), "c": ("i4", [-1]), "d": ("u4", np.zeros((0, 2)))}
    data = encode_frame({"kind": "x", "name": "é"}, given)
    header, arrays = decode_frame(data)
    assert header == {"kind": "x", "name": "é"}
    assert int.from_bytes(data[4:8], "little") % 4 == 0
    for name, (_, values) in given.items():
        assert np.array_equal(arrays[name], np.asarray(values))
        assert arrays[name].shape == np.shape(values)


def test_numbers_beyond_float32_become_its_largest():
    _, arrays = decode_frame(encode_frame({}, {"a": ("f4", np.array([1e300, -1e300, 1e-300]))}))
    assert arrays["a"].tolist() == [float(np.finfo(np.float32).max), -float(np.finfo(np.float32).max), 0.0]


@pytest.mark.parametrize(
    "net",
    [
        network(2, 8, 5, 2),
        network(2, 6, 3, dtype=torch.float32),
        network(2, 4, 1),
        network(2, 3),
        network(2, 5, 2, bend=nn.LeakyReLU),
    ],
    ids=["two layers", "float32", "one output", "no units", "leaky"],
)
def test_a_plane_frame_holds_the_partition_and_its_boundary(net):
    part = creases.plane(net, [(-3, 1), (10, 14)])
    header, a = decode_frame(plane_frame(part, about={"moment": 7, "slice": 0}))
    assert header["moment"] == 7
    assert header["outputs"] == net.n_out
    assert [layer["width"] for layer in header["layers"]] == np.diff(net.unit_starts).tolist()
    decision = part.boundary()
    box = np.array(header["box"])
    t = box[:, 0] + a["vertices"] * np.diff(box, axis=1)[:, 0]
    assert np.allclose(t, decision.vertices, atol=1e-5)
    for name in ("corners", "starts", "patterns", "edges", "edge_units"):
        assert np.array_equal(a[name], getattr(part, name))
    for name in ("part_corners", "part_starts", "part_class", "part_region"):
        assert np.array_equal(a[name], getattr(decision, name))
    assert np.array_equal(a["boundary_edges"], decision.edges)
    assert np.allclose(a["values"], part.values, rtol=1e-6, atol=1e-6)
    centers = part.centers()
    values = np.einsum("rmk,rk->rm", a["J"], centers) + a["y"]
    assert np.allclose(values, np.asarray(net.to(torch.float64)(part.points(centers))), atol=1e-4)


def test_weights_are_sent_of_chains_of_affine_maps_and_relus_alone():
    box = [(-1, 1), (-1, 1)]
    _, a = decode_frame(plane_frame(creases.plane(network(2, 8, 5, 2), box)))
    assert [a[name].shape for name in ("W0", "b0", "W1", "b1", "W2", "b2")] == [
        (8, 2),
        (8,),
        (5, 8),
        (5,),
        (2, 5),
        (2,),
    ]
    residual = creases.read(Residual(), input_shape=(2,))
    for other in (network(2, 5, 2, bend=nn.LeakyReLU), network(2, 5, 2, bend=nn.Hardtanh), residual):
        _, a = decode_frame(plane_frame(creases.plane(other, box)))
        assert "W0" not in a
        assert "patterns" in a


class Residual(nn.Module):
    """x + relu(W x), and a maximum."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        y = x + torch.relu(self.layer(x))
        return torch.cat([y, torch.maximum(y, -y)], dim=1)


def test_unit_numbers_run_through_all_layers():
    part = creases.plane(network(2, 8, 5, 2), [(-3, 3), (-3, 3)])
    header, a = decode_frame(plane_frame(part))
    units = set(a["edge_units"].tolist()) - {-1}
    assert max(units) >= 8
    sides = np.unpackbits(a["patterns"], axis=1, bitorder="little")[:, : part.net.n_units]
    assert np.array_equal(sides, part.sides())
    assert sum(layer["width"] for layer in header["layers"]) == 13


def test_layers_are_called_as_growth_records_call_places():
    named = nn.Sequential()
    named.add_module("hidden1", nn.Linear(2, 3))
    named.add_module("bend1", nn.ReLU())
    named.add_module("output", nn.Linear(3, 2))
    assert decode_frame(plane_frame(creases.plane(creases.read(named))))[0]["layers"] == [
        {"name": "hidden1", "width": 3}
    ]
    creases.deepen(named, "hidden1")
    names = [layer["name"] for layer in decode_frame(plane_frame(creases.plane(creases.read(named))))[0]["layers"]]
    assert names == [place.name for place in creases.places(named)] == ["hidden1", "bend1.1"]
    arrays = creases.read([(np.eye(2), np.zeros(2)), (np.eye(2), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))])
    names = [layer["name"] for layer in decode_frame(plane_frame(creases.plane(arrays)))[0]["layers"]]
    assert names == ["layer 1", "layer 2"]


def test_layers_that_only_have_numbers_are_counted():
    plain = creases.read(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)))
    names = [layer["name"] for layer in decode_frame(plane_frame(creases.plane(plain)))[0]["layers"]]
    assert names == ["layer 1", "layer 2"]  # not 0 and 2, where they stand among all modules


def test_a_regression_has_no_boundary_and_every_region_is_one_part():
    part = creases.plane(network(2, 6, 1), [(-3, 3), (-3, 3)])
    _, a = decode_frame(plane_frame(part, decides=False))
    assert a["boundary_edges"].shape == (0, 2)
    assert len(a["vertices"]) == len(part.vertices)
    assert np.array_equal(a["part_region"], np.arange(part.count))
    assert np.array_equal(a["part_corners"], part.corners)
    assert not a["part_class"].any()


def test_samples_are_shown_at_the_nearest_point_of_a_slice():
    rng = np.random.default_rng(0)
    net, origin, basis = network(5, 4, 2), rng.normal(size=5), rng.normal(size=(5, 2))
    spread, X = np.array([1.0, 10.0, 0.1, 1.0, 1000.0]), rng.normal(size=(7, 5))
    part = creases.plane(net, [(-1, 3), (-2, 2)], origin, basis)
    _, a = decode_frame(plane_frame(part, points=X, spread=spread))
    t = part.box[:, 0] + a["points"] * np.diff(part.box, axis=1)[:, 0]
    away = np.linalg.norm((X - part.points(t.astype(float))) / spread, axis=1)
    assert np.allclose(a["distance"], away, atol=1e-4)
    for _ in range(20):  # no other point of the slice is nearer
        other = part.points(t + rng.normal(scale=0.1, size=t.shape))
        assert (np.linalg.norm((X - other) / spread, axis=1) >= away - 1e-4).all()


def test_samples_on_the_slice_are_where_they_are():
    rng = np.random.default_rng(1)
    origin, basis, t = rng.normal(size=4), rng.normal(size=(4, 2)), rng.normal(size=(6, 2))
    found, distance = project_on_slice(origin + t @ basis.T, origin, basis, [1.0, 2.0, 3.0, 4.0])
    assert np.allclose(found, t)
    assert np.allclose(distance, 0)


@pytest.mark.parametrize("net", [network(1, 8, 5, 2), network(1, 1), network(1, 3, 1, dtype=torch.float32)])
def test_a_line_frame_bends_where_the_network_does(net):
    part = creases.line(net, [-4.0], [6.0])
    header, a = decode_frame(line_frame(part))
    assert header["range"] == [-4.0, 6.0]
    assert len(a["x"]) == part.count + 1
    assert np.allclose(a["values"], np.asarray(net(a["x"][:, None].copy())), atol=1e-4)
    rise = np.einsum("km,k->km", a["slopes"], np.diff(a["x"]))
    assert np.allclose(np.diff(a["values"], axis=0), rise, atol=1e-4)
    assert np.array_equal(a["unit_ids"], part.unit_ids)
    assert np.array_equal(a["unit_starts"], part.unit_starts)


def test_a_line_through_more_inputs_goes_by_t():
    net = network(3, 6, 2)
    header, a = decode_frame(line_frame(creases.line(net, [0.0, 0, 0], [1.0, 2, 3])))
    assert header["range"] == [0.0, 1.0]
    assert np.allclose(a["values"][-1], net([1.0, 2, 3]), atol=1e-5)


def test_a_report_is_one_page_with_its_frames():
    part = plane_frame(creases.plane(network(2, 3, 2)), about={"moment": 0, "slice": 0})
    packed = report_frame({"problem": {"name": "</script>"}}, {"0": part})
    header, arrays = decode_frame(packed)
    assert json.dumps(header["run"])
    assert arrays["0"].tobytes() == part
    page = render_report("<!--title--><!--style--><!--script-->", "'</script>'", "a{}", "a < b", packed)
    assert page.count("</script>") == 2
    assert "a &lt; b" in page


def test_a_page_without_its_marks_is_refused():
    with pytest.raises(FileError, match="<!--script--> is missing; build the viewer again"):
        render_report("<!--title--><!--style-->", "", "", "", b"")
