"""Cross-sections: the exact regions, and what a grid of points makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import seeded
from creases.compare import section
from creases.compare._sections import section_of_partition
from creases.errors import InputError


def mlp(inputs: int = 2, units: int = 10, seed: int = 0) -> creases.Network:
    model = nn.Sequential(nn.Linear(inputs, units), nn.ReLU(), nn.Linear(units, units), nn.ReLU(), nn.Linear(units, 3))
    return creases.read(seeded(model.double(), seed), (inputs,))


def conv(seed: int = 0) -> creases.Network:
    model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3))
    return creases.read(seeded(model.double(), seed), (1, 4, 4))


def by_hand(rows: list[list[np.ndarray]], same) -> np.ndarray:
    """The rule of Fig. 6.12, word by word."""
    p = len(rows)
    out, count = np.full((p, p), -1), 0
    for r in range(p):
        for c in range(p):
            candidates = [(r, c - 1)] if c else []
            candidates += [(r - 1, k) for k in range(max(0, c - 1), p)] if r else []
            for other in candidates:
                if same(rows[r][c], rows[other[0]][other[1]]):
                    out[r, c] = out[other]
                    break
            else:
                out[r, c], count = count, count + 1
    return out


@pytest.mark.parametrize("net", [mlp(5), conv()], ids=["mlp", "conv"])
@pytest.mark.parametrize("tolerance", [1e-6, 0.3])
def test_the_grid_is_scanned_as_in_the_dissertation(net: creases.Network, tolerance: float) -> None:
    a, b, c = 2 * np.random.default_rng(0).normal(size=(3, net.n_in))
    found = section(net, a, b, c, grid=9, tolerance=tolerance)
    x = [found.partition.points(row) for row in found.grid]
    patterns = [list(net.pattern(row)) for row in x]
    np.testing.assert_array_equal(found.by_pattern, by_hand(patterns, lambda p, q: (p == q).all()))
    rows = []
    for row in x:
        J, y = net.piece(row)
        rows.append(list(np.concatenate([J.reshape(len(J), -1), y], axis=1)))
    near = lambda p, q: np.linalg.norm(p - q) <= tolerance * max(np.linalg.norm(p), np.linalg.norm(q))  # noqa: E731
    np.testing.assert_array_equal(found.by_coefficients, by_hand(rows, near))


@pytest.mark.slow
def test_a_coarse_grid_misses_regions_and_a_finer_one_misses_less() -> None:
    net = mlp()
    coarse = section(net, [-1, -1], [1, -1], [-1, 1], grid=6)
    fine = section_of_partition(coarse.partition, coarse.points, grid=60, tolerance=1e-6)
    assert coarse.counts["seen"] < fine.counts["seen"] <= fine.counts["exact"]
    assert 0 < fine.missed < coarse.missed < 1
    assert str(coarse).startswith(f"{coarse.counts['exact']} regions; a grid of 6 x 6 points")


def test_regions_seen_are_the_patterns_of_the_grid() -> None:
    net = mlp(4, seed=3)
    a, b, c = np.random.default_rng(1).normal(size=(3, 4))
    found = section(net, a, b, c, grid=25)
    patterns = net.pattern(found.partition.points(found.grid.reshape(-1, 2)))
    assert found.counts["seen"] == len(np.unique(patterns, axis=0))


def test_units_without_effect_are_patterns_but_no_affine_functions() -> None:
    dead = creases.read(
        [([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 0.0]], [0.0])]
    )  # relu(x0): x1's unit is unused
    found = section(dead, [-1, -1], [1, -1], [-1, 1], grid=8)
    assert found.counts == {"exact": 4, "seen": 4, "by pattern": 4, "by coefficients": 2}


def test_a_network_without_bends_has_one_region() -> None:
    found = section(creases.read([(np.eye(2), [0.0, 1.0])]), [0, 0], [1, 0], [0, 1], grid=3)
    assert set(found.counts.values()) == {1}
    assert found.missed == 0


def test_a_part_of_the_plane_is_about_the_mean_of_the_points_or_the_first() -> None:
    net = mlp()
    whole, part = (section(net, [1, 1], [3, 1], [1, 2], grid=2, part=p, margin=0.5) for p in (1.0, 0.1))
    np.testing.assert_allclose(whole.partition.box, [[-1, 3], [-0.5, 1.5]])
    np.testing.assert_allclose(part.partition.box - [[2 / 3], [1 / 3]], [[-0.2, 0.2], [-0.1, 0.1]])
    first = section(net, [1, 1], [3, 1], [1, 2], grid=2, part=0.1, margin=0.5, about="a")
    np.testing.assert_allclose(first.partition.box, [[-0.2, 0.2], [-0.1, 0.1]])


def test_grid_rows_go_from_top_to_bottom() -> None:
    found = section(mlp(), [0, 0], [1, 0], [0, 1], grid=3)
    assert (np.diff(found.grid[:, 0, 1]) < 0).all()
    assert (np.diff(found.grid[0, :, 0]) > 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": 0}, "grid must be a positive integer"),
        ({"part": 0.0}, "part must be a number above 0"),
        ({"part": 2.0}, "part must be a number above 0"),
        ({"about": "b"}, "about must be"),
        ({"margin": -1.0}, "margin must be a finite number at least 0"),
    ],
)
def test_what_makes_no_section_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        section(mlp(), [0, 0], [1, 0], [0, 1], **options)


def test_float32_networks_are_looked_at_in_float64() -> None:
    net = mlp().to(torch.float32)
    counts = section(net, [-1, -1], [1, -1], [-1, 1], grid=12).counts
    assert counts["by pattern"] == counts["by coefficients"]
