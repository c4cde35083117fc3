"""Islands, holes and Betti numbers, against a flood fill on a grid and known spaces."""

import numpy as np
import pytest
import torch
from scipy import ndimage

import creases
from agreement import Lambda
from creases.compare import difference
from creases.errors import InputError


def random_network(seed: int) -> creases.Network:
    rng = np.random.default_rng(seed)
    m, w = int(rng.integers(1, 4)), int(rng.integers(5, 10))
    hidden = [(2 * rng.normal(size=(w, 2)), rng.normal(size=w)), (rng.normal(size=(w, w)) / w**0.5, rng.normal(size=w))]
    return creases.read([*hidden, (rng.normal(size=(m, w)), 0.2 * rng.normal(size=m))])


def flood_fill(net: creases.Network, level: float, size: int) -> list[tuple[int, int]]:
    """The islands and holes of each class on a grid: pixels of an island share sides, those of a hole corners, too."""
    at = (np.arange(size) + 0.5) / size * 2 - 1
    values = net(np.stack(np.meshgrid(at, at, indexing="ij"), -1).reshape(-1, 2)).reshape(size, size, -1)
    classes = (values[..., 0] > level).astype(int) if net.n_out == 1 else values.argmax(-1)
    masks = [classes == label for label in range(max(2, net.n_out))]
    outside = [np.pad(~mask, 1, constant_values=True) for mask in masks]
    holes = [ndimage.label(mask, np.ones((3, 3)))[1] - 1 for mask in outside]
    return [(ndimage.label(mask)[1], count) for mask, count in zip(masks, holes, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_islands_and_holes_are_those_of_a_fine_grid(seed: int) -> None:
    net = random_network(seed)
    partition = creases.plane(net)
    level = float(np.median(partition.values)) if net.n_out == 1 else 0.0
    found = partition.topology(level=level)
    coarse, fine = (flood_fill(net, level, size) for size in (500, 1000))
    if coarse != fine:
        pytest.skip("some part is narrower than a pixel")
    assert [found.betti_numbers(label) for label in range(max(2, net.n_out))] == fine


def shell(x: torch.Tensor, radius: float, width: float = 0.15) -> torch.Tensor:
    return width - (x.abs().amax(1, keepdim=True) - radius).abs()


def ring(x: torch.Tensor) -> torch.Tensor:
    return 0.3 - (x[:, :2].abs().amax(1, keepdim=True) - 1).abs() - x[:, 2:].abs().sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("function", "n", "inside", "outside"),
    [
        (lambda x: shell(x, 1.0), 2, (1, 1), (2, 1)),
        (ring, 3, (1, 1, 0), (1, 1, 1)),  # a solid torus
        (lambda x: torch.maximum(shell(x, 0.3), shell(x, 1.0)), 3, (2, 0, 2), (3, 0, 2)),  # nested shells
        (ring, 4, (1, 1, 0, 0), (1, 0, 1, 1)),
        # a thick torus
        (lambda x: torch.minimum(shell(x[:, :2], 1.0), shell(x[:, 2:], 1.0)), 4, (1, 2, 1, 0), (1, 1, 2, 1)),
    ],
)
def test_betti_numbers_are_those_of_known_spaces(function, n: int, inside, outside) -> None:
    found = creases.space(creases.read(Lambda(function), (n,)), (-1.6, 1.6)).topology()
    assert (found.betti_numbers(1), found.betti_numbers(0)) == (inside, outside)


def test_islands_lie_in_holes_of_others() -> None:
    net = creases.read(Lambda(lambda x: torch.maximum(shell(x, 0.3), shell(x, 1.0))), (2,))
    partition = creases.plane(net, (-1.6, 1.6))
    found = partition.topology()
    assert str(partition).splitlines()[1:] == [
        "class 0: 3 islands, 2 with 2 holes",
        "class 1: 2 islands, 2 with 2 holes",
    ]
    chain, island = [], int(found.sizes.argmin())
    while True:
        chain.append((int(found.classes[island]), round(float(found.sizes[island]), 6)))
        if found.inside[island] < 0:
            break
        island = int(found.holes[found.inside[island]])
    assert chain == [(0, 0.09), (1, 0.72), (0, 2.08), (1, 2.4), (0, 4.95)]
    low = partition.topology(level=-0.17)  # both rings are wider, and the middle is filled
    assert low.words() == {0: "2 islands, 2 with 2 holes", 1: "2 islands, one with a hole"}


def test_the_dual_graph_has_the_units_between_neighbors() -> None:
    net = creases.read([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])])
    for partition in (creases.plane(net), creases.space(net)):
        graph = partition.dual_graph().toarray()
        differ = partition.sides()[:, None] != partition.sides()[None]
        assert graph.tolist() == np.where(differ.sum(-1) == 1, 1 + differ.argmax(-1), 0).tolist()


def test_a_level_needs_an_output_and_a_space_all_regions() -> None:
    net = creases.read([(np.eye(2), np.zeros(2))])
    assert creases.plane(net).topology(output=1, level=0.5).sizes.tolist() == [3, 1]
    with pytest.raises(InputError, match="level must come with an output"):
        creases.plane(net).topology(level=1)
    with pytest.raises(InputError, match="all regions of its box"):
        creases.space(random_network(0), max_regions=3).topology()


def test_a_comparison_says_where_islands_and_holes_differ() -> None:
    wide, narrow = (creases.read(Lambda(lambda x, at=at: shell(x, at)), (2,)) for at in (1.0, 0.1))
    said = str(difference(wide, narrow, box=(-1.6, 1.6)))
    assert "Class 0: 2 islands, one with a hole in a, 1 island with a hole in b." in said
    assert "Class 1: 1 island with a hole in a, 1 island in b." in said
    assert "Class" not in str(difference(wide, creases.read(Lambda(lambda x: shell(x, 1.1)), (2,)), box=(-2, 2)))
