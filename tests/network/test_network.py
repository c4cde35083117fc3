"""Values, sides, patterns and pieces of a network, at one point or many."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from agreement import Lambda, points, seeded
from creases._program._pieces import forward_sides, pack_sides, slice_pieces, unpack_sides
from creases.errors import InputError
from creases.network._network import Unit

MAXOUT = Lambda(lambda x: x.view(-1, 3, 2).amax(1) + F.relu(x[:, :2]))


def conv_net() -> creases.Network:
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten(), nn.Linear(12, 4), nn.PReLU(4)
    )
    return creases.read(seeded(model), (2, 4, 4))


def test_points_come_in_any_shape_and_go_out_in_kind() -> None:
    net = conv_net()
    x = points((2, 4, 4), 5)
    batch = net(x)
    assert batch.shape == (5, 4)
    torch.testing.assert_close(net(x[0]), batch[0])
    torch.testing.assert_close(net(x.flatten(1)), batch)
    torch.testing.assert_close(net(x[0].flatten()), batch[0])
    assert isinstance(net(x.numpy()), np.ndarray)
    np.testing.assert_allclose(net(x.numpy().tolist()), batch.numpy())
    np.testing.assert_allclose(net(x.numpy()[::-1]), batch.numpy()[::-1])
    with pytest.raises(InputError, match=r"x must have shape \(2, 4, 4\).*got \(3,\)"):
        net(np.zeros(3))
    with pytest.raises(InputError, match="x must be an array of numbers"):
        net([["a", "b"]])


def test_an_empty_batch_is_a_batch() -> None:
    for net in (conv_net(), creases.read(MAXOUT, (6,)), creases.read(nn.Linear(3, 2))):
        none = np.zeros((0, *net.input_shape))
        assert net(none).shape == (0, *net.output_shape)
        assert net.sides(none).shape == (0, net.n_units)
        assert net.pattern(none).shape[0] == 0
        assert net.piece(none).J.shape == (0, net.n_out, net.n_in)
        assert list(net.jacobians(none)) == []


def test_sides_are_those_of_the_pre_activations() -> None:
    net = creases.read(MAXOUT, (6,))
    x = points((6,), 20)
    sides = net.sides(x)
    assert net.candidates == (3, 2)
    np.testing.assert_array_equal(sides[:, :2], x.view(-1, 3, 2).argmax(1).numpy())
    np.testing.assert_array_equal(sides[:, 2:], (x[:, :2] > 0).numpy())
    np.testing.assert_array_equal(net.sides(x[0]), sides[0])


def test_patterns_unpack_to_the_sides_they_were_made_of() -> None:
    for net in (conv_net(), creases.read(MAXOUT, (6,)), creases.read(nn.Linear(3, 2))):
        x = points(net.input_shape, 7)
        np.testing.assert_array_equal(net.unpack(net.pattern(x)), net.sides(x))
        np.testing.assert_array_equal(net.pattern(x[0]), net.pattern(x)[0])
    with pytest.raises(InputError, match="pattern must have shape"):
        conv_net().unpack(np.zeros((1, 1), np.uint8))


@given(st.lists(st.sampled_from(["relu", 2, 3, 4, 5, 9]), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_packing_keeps_any_sides(kinds: list, seed: int) -> None:
    """Choices among any number of candidates, next to relus, in any order."""

    def forward_(x):
        parts = [F.relu(x[:, :3]) if k == "relu" else x[:, : 3 * k].reshape(-1, 3, k).amax(2) for k in kinds]
        return torch.cat(parts, 1)

    net = creases.read(Lambda(forward_), (27,))
    rng = np.random.default_rng(seed)
    sides = np.concatenate([rng.integers(0, k, (6, 3)) for k in net.candidates], axis=1)
    packed = pack_sides(net, sides)
    assert packed.shape[1] == (3 * sum(max(1, (k - 1).bit_length()) for k in net.candidates) + 7) // 8
    np.testing.assert_array_equal(unpack_sides(net, packed), sides)


def test_units_have_places() -> None:
    net = conv_net()
    assert str(net.unit(0)) == "1[0, 0, 0]"
    assert net.unit(48) == Unit(48, 1, (0, 0, 0), "2", 9)
    assert str(net.unit(net.n_units - 1)) == "5[3]"
    with pytest.raises(InputError, match="index must be an integer from 0 to 63, got 64"):
        net.unit(64)


@pytest.mark.parametrize("outputs", [1, 40])
def test_streamed_pieces_are_the_pieces_and_blocks_fit_the_memory(outputs: int) -> None:
    """Both ways, by directions (many outputs) and by outputs (few)."""
    net = creases.read(seeded(nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, outputs))))
    x = points((6,), 50)
    pieces = net.piece(x)
    memory = 20 * (3 * 60 + 2 * outputs * 6) * 8
    blocks = list(net.jacobians(x, memory=memory))
    assert len(blocks) > 1
    assert all(J.element_size() * J.nelement() <= memory for J, _ in blocks)
    torch.testing.assert_close(torch.cat([J for J, _ in blocks]), pieces.J)
    torch.testing.assert_close(torch.cat([y for _, y in blocks]), pieces.y)
    singly = list(net.jacobians(x.numpy(), memory=1))
    assert len(singly) == 50
    np.testing.assert_allclose(np.concatenate([J for J, _ in singly]), pieces.J.numpy())


def test_pieces_on_a_slice_are_the_pieces_of_the_whole_space() -> None:
    net = conv_net()
    x = points((2, 4, 4), 6)
    origin, basis = points((32,), 1)[0], points((32,), 2, seed=5).T
    with torch.no_grad():
        on_slice = slice_pieces(net, forward_sides(net, x), origin, basis)
    pieces = net.piece(x)
    torch.testing.assert_close(on_slice.J, pieces.J @ basis)
    torch.testing.assert_close(on_slice.y, pieces.J @ origin + pieces.y)


def test_a_network_moves_to_other_precisions() -> None:
    net = conv_net()
    single = net.to(torch.float32)
    assert single.dtype == torch.float32
    assert net.dtype == torch.float64
    x = points((2, 4, 4))
    torch.testing.assert_close(single(x).double(), net(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ([], "at least one .* pair, got an empty list"),
        ([(np.eye(2), np.zeros(3))], r"must have W \(out, in\) and b \(out,\)"),
        ([(np.eye(2), np.zeros(2)), (np.ones((1, 3)), [0])], "layer 1 with 3 inputs after layer 0 with 2 outputs"),
        ([(np.array([[np.nan]]), [0])], "finite weights, got NaN or infinity in layer 0"),
        ([1, 2], "must be a list of pairs"),
    ],
)
def test_bad_arrays_are_named(layers: list, why: str) -> None:
    with pytest.raises(InputError, match=why):
        creases.read(layers)


@pytest.mark.parametrize("outputs", [1, 8], ids=["backward passes", "directions"])
def test_on_a_crease_the_piece_is_that_of_side_zero(outputs: int) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, outputs)).double()
    with torch.no_grad():
        model[0].bias.zero_()
    net = creases.read(model)
    at_zero = net.piece(np.zeros(4))  # every unit is on its crease
    assert not net.sides(np.zeros(4)).any()
    assert np.array_equal(at_zero.J, np.zeros((outputs, 4)))


@pytest.mark.parametrize(
    ("function", "creases_at"),
    [
        (F.relu, [0]),
        (lambda x: F.leaky_relu(x, 0.1), [0]),
        (lambda x: F.prelu(x, torch.tensor([0.2])), [0]),
        (lambda x: F.rrelu(x), [0]),
        (lambda x: F.threshold(x, 0.5, 0.5), [0.5]),
        (F.relu6, [0, 6]),
        (F.hardtanh, [-1, 1]),
        (F.hardsigmoid, [-3, 3]),
        (F.softshrink, [-0.5, 0.5]),
        (lambda x: x.clamp(-2, 1), [-2, 1]),
        (lambda x: x.clamp_min(0.5), [0.5]),
        (lambda x: x.clamp_max(0.5), [0.5]),
        (torch.abs, [0]),
        (lambda x: x.norm(1, dim=1), [0]),
        (lambda x: torch.maximum(x, 2 * x), [0]),
        (lambda x: torch.minimum(x, 2 * x), [0]),
        (lambda x: torch.cat([x, 2 * x, -1 - x], 1).amax(1), [-0.5, 0]),
        (lambda x: torch.cat([x, 2 * x, 1 + 3 * x], 1).min(1).values, [-1]),
        (lambda x: F.max_pool1d(torch.cat([x, 2 * x], 1)[:, None], 2), [0]),
        (lambda x: torch.where(x >= 0, x, 0.1 * x), [0]),
        (lambda x: x * (x > 0), [0]),
        (lambda x: x.masked_fill(x < 0.5, 0.5), [0.5]),
    ],
)
def test_on_a_crease_a_unit_has_side_zero_and_of_a_tie_the_first_counts(function, creases_at: list[float]) -> None:
    net = creases.read(Lambda(function), (1,))
    for at in creases_at:
        low, middle, high = net.sides(np.array([[at - 1e-3], [at], [at + 1e-3]]))
        assert (low != high).any()
        np.testing.assert_array_equal(middle, np.minimum(low, high))
        J, y = net.piece(np.array([at], float))
        np.testing.assert_allclose(J @ [at] + y, np.ravel(net(np.array([at], float))), rtol=0, atol=1e-15)
        assert min(abs(J - net.piece(np.array([at + step])).J) for step in (-1e-3, 1e-3)) == 0
