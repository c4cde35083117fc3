"""Sections of image networks: the three images, and the rows of networks of any weights."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from creases.errors import InputError
from creases_reproduction.linearity import image_sections as module
from creases_reproduction.linearity.image_networks import network, plans
from creases_reproduction.linearity.image_sections import nearest_three, sections
from creases_reproduction.results import stored_result


@pytest.mark.parametrize("classes", [(0, 0, 0), (0, 0, 1), (2, 0, 1), None])
def test_of_the_classes_the_three_images_have_the_least_sum_of_distances(classes: tuple[int, int, int] | None) -> None:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 1, 3, 3, generator=draw), torch.randint(3, (40,), generator=draw)
    flat = x.flatten(1)
    apart = torch.cdist(flat, flat)
    triples = list(combinations(range(40), 3))
    if classes:
        triples = [t for t in triples if sorted(y[list(t)].tolist()) == sorted(classes)]
    best = min(triples, key=lambda t: float(apart[t[0], t[1]] + apart[t[0], t[2]] + apart[t[1], t[2]]))
    assert tuple(sorted(nearest_three(x, y, classes))) == best


def test_copies_of_an_image_are_not_taken_together() -> None:
    x, y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]), torch.zeros(4, dtype=torch.int64)
    three = nearest_three(x, y, (0, 0, 0))
    assert len({tuple(x[i].tolist()) for i in three}) == 3
    with pytest.raises(InputError, match="x must have three different images"):
        nearest_three(x[:3], y[:3], (0, 0, 0))
    with pytest.raises(InputError, match="x must have at least three images of the classes, got 2"):
        nearest_three(x[:2], y[:2], (0, 0, 0))


def test_the_stored_counts_show_what_grids_miss_and_count_twice() -> None:
    result = stored_result("linearity/figure-6.13")
    assert result is not None
    regions, seen, by_pattern, by_coefficients = (
        result.numbers[name] for name in ("regions", "seen", "by_pattern", "by_coefficients")
    )
    assert all(a < b for a, b in zip(seen, regions, strict=True))
    assert all(a <= b for a, b in zip(seen, by_pattern, strict=True))  # slanting regions are counted again
    assert all(a < b for a, b in zip(by_coefficients, by_pattern, strict=True))  # as the dissertation says


@pytest.mark.slow
def test_every_network_has_a_row_for_each_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(10, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    monkeypatch.setitem(module.PARTS, "quick", (0.05, 1e-4))
    monkeypatch.setitem(module.GRIDS, "quick", ((3, 1e-6), (4, 1e-2)))
    own = [plan for plan in plans("cifar10") if not plan.seed and plan.kind != "linear"]
    table = sections([network(plan.kind, plan.seed) for plan in own], own, (x, torch.tensor([0, 4] * 5)), "quick")
    assert table[["network", "optimizer", "grid"]].drop_duplicates().shape[0] == len(table) == 12
    assert (table["seen"] <= table["regions"]).all()
    assert (table["by_pattern"] >= table["seen"]).all()
