"""Bad arguments of the geometry raise errors that name them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import creases
from creases.errors import InputError


@pytest.fixture(scope="module")
def net() -> creases.Network:
    rng = np.random.default_rng(0)
    return creases.read([(rng.normal(size=(6, 2)), rng.normal(size=6)), (rng.normal(size=(2, 6)), np.zeros(2))])


@pytest.mark.parametrize("model", [None, 3, {}])
def test_what_is_not_a_network_is_refused(model) -> None:
    calls = [
        lambda: creases.plane(model),
        lambda: creases.plane_through(model, [0, 0], [1, 0], [0, 1]),
        lambda: creases.line(model, [0, 0], [1, 1]),
        lambda: creases.cell(model, [0, 0]),
        lambda: creases.space(model),
        lambda: creases.tropical(model),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"model must be a torch\.nn\.Module, a file name"):
            call()


def test_torch_modules_and_file_names_are_networks_too(net, tmp_path) -> None:
    module = net.module()
    path = net.save(tmp_path / "net.safetensors")
    for model in (module, path, str(path)):
        assert creases.plane(model).count == creases.plane(net).count
        assert creases.plane_through(model, [0, 0], [1, 0], [0, 1]).count
        assert creases.line(model, [0, 0], [1, 1]).count == creases.line(net, [0, 0], [1, 1]).count
        assert creases.cell(model, [0.1, 0.2]).radius == pytest.approx(creases.cell(net, [0.1, 0.2]).radius)
        assert creases.space(model, (-1, 1)).count == creases.space(net).count
        assert creases.tropical(model).n_terms == creases.tropical(net).n_terms


@pytest.mark.parametrize("points", ["a", None, [["a", "b"]], [[1j, 0]]])
def test_points_that_are_no_numbers_are_refused(net, points) -> None:
    for found in (creases.plane(net), creases.space(net), creases.line(net, [0, 0], [1, 1])):
        with pytest.raises(InputError, match=r"(points|t) must be an array of numbers"):
            found.locate(points)


@pytest.mark.parametrize("shape", [(2, 3), (4, 3), (2, 2, 2), ()])
def test_points_of_another_dimension_are_refused(net, shape) -> None:
    found = creases.plane(net)
    for partition in (found, creases.space(net)):
        with pytest.raises(InputError, match=r"points must have shape \(n, 2\), got"):
            partition.locate(np.zeros(shape))
    with pytest.raises(InputError, match=r"t must have shape \(n, 2\), got"):
        found.points(np.zeros(shape))


def test_no_points_are_in_no_regions(net) -> None:
    found = creases.plane(net)
    assert found.locate([]).shape == found.locate(np.zeros((0, 2))).shape == (0,)


def test_points_far_outside_or_nan_do_not_change_where_others_are(net) -> None:
    found = creases.plane(net)
    centers = found.centers()
    assert (found.locate(centers) == np.arange(found.count)).all()
    for other in ([1e300, 0], [np.nan, 0], [np.inf, 0]):
        assert found.locate(np.vstack([centers, other])).tolist() == [*range(found.count), -1]


def test_tensors_that_require_a_gradient_are_points(net) -> None:
    t = torch.zeros(1, 2, requires_grad=True)
    assert creases.plane(net).locate(t).tolist() == creases.plane(net).locate(np.zeros((1, 2))).tolist()


def test_bad_bases_and_margins_are_refused(net) -> None:
    with pytest.raises(InputError, match="basis must be an array of numbers"):
        creases.plane(net, basis="x")
    with pytest.raises(InputError, match="basis must be an array of numbers"):
        creases.plane(net, basis=[[1], [2, 3]])
    with pytest.raises(InputError, match="margin must be a finite number"):
        creases.plane_through(net, [0, 0], [1, 0], [0, 1], margin="x")


def test_bad_sizes_are_refused(net) -> None:
    for name, value in [("n_jobs", "x"), ("n_jobs", 1.5), ("n_jobs", 0), ("max_regions", 2.5), ("max_regions", "3")]:
        with pytest.raises(InputError, match=f"{name} must be a positive integer"):
            creases.space(net, **{name: value})
    with pytest.raises(InputError, match="max_seconds must be a finite number above 0, got 'x'"):
        creases.space(net, max_seconds="x")
    with pytest.raises(InputError, match="max_terms must be a positive integer, got 'x'"):
        creases.tropical(net, max_terms="x")
    with pytest.raises(InputError, match="widths must be a list of positive integers, got 3"):
        creases.bounds(3)


def test_regions_and_breakpoints_that_are_not_there_are_refused(net) -> None:
    found = creases.plane(net)
    for region in (-1, found.count, "a"):
        with pytest.raises(InputError, match="region must be an integer from 0 to"):
            found.polygon(region)
    with pytest.raises(InputError, match="i must be an integer from 0 to"):
        creases.line(net, [0, 0], [1, 1]).units(99)
