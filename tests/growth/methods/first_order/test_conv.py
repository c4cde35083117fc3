"""Convolutions: their statistics are those of the same maps written as matrices."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import Tensor, nn

from creases.growth.methods._first_order.observation import observe_batches
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import statistics, subtract_best_moves
from creases.growth.methods._first_order.units import first_order_fit
from creases.growth.methods._tiny.bottleneck import best_moves, bottleneck, optimal_units
from creases.growth.methods._tiny.tiny import tiny
from first_order import conv, data, loss, place_of


def matrix(layer: nn.Module, shape: tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]]:
    """A convolution without its bias as a matrix (outputs, inputs), and its output's shape."""
    eye = torch.eye(int(torch.tensor(shape).prod()), dtype=torch.float64).reshape(-1, *shape)
    with torch.no_grad():
        out = layer(eye) - (0 if layer.bias is None else layer.bias.reshape(1, -1, 1, 1))
    return out.flatten(1).T, tuple(out.shape[1:])


@pytest.mark.parametrize("name", ["0", "2", "4"])
def test_pairs_are_the_slopes_of_the_explicit_matrices(name):
    model, shape = conv(), (2, 7, 7)
    x, y = data(shape, 15)
    at = int(name)
    sums = statistics(model, place_of(model, name, shape), (x, y), loss)
    producer, last = model[at], name == "4"
    consumer = model[at + 3] if last else model[at + 2]
    path = str(at + 3) if last else str(at + 2)
    before = model[:at](x).detach()
    a = model[: int(path) + 1](x).detach().requires_grad_()
    goal = -torch.autograd.grad(loss(model[int(path) + 1 :](a), y) * len(x), a)[0].flatten(1)  # (n, outputs)
    d = sums.features.shape[0]
    numbers = torch.Generator().manual_seed(0)
    alpha = torch.randn(d, generator=numbers, dtype=torch.float64)
    weight = (alpha if producer.bias is None else alpha[:-1]).reshape(1, *producer.weight.shape[1:])
    unit = nn.Conv2d(
        producer.in_channels, 1, producer.kernel_size, producer.stride, producer.padding, producer.dilation
    )
    unit.double().weight.data[:] = weight
    first, inner = matrix(unit.requires_grad_(False), tuple(before.shape[1:]))
    z = before.flatten(1) @ first.T + (0 if producer.bias is None else alpha[-1])
    columns = torch.randn(sums.consumers[path].pairs[:, 0].shape, generator=numbers, dtype=torch.float64)
    if last:
        second = columns
    else:
        old = (1, consumer.out_channels, consumer.kernel_size, consumer.stride, consumer.padding, consumer.dilation)
        out = nn.Conv2d(*old, bias=False).double().requires_grad_(False)
        out.weight[:] = columns[:, None]
        second, _ = matrix(out, inner)
    expected = float((goal * (z @ second.T)).sum())
    found = float(torch.einsum("od...,d,o...->", sums.consumers[path].pairs, alpha, columns))
    assert found == pytest.approx(expected, rel=1e-10)
    assert float(alpha @ sums.features @ alpha) == pytest.approx(float(z.square().sum()), rel=1e-10)


def test_the_best_move_of_a_convolution_leaves_what_is_orthogonal_to_its_windows():
    model, shape = conv(), (2, 7, 7)
    observer, source = observe_batches(model, "0", data(shape, 20), loss)
    (seen,) = source
    route = Route(observer.twin, observer.place, seen)
    sums = statistics(model, "0", data(shape, 20), loss)
    (entry,) = route.consumers
    inputs, goals = entry.inputs(seen.consumer_inputs["2"]), entry.goals(seen.goals["2"])
    left = goals - torch.einsum("nm...,mo->no...", inputs, best_moves(sums)["2"])
    assert float(torch.einsum("nmab,noab->mo", inputs, left).abs().max()) < 1e-10 * float(goals.norm() * inputs.norm())
    assert bottleneck(sums) == pytest.approx(float(left.square().sum()) / 20)


def test_behind_a_kernel_of_one_the_identity_of_linear_layers_holds():
    model, shape = conv(), (2, 7, 7)
    observer, source = observe_batches(model, "2", data(shape, 60), loss)
    seen = list(source)
    route = Route(observer.twin, observer.place, seen[0])
    sums = statistics(model, "2", data(shape, 60), loss)
    units = optimal_units(sums)
    along, square = first_order_fit(route, [subtract_best_moves(route, one, best_moves(sums)) for one in seen], units)
    total = float(units.values.square().sum())
    assert (along, square) == (pytest.approx(total, rel=1e-8), pytest.approx(total, rel=1e-8))


def test_large_batches_are_worked_through_in_parts(monkeypatch):
    model, shape = conv(), (2, 7, 7)
    whole, options = data(shape, 30), {"tau": 0, "validation": data(shape, 30), "project": False}
    one = tiny(model, place_of(model, "0", shape), whole, loss, fallback=None, above_noise=False, **options)
    monkeypatch.setattr(sys.modules["creases.growth.methods._first_order.statistics"], "_CHUNK", 1)
    two = tiny(model, place_of(model, "0", shape), whole, loss, fallback=None, above_noise=False, **options)
    assert one.gain == pytest.approx(two.gain, rel=1e-9)
    assert one.explanation["bottleneck_after"] == pytest.approx(two.explanation["bottleneck_after"], rel=1e-9)
